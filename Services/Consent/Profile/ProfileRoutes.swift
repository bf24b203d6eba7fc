// The doors of a person's own profile.

import Contracts
import HTTPKit

struct ProfileRoutes: Sendable {
    let profiles: ProfileService
    let addresses: AddressService
    let places: PlaceList

    var all: [Route] { [profile, change, changeEmail, mailAgain, consents] }

    private var profile: Route {
        Route(
            .get, "/consent/v1/profile", access: .person, summary: "One's own profile",
            answers: [.json(200, "Everything that was told, and the paths of the profile's areas", ProfileItem.self)]
        ) { exchange in
            let person = try exchange.person
            return try item(try await profiles.read(person))
        }
    }

    private var change: Route {
        Route(
            .patch, "/consent/v1/profile", access: .person, summary: "Changes one's own profile",
            description: """
                Only what is named changes: all of it, or nothing where one field is wrong. Of another telephone number the person is told, by \
                a message that cannot be switched off.
                """,
            body: BodyShape(
                [.init(MediaType.json, AccountSchemas.profileChange, examples: [["occupation": "employed"]])], limit: 1 << 16,
                inflatedLimit: 1 << 16, isChecked: true),
            answers: [
                .json(200, "The profile as it is now", ProfileItem.self), .problem(409, Problem.userNameTaken.name),
                .problem(422, Problem.invalidProfile.name, Problem.fixedField.name, "invalid-body"),
            ]
        ) { exchange in
            let person = try exchange.person
            let (form, _) = try await exchange.jsonTree()
            let known = try await AccountRefusal.answering {
                try await profiles.change(person, form, at: exchange.receivedAt, trace: exchange.shortTrace)
            }
            return try item(known)
        }
    }

    private var changeEmail: Route {
        Route(
            .post, "/consent/v1/profile/email", as: "requestEmailChange", access: .personAnew, summary: "Asks for another e-mail address",
            description: """
                A link goes to the new address; until it is followed, the old one stays. The old one is told at once, and for seven days \
                after the change a link in that mail takes it back. Where the new one is another account's, its \
                owner is told instead, and the answer is the same.
                """,
            body: .json(NewAddressBody.self, examples: [["email": "anna@example.org"]]),
            answers: [
                Answer(202, "The link is on its way"), .problem(422, "invalid-body"),
            ], isRateLimited: true
        ) { exchange in
            let person = try exchange.person
            let body: NewAddressBody = try await exchange.json()
            let address = try EmailAddress.required(body.email)
            try await AccountRefusal.answering { try await addresses.change(person, to: address, at: exchange.receivedAt) }
            return .empty(status: 202)
        }
    }

    private var mailAgain: Route {
        Route(
            .post, "/consent/v1/profile/email/confirmation", as: "resendEmailConfirmation", access: .person,
            summary: "Sends the confirmation of the address again",
            answers: [Answer(202, "It is on its way"), .problem(409, Problem.addressConfirmed.name)], isRateLimited: true
        ) { exchange in
            let person = try exchange.person
            _ = try await AccountRefusal.answering { try await addresses.sendAgain(to: person, at: exchange.receivedAt) }
            return .empty(status: 202)
        }
    }

    private var consents: Route {
        Route(
            .get, "/consent/v1/profile/consents", access: .person, summary: "Consents given and withdrawn, newest first",
            parameters: [.limit, .after], answers: [.json(200, "The record", Page<ConsentRecordItem>.self)]
        ) { exchange in
            let person = try exchange.person
            let before = try exchange.cursor(Int64.init)
            let limit = try exchange.pageLimit
            let entries = try await AccountRefusal.answering { try await profiles.consents(person, before: before, limit: limit) }
            let next = entries.count == limit ? entries.last.map { String($0.number) } : nil
            return try .json(Page(items: entries.map(ConsentRecordItem.init), next: next))
        }
    }

    private func item(_ known: ProfileService.Known) throws -> HTTPAnswer {
        guard let item = ProfileItem(known, places) else { throw Problem.internal }
        return try .json(item)
    }
}
