// The doors of the contacts' page: looked at and pressed by whoever has the link of one contact.

import Contracts
import Foundation
import HTTPKit

struct ContactPageRoutes: Sendable {
    let alarms: ContactAlarms
    let supervision: SupervisionService
    let country: Country
    /// By address, for links that open nothing.
    private let strangers = RateLimiter<String>(rate: 1, burst: 30)
    /// By link.
    private let visitors = RateLimiter<[UInt8]>(rate: 2, burst: 60)

    init(alarms: ContactAlarms, supervision: SupervisionService, country: Country) {
        (self.alarms, self.supervision, self.country) = (alarms, supervision, country)
    }

    var all: [Route] { [page, answer] }

    private static let capability = HTTPKit.Parameter.path("capability", .string(length: 1...64), "The end of the link that was sent.")

    private var page: Route {
        Route(
            .get, "/sos/c/{capability}", as: "getContactPage", access: .anyone,
            summary: "What an emergency contact sees: where, when, and who goes there",
            description: "Needs no log-in and no script. Looking changes nothing. The link opens until 24 hours after the end.",
            parameters: [Self.capability], answers: [.page(200, "The alarm"), .page(404, "The link does not hold any more")],
            isRateLimited: true
        ) { exchange in
            let pages = ContactPage(language: exchange.language, country: country)
            guard let (alarm, position) = try await look(exchange) else { return pages.tooLate() }
            let place = alarm.end == nil ? await supervision.latestPlace(of: alarm.person) ?? alarm.place : nil
            return try pages.page(alarm, seenBy: position, place: place, at: exchange.receivedAt)
        }
    }

    private var answer: Route {
        Route(
            .post, "/sos/c/{capability}", as: "submitContactPage", access: .anyone,
            summary: "What the contact says: seen, on my way, on scene, or cannot",
            parameters: [Self.capability],
            body: .form(.object(.required("answer", .oneOf(ContactCase.Answer.allCases.map(\.rawValue))))),
            answers: [
                Answer(303, "It is stored: back to the page"), .page(404, "The link does not hold any more"),
                .problem(403, "wrong-origin"), .problem(503, "unavailable"),
            ], isRateLimited: true
        ) { exchange in
            try exchange.refuseForeignOrigin()
            guard try await look(exchange) != nil else { return ContactPage(language: exchange.language, country: country).tooLate() }
            guard let answer = try await exchange.form()["answer"].flatMap(ContactCase.Answer.init) else {
                throw Problem.invalidBody([.init(pointer: "/answer", .noSuchAnswer)])
            }
            switch await alarms.answer(answer, by: exchange.path("capability")) {
            case .taken: return .seeOther("/sos/c/\(exchange.path("capability"))")
            case .unstored: throw Refusal(.unavailable, retryAfter: .seconds(1))
            case .opensNothing: return ContactPage(language: exchange.language, country: country).tooLate()
            }
        }
    }

    private func look(_ exchange: Exchange) async throws -> (alarm: ContactCase, position: Int)? {
        guard let opened = await alarms.open(exchange.path("capability")) else {
            try strangers.admit(exchange.remoteAddress)
            return nil
        }
        try visitors.admit(Capabilities.digest(exchange.path("capability")))
        return opened
    }
}
