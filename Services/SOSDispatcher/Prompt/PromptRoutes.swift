// The doors to the prompt: an API and an event stream for apps, and a page that needs no log-in.

import Contracts
import Foundation
import HTTPKit
import ServiceKit

struct PromptRoutes: Sendable {
    /// Answers are small.
    private static let bodyLimit = 4 << 10

    let service: PromptService
    let country: Country
    /// By address, for links that open nothing.
    private let strangers = RateLimiter<String>(rate: 1, burst: 30)
    /// By link: looking and pressing again and again is what people in need do.
    private let visitors = RateLimiter<[UInt8]>(rate: 5, burst: 100)

    init(service: PromptService, country: Country) {
        (self.service, self.country) = (service, country)
    }

    var all: [Route] { [current, events, answer, see, page, pageEvents, pageAnswer] }

    // MARK: For apps

    private var current: Route {
        Route(
            .get, "/sos/v1/prompt", access: .person, summary: "The prompt of the emergency that runs",
            description:
                "An alert that passed by itself stays in `passed` until `POST /sos/v1/prompt/seen` or the page of its link says that "
                + "the person has seen it, for a week at most.",
            answers: [.json(200, "The prompt, if there is one", PromptAnswer.self)]
        ) { exchange in
            let person = try exchange.person
            let (prompt, passed) = (await service.prompt(of: person), try await service.passed(of: person))
            return try .json(PromptAnswer(prompt: prompt.map(PromptBody.init), passed: passed.map(PassedAlert.init)))
        }
    }

