// An organisation's profile after its registration: seen, changed, deleted.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("An organisation's profile")
struct OrganisationProfileStories {
    private static let path = "/thirdparty/v1/organisation"

    @Test("ORG-12: the profile can be seen at any time and leads to editing, past and pending requests")
    func shown() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let profile: OrganisationItem = try await harness.ask("GET", Self.path, token: founded.token).expect(status: 200).decoded()
            #expect(profile.organisation == founded.id && profile.email == OrganisationHarness.address && profile.state == .active)
            #expect(profile.links["pendingRequests"] != nil && profile.links["requests"] != nil && profile.links["edit"] != nil)
            #expect(try await harness.ask("GET", Self.path).status == 401)
        }
    }

    @Test("ORG-13, ORG-14: addresses, sector, representative and payment method change at any time, each by itself")
    func changes() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let before: OrganisationItem = try await harness.ask("GET", Self.path, token: founded.token).decoded()
            let change: [String: Any] = [
                "billingAddress": ["street": "Corso Como 1"], "representative": ["phone": "+39 06 1234567"], "sector": "insurance",
                "paymentMethod": "card", "website": "https://example.org",
            ]
            let after: OrganisationItem = try await harness.ask("PATCH", Self.path, token: founded.token, json: change)
                .expect(status: 200).decoded()
            #expect(after.billingAddress.street == "Corso Como 1" && after.billingAddress.city == before.billingAddress.city)
            #expect(after.representative?.phone == "+39061234567" && after.representative?.fiscalCode == "RSSMRA80A01H501U")
            #expect(after.paymentMethod == .card && after.sector == "insurance" && after.legalAddress == before.legalAddress)
            let cleared: OrganisationItem = try await harness.ask(
                "PATCH", Self.path, token: founded.token, json: ["website": NSNull()]
            ).expect(status: 200).decoded()
            #expect(cleared.website == nil && cleared.sector == "insurance")
            let method = try await harness.opened.store.read { [repository = harness.parts.repository] db in
                try repository.preferredMethod(db, founded.id)
            }
            #expect(method == .card)
        }
    }

    @Test("ORG-13, ORG-09: business name and VAT number are fixed; a wrong field is named as at registration; nothing changes then")
    func refused() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let before = try await harness.opened.store.read { [table = harness.parts.repository.table] db in
                try table.find(db, founded.id)?.details
            }
            let cases: [([String: Any], String, [String])] = [
                (["businessName": "Other"], "fixed-field", ["/businessName"]),
                (["vatNumber": "12345678903"], "fixed-field", ["/vatNumber"]),
                (["email": "a@example.org"], "fixed-field", ["/email"]),
                (["paymentMethod": "cash"], "invalid-organisation", ["/paymentMethod"]),
                (["representative": ["fiscalCode": "X"]], "invalid-organisation", ["/representative/fiscalCode"]),
                (["legalAddress": ["postalCode": "#"], "sector": "x"], "invalid-organisation", ["/legalAddress/postalCode"]),
                (["colour": "red"], "invalid-organisation", ["/colour"]),
            ]
            for (change, problem, pointers) in cases {
                let answer = try await harness.ask("PATCH", Self.path, token: founded.token, json: change)
                #expect(answer.status == 422 && answer.problem == problem && answer.pointers == pointers, "\(pointers)")
            }
            let after = try await harness.opened.store.read { [table = harness.parts.repository.table] db in
                try table.find(db, founded.id)?.details
            }
            #expect(before != nil && after == before)
        }
    }

    @Test("ORG-13: a wrong change of an organisation's profile took a turn in the queue of writes; it is refused beside it")
    func refusedBesideWrites() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let isBeside = try await isDone(whileWriting: harness.opened.store) {
                let answer = try await harness.ask("PATCH", Self.path, token: founded.token, json: ["colour": "red"])
                #expect(answer.status == 422 && answer.problem == "invalid-organisation" && answer.pointers == ["/colour"])
            }
            #expect(isBeside)
        }
    }

    @Test("ORG-13, CON-06: another corporate address is in force once somebody there says yes; the old one is told")
    func address() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            harness.consent.occupy("taken@example.org")
            let new = "new@example.org"
            try await harness.ask("PUT", Self.path + "/email", token: founded.token, json: ["email": new]).expect(status: 202)
            #expect(try await harness.ask("PUT", Self.path + "/email", token: founded.token, json: ["email": new]).status == 429)
            let link = try await harness.mail.arrived(to: new, .organisationAddressChange).linkToken
            let before: OrganisationItem = try await harness.ask("GET", Self.path, token: founded.token).decoded()
            #expect(before.email == OrganisationHarness.address)
            #expect(try await harness.ask("GET", "/thirdparty/v1/organisations/confirm-address/\(link)").text.contains(new))
            try await harness.ask("POST", "/thirdparty/v1/organisations/confirm-address/\(link)", form: "").expect(status: 200)
            let after: OrganisationItem = try await harness.ask("GET", Self.path, token: founded.token).decoded()
            #expect(after.email == new && harness.consent.logIns[new]?.member == founded.owner)
            #expect(harness.consent.logIns[OrganisationHarness.address] == nil)
            _ = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationAddressChanged)
            #expect(try await harness.ask("POST", "/thirdparty/v1/organisations/confirm-address/\(link)", form: "").status == 404)

            // Taken by somebody else's account, which consent alone knows.
            try await harness.ask("PUT", Self.path + "/email", token: founded.token, json: ["email": "taken@example.org"])
                .expect(status: 202)
            let other = try await harness.mail.arrived(to: "taken@example.org", .organisationAddressChange).linkToken
            let refused = try await harness.ask("POST", "/thirdparty/v1/organisations/confirm-address/\(other)", form: "")
            #expect(refused.status == 409)
            let still: OrganisationItem = try await harness.ask("GET", Self.path, token: founded.token).decoded()
            #expect(still.email == new)
        }
    }

    @Test("ORG-13, ORG-23: nobody but an owner can move the corporate address, and with it the first owner's log-in, to another mailbox")
    func addressIsTheOwners() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let administrator = try await harness.invite("ada@example.org", as: .administrator, by: founded)
            let second = try await harness.invite("otto@example.org", as: .owner, by: founded)
            let wanted = ["email": "mine@example.org"]
            let refused = try await harness.ask("PUT", Self.path + "/email", token: administrator.token, json: wanted)
            #expect(refused.status == 403 && refused.problem == "missing-right", "\(refused.text)")
            let made = try await harness.ask(
                "POST", "/thirdparty/v1/clients", token: founded.token, json: ["name": "all", "scopes": Right.allCases.map(\.rawValue)]
            ).expect(status: 201).json
            let (client, secret) = (try #require(made["client"] as? String), try #require(made["secret"] as? String))
            let given = try await harness.ask(
                "POST", "/thirdparty/v1/oauth/token",
                form: "grant_type=client_credentials&client_id=\(client)&client_secret=\(secret)"
            ).expect(status: 200)
            let program = try #require(given.json["access_token"] as? String)
            #expect(try await harness.ask("PUT", Self.path + "/email", token: program, json: wanted).status == 401)
            try await harness.ask("PUT", Self.path + "/email", token: second.token, json: wanted).expect(status: 202)
        }
    }

    // MARK: The end

    /// Two requests that are PENDING and a subscription that runs, with 12.50 EUR due.
    /// - Returns: the subscription.
    private static func open(_ harness: OrganisationHarness, of organisation: OrganisationID) async throws -> RequestID {
        let scopes = (0..<3).map { _ in
            FeedScope(
                request: .random(), organisation: organisation, person: .random(), grant: .random(), types: [.heartRate],
                from: .now - .seconds(3600), to: .now + .seconds(86_400), granularity: .minutes, isSubscription: true)
        }
        try await harness.opened.store.write { [stores = harness.stores] db in
            for (place, scope) in scopes.enumerated() {
                var request = MadeRequest(approved: scope, at: .now)
                if place > 0 { (request.status, request.grant) = (.pending, nil) }
                try RequestStore().add(db, request)
            }
            try stores.bills.put(db, of: scopes[0].request, organisation, Amount(minor: 1250, currency: "EUR"))
            try stores.subscriptions.begin(db, scopes[0].request)
        }
        return scopes[0].request
    }

    private static func feed(_ harness: OrganisationHarness, _ request: RequestID) async throws -> FeedState? {
        try await harness.opened.store.read { db in try FeedStore().find(db, request)?.state }
    }

    @Test(
        "ORG-16, CON-13: what ends and what stays due is shown; without the confirmation nothing happens; with it the gateway ends it and tells consent and its own parts"
    )
    func deleted() async throws {
        try await OrganisationHarness.runFounded { harness, founded in
            let subscription = try await Self.open(harness, of: founded.id)
            let analyst = try await harness.invite("giulia@example.org", as: .analyst, by: founded)
            let shown: ClosingItem = try await harness.ask("GET", Self.path + "/closing", token: founded.token).expect(status: 200)
                .decoded()
            #expect(shown.debts == [Amount(minor: 1250, currency: "EUR")] && shown.pendingRequests == 2 && shown.approvedRequests == 1)
            #expect(shown.members == 2)
            #expect(try await harness.ask("GET", Self.path + "/closing", token: analyst.token).problem == "missing-right")
            for confirmation in ["", "yes", "Clinica Due"] {
                let refused = try await harness.ask(
                    "POST", Self.path + "/closing", token: founded.token, json: ["confirmation": confirmation])
                #expect(refused.status == 422 && refused.problem == "closing-not-confirmed")
            }
            try await harness.ask("GET", Self.path, token: founded.token).expect(status: 200)
            #expect(harness.consent.closed.isEmpty)
            #expect(try await Self.feed(harness, subscription) == .running)

            let name = ["confirmation": "istituto ricerche s.p.a."]
            try await harness.ask("POST", Self.path + "/closing", token: founded.token, json: name).expect(status: 200)
            #expect(try await Self.feed(harness, subscription) == .held)
            for token in [founded.token, analyst.token] {
                #expect(try await harness.ask("GET", Self.path, token: token).problem == "not-for-this-account")
            }
            try await eventually("consent ends requests and log-ins", isTrue: { harness.consent.closed == [founded.id] })
            let mail = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationClosed)
            #expect(mail.values["debts"] == "12.50 EUR", "unpaid amounts remain due, and it is said")
            let billing = try await harness.opened.store.read { [repository = harness.parts.repository] db in
                try repository.billing(db, founded.id)
            }
            #expect(billing.vatNumber == "IT00743110157", "what is due can still be invoiced")
            #expect(
                try await harness.operators.ask(ShowOrganisation(organisation: founded.id), deadline: .seconds(5)).representative == nil)
            try await harness.register().expect(status: 201)
        }
    }

    @Test("ORG-16: what consent could not be told at the deletion is told after a restart")
    func toldLater() async throws {
        try await withTemporaryFolder { folder in
            let consent = TestConsent()
            let id = try await OrganisationHarness.run(in: folder, consent: consent) { harness in
                let founded = try await harness.found()
                consent.fail(Failure(.unavailable, "starting"))
                try await harness.ask(
                    "POST", Self.path + "/closing", token: founded.token, json: ["confirmation": "Istituto Ricerche S.p.A."]
                ).expect(status: 200)
                #expect(try await harness.ask("GET", Self.path, token: founded.token).status == 403, "here it is in force already")
                return founded.id
            }
            #expect(consent.closed.isEmpty)
            consent.fail(nil)
            try await OrganisationHarness.run(in: folder, consent: consent) { _ in
                try await eventually("consent is told", isTrue: { consent.closed.contains(id) })
            }
        }
    }
}
