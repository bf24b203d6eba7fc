// The doors of registration: places, conditions, the form itself, and the first mail.

import Contracts
import Foundation
import HTTPKit
import NIOCore
import ServiceKit

struct AccountRoutes: Sendable {
    let registrations: RegistrationService
    let addresses: AddressService
    let places: PlaceList

    var all: [Route] { [placeSearch, place, conditions, register, firstMailState, firstMailAgain] }

    // MARK: What a form needs

    private static let mostPlaces = 100

    private var placeSearch: Route {
        Route(
            .get, "/consent/v1/places", access: .anyone, summary: "Places by the beginning of their name",
            description:
                "Municipalities of the installation's country and foreign countries, in the order of names. Marks and case do not count.",
            parameters: [
                .query("prefix", .string(length: 2...100), required: true, "At least two characters."),
                .query("past", .boolean, "Also those that are no more, for births."),
                .query("limit", .integer(in: 1...Self.mostPlaces), "How many at most; 20 unless told."),
            ], answers: [.json(200, "At most `limit` places", Page<PlaceItem>.self)], yields: .search
        ) { exchange in
            let prefix = try exchange.required(
                "prefix", exchange.query("prefix", orElse: .wrongLength(2...100)) { (2...100).contains($0.count) ? $0 : nil })
            let limit = try exchange.queryInteger("limit", in: 1...Self.mostPlaces) ?? 20
            let found = places.search(prefix, pastToo: try exchange.queryFlag("past") ?? false, limit: limit)
            return try .json(Page(items: found.map(PlaceItem.init), next: nil))
        }
    }

    private var place: Route {
        Route(
            .get, "/consent/v1/places/{place}", access: .anyone, summary: "One place",
            parameters: [.path("place", AccountSchemas.place, "Its code.")],
            answers: [.json(200, "As it is called today, or was at last", PlaceItem.self), .problem(404, "not-found")]
        ) { exchange in
            guard let place = places.place(exchange.path("place")) else { throw Problem.notFound }
            return try .json(PlaceItem(place))
        }
    }

    private var conditions: Route {
        Route(
            .get, "/consent/v1/terms", as: "getTerms", access: .anyone, summary: "The conditions to be accepted",
            description: "In one language with `lang`, else in all.",
            parameters: [.query("lang", AccountSchemas.language, "`it` or `en`.")],
            answers: [.json(200, "Version and texts", ConditionsItem.self)]
        ) { exchange in
            let language = try exchange.queryChoice("lang", of: Language.self)
            return try .json(ConditionsItem(language.map { [$0] } ?? Language.allCases))
        }
    }

    // MARK: Registering

    private var register: Route {
        Route(
            .post, "/consent/v1/accounts", access: .anyone, summary: "Registers a person",
            description: """
                Either the registration is stored, or nothing was and every missing or wrong field is named. A mail goes to the address: \
                the link in it opens the account. The answer is the same where the address or the fiscal code is registered already; \
                then whoever reads the address is told by mail. One account serves Data4Help, AutomatedSOS and Track4Run.
                """,
            body: BodyShape(
                [.init(MediaType.json, AccountSchemas.registration, examples: [AccountSchemas.registrationExample])], limit: 1 << 16,
                inflatedLimit: 1 << 16, isChecked: true),
            answers: [
                .json(201, "The registration is stored", RegistrationItem.self),
                .problem(409, Problem.userNameTaken.name),
                .problem(
                    422, Problem.invalidRegistration.name, Problem.conditionsNotAccepted.name,
                    Problem.guardianNeeded.name, "invalid-body"),
            ], isRateLimited: true, takesIdempotencyKey: true
        ) { exchange in
            let (form, bytes) = try await exchange.jsonTree()
            let origin = RegistrationOrigin(
                request: RepeatableRequest(key: try exchange.idempotencyKey, body: bytes, scope: "anyone register"),
                remote: exchange.remoteAddress, trace: exchange.shortTrace, at: exchange.receivedAt)
            let outcome = try await AccountRefusal.answering { try await registrations.register(form, origin) }
            guard let item = RegistrationItem(outcome) else { throw Problem.internal }
            let answer = try HTTPAnswer.json(item, status: 201)
            return outcome.isRepeated ? answer.with(.idempotencyReplayed, "true") : answer
        }
    }

    // MARK: The first mail

    private var firstMailState: Route {
        Route(
            .post, "/consent/v1/accounts/first-mail/state", as: "getFirstMailState", access: .anyone, summary: "How the first mail fares",
            body: .json(FirstMailBody.self),
            answers: [.json(200, "Whether it came back", FirstMailItem.self), .problem(404, Problem.linkNotValid.name)]
        ) { exchange in
            let body: FirstMailBody = try await exchange.json()
            let row = try await AccountRefusal.answering { try await addresses.state(body.correctionToken, at: exchange.receivedAt) }
            return try .json(FirstMailItem(row))
        }
    }

    private var firstMailAgain: Route {
        Route(
            .post, "/consent/v1/accounts/first-mail", as: "resendFirstMail", access: .anyone,
            summary: "Sends the first mail again, or to another address",
            description: "For a day, with the token of the registration's answer, until somebody has confirmed the address.",
            body: .json(FirstMailBody.self),
            answers: [
                .json(202, "It is on its way", FirstMailItem.self), .problem(404, Problem.linkNotValid.name),
                .problem(409, Problem.emailInUse.name, Problem.addressConfirmed.name), .problem(422, "invalid-body"),
            ], isRateLimited: true
        ) { exchange in
            let body: FirstMailBody = try await exchange.json()
            let corrected = try body.email.map(EmailAddress.required)
            let row = try await AccountRefusal.answering {
                try await addresses.sendAgain(body.correctionToken, to: corrected, at: exchange.receivedAt)
            }
            return try .json(FirstMailItem(row), status: 202)
        }
    }
}

extension EmailAddress {
    /// - Throws: `invalid-body` at `/email`.
    static func required(_ typed: String) throws(Problem) -> EmailAddress {
        guard let address = EmailAddress(typed) else {
            throw .invalidBody([.init(pointer: "/email", .notAnEmail)])
        }
        return address
    }
}

extension Exchange {
    /// Names the request in facts and messages.
    var shortTrace: String { String(requestID.prefix(32)) }
}