    private var see: Route {
        Route(
            .post, "/sos/v1/prompt/seen", as: "markPromptSeen", access: .person, summary: "The person has seen an alert that passed",
            description: "It is no longer shown in `passed`. Of any other emergency nothing changes.",
            body: .json(SeenAlertBody.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [Answer(204, "It is not shown any more")]
        ) { exchange in
            let body: SeenAlertBody = try await exchange.json()
            try await service.see(body.emergency, by: try exchange.person)
            return .empty(status: 204)
        }
    }

    private var events: Route {
        .events(
            "/sos/v1/prompt/events", access: .person, summary: "The prompt as it changes (server-sent events)",
            description: "`prompt` events carry the prompt, `removed` events say that there is none. It is a state: with `Last-Event-ID` "
                + "the present one is sent only where it is another than the one that was seen.",
            parameters: [
                .query("after", .string(length: 1...100), "As `Last-Event-ID`, for programs that cannot set headers."),
                .header("Last-Event-ID", .string(length: 0...100), "The last id that was seen."),
            ], events: "Events until the caller goes away"
        ) { exchange in
            let feed = try feed(of: try exchange.person, exchange)
            return EventSource { try await feed.next() }
        }
    }

    private func feed(of person: PersonID, _ exchange: Exchange) throws -> PromptFeed {
        guard let feed = PromptFeed(of: person, seen: exchange.lastEventID, service: service) else {
            throw Problem.tooManyStreams(service.watchers.limit)
        }
        return feed
    }

    private var answer: Route {
        Route(
            .post, "/sos/v1/prompt/answers", as: "answerPrompt", access: .person,
            summary: "Answers the prompt, reports a false alarm, or calls for help",
            description:
                "Without the name of an emergency the one that is open is meant. `help` calls an ambulance at once, whatever is open "
                + "or is not; within ten seconds it is one call. `help-is-here` before an emergency service has taken the call is asked back: "
                + "it counts when it is said again within a minute. The same answer to the same emergency again gets the first receipt again; "
                + "`fine` or `false-alarm` that was given before help was called for is asked back in the same way, whichever dispatcher was "
                + "given either. Wait 5 s for an answer. Where 503 comes, or none, send the same again at once and to the same address, without "
                + "waiting for `Retry-After`: the edge, which sends no body twice, then leads to the other dispatcher. Who speaks to a "
                + "dispatcher's own port sends it to the other's. The service's time counts.",
            body: .json(PromptReplyBody.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [
                .json(200, "It is in force", PromptReceipt.self), .problem(409, "prompt-over", "not-subscribed"),
                .problem(503, "unavailable"),
            ],
            usesReserve: true
        ) { exchange in
            let person = try exchange.person
            let body: PromptReplyBody = try await exchange.json()
            return try await Self.answering {
                let (answered, given) =
                    if let named = body.emergency {
                        (EmergencyID?.some(named), try await service.answer(body.answer, to: named, by: person))
                    } else {
                        try await service.answer(body.answer, by: person)
                    }
                return try .json(
                    PromptReceipt(
                        emergency: given.calledFor ?? answered, answer: given.answer, at: given.at.rfc3339,
                        alreadyDispatched: given.alreadyDispatched, asksBack: given.asksBack ? true : nil))
            }
        }
    }

    private static func answering(_ body: () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        do {
            return try await body()
        } catch let failure as Failure {
            switch failure.code {
            case .conflict: throw Problem.promptOver
            case .notFound: throw Problem.nobodyCalled
            case .unavailable, .deadline: throw Refusal(.unavailable, retryAfter: .seconds(1))
            default: throw Problem.internal
            }
        }
    }

    // MARK: The page

    private static let capability = HTTPKit.Parameter.path("capability", .string(length: 1...64), "The end of the link that was sent.")

    private var page: Route {
        Route(
            .get, "/sos/v1/prompt/page/{capability}", access: .anyone, summary: "The page of an emergency's link: four large buttons",
            description: "Needs no log-in and no script. The link opens until an hour after the emergency is closed.",
            parameters: [Self.capability], answers: [.page(200, "The prompt"), .page(404, "The link does not hold any more")],
            isRateLimited: true
        ) { exchange in
            let capability = exchange.path("capability")
            let words = PromptPage(language: exchange.language, country: country)
            guard let (_, page) = try await look(capability, exchange) else { return words.tooLate() }
            return try words.page(page, at: exchange.receivedAt)
        }
    }

    private var pageEvents: Route {
        .events(
            "/sos/v1/prompt/page/{capability}/events", access: .anyone, summary: "Tells that page when to look again",
            parameters: [
                Self.capability, .query("after", .string(length: 1...100), "As `Last-Event-ID`."),
                .header("Last-Event-ID", .string(length: 0...100), "The last id that was seen."),
            ], events: "As `/sos/v1/prompt/events`, while the link holds", isRateLimited: true
        ) { exchange in
            let capability = exchange.path("capability")
            guard let (door, _) = try await look(capability, exchange) else { throw Problem.notFound }
            let feed = try feed(of: door.person, exchange)
            return EventSource(
                whileAdmitted: { [service] in (try? await service.page(capability)) != nil }, next: { try await feed.next() })
        }
    }

    private var pageAnswer: Route {
        Route(
            .post, "/sos/v1/prompt/page/{capability}", access: .anyone, summary: "Presses a button of that page",
            parameters: [Self.capability],
            body: .form(.object(.required("answer", .oneOf(AnswerPrompt.Answer.allCases.map(\.rawValue))))),
            answers: [
                Answer(303, "It is in force: back to the page"), .page(404, "The link does not hold any more"),
                .problem(403, "wrong-origin"), .problem(503, "unavailable"),
            ], isRateLimited: true
        ) { exchange in
            try exchange.refuseForeignOrigin()
            let capability = exchange.path("capability")
            guard let (door, _) = try await look(capability, exchange) else {
                return PromptPage(language: exchange.language, country: country).tooLate()
            }
            guard let answer = try await exchange.form()["answer"].flatMap(AnswerPrompt.Answer.init) else {
                throw Problem.invalidBody([.init(pointer: "/answer", .noSuchAnswer)])
            }
            do {
                _ = try await service.answer(answer, to: door.emergency, by: door.person)
            } catch let failure as Failure where failure.code != .conflict && failure.code != .notFound {
                throw Refusal(.unavailable, retryAfter: .seconds(1))
            } catch is Failure {
                // It is over: the page says so.
            }
            return .seeOther("/sos/v1/prompt/page/\(capability)")
        }
    }

    private func look(_ capability: String, _ exchange: Exchange) async throws -> (door: PromptService.Door, page: PromptService.Page)? {
        guard let opened = try await service.page(capability) else {
            try strangers.admit(exchange.remoteAddress)
            return nil
        }
        try visitors.admit(Capabilities.digest(capability))
        return opened
    }
}

extension Problem {
    /// Whoever calls for help here and is not watched must know at once that nobody comes.
    static let nobodyCalled: Problem = {
        var problem = notSubscribed
        problem.detail =
            "Nobody was called. If you need help, call the emergency number yourself. To be watched, join with PUT /sos/v1/subscription."
        return problem
    }()

    static let promptOver = Problem(
        "prompt-over", status: 409, title: "There is nothing to answer any more", italianTitle: "Non c'è più nulla a cui rispondere",
        detail: "The emergency is over, or another one has begun: read the prompt again.",
        italianDetail: "L'emergenza è finita, o ne è iniziata un'altra: legga di nuovo la domanda.")
}
