// An organisation's first log-in, its other address and its end, as the gateway asks for them of the whole of consent.

import Bus
import Contracts
import Foundation
import HTTPKit
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

/// The whole of consent, with a gateway on the bus that asks what the test says.
private struct OrganisationAccountHarness: Sendable {
    static let email = "office@example.org"
    static let password = "una frase che ricordo"

    let parts: ConsentModule
    let mail: Mailbox
    let gateway: BusClient
    let port: Int

    static func run(_ settings: [String: String] = [:], _ body: (OrganisationAccountHarness) async throws -> Void) async throws {
        try await withTemporaryHarness { harness in
            try harness.introducePeers()
            let (notifier, gateway) = (try harness.runtime(.notifier), try harness.runtime(.thirdPartyGateway))
            let mail = Mailbox()
            try await notifier.answer(mail.methods)
            let own = try harness.runtime(.consent)
            var reader = SettingsReader(
                environment: ["TRACKME_ACC_CONFIRM_REQUIRED": "false", "TRACKME_ACC_SECOND_FACTOR": "offered"].merging(settings) { $1 })
            let parts = try await ConsentModule(ConsentSettings(&reader), on: own)
            harness.start(parts.services)
            try await body(
                OrganisationAccountHarness(
                    parts: parts, mail: mail, gateway: try await gateway.client(of: .consent), port: await parts.server.boundPort))
        }
    }

    func first(
        of organisation: OrganisationID, email: String = OrganisationAccountHarness.email,
        password: String? = OrganisationAccountHarness.password
    ) async throws -> MakeFirstMember.Reply {
        try await gateway.ask(
            MakeFirstMember(organisation: organisation, email: email, language: .italian, password: password), deadline: .seconds(20))
    }

    /// The first member, whose address somebody has confirmed.
    func confirmed(of organisation: OrganisationID, email: String = OrganisationAccountHarness.email) async throws -> MakeFirstMember.Reply
    {
        let made = try await first(of: organisation, email: email)
        _ = try await gateway.ask(ChangeMemberAddress(member: made.member, email: email), deadline: .seconds(5))
        return made
    }

    /// Whether somebody can log in so.
    func logsIn(_ email: String, _ password: String) async throws -> Bool {
        let form = ["login": email, "password": password, "device": "desk"]
        return try await HarnessClient(port: port).ask("POST", "/consent/v1/sessions", json: form).status == 200
    }
}

@Suite("Organisations in consent", .serialized, .timeLimit(.minutes(3)))
struct OrganisationAccountStories {
    @Test("ORG-08, ORG-10: the first member logs in with the chosen password; asked again it is the same member with the last password")
    func first() async throws {
        try await OrganisationAccountHarness.run { harness in
            let organisation = OrganisationID.random()
            let made = try await harness.confirmed(of: organisation)
            #expect(made.temporaryPassword == nil)
            #expect(try await harness.logsIn(OrganisationAccountHarness.email, OrganisationAccountHarness.password))
            let again = try await harness.first(of: organisation, password: "un'altra frase lunga")
            #expect(again.member == made.member)
            #expect(try await harness.logsIn(OrganisationAccountHarness.email, OrganisationAccountHarness.password) == false)
            #expect(try await harness.logsIn(OrganisationAccountHarness.email, "un'altra frase lunga"))
        }
    }

    @Test(
        "X17, ORG-06, CON-06: an organisation's first member was refused an address in use: it claims none until somebody there confirms it"
    )
    func claimsNothing() async throws {
        try await OrganisationAccountHarness.run { harness in
            let (owner, stranger) = (
                try await harness.confirmed(of: .random()), try await harness.first(of: .random(), email: "OFFICE@example.org")
            )
            #expect(owner.member != stranger.member)
            #expect(
                try await harness.logsIn(OrganisationAccountHarness.email, OrganisationAccountHarness.password),
                "whose it is stays as it was")
            let other = try await harness.first(of: .random(), email: "two@example.org", password: "un'altra frase lunga")
            #expect(try await harness.logsIn("two@example.org", "un'altra frase lunga") == false, "nobody has confirmed it")
            for (member, email) in [(stranger.member, OrganisationAccountHarness.email), (other.member, "Office@Example.org")] {
                let question = ChangeMemberAddress(member: member, email: email)
                #expect(await failure { _ = try await harness.gateway.ask(question, deadline: .seconds(5)) }?.code == .conflict)
            }
        }
    }

    @Test("ORG-06: a password that is missing or weak, and an address that is none, are told of and make nothing")
    func refused() async throws {
        try await OrganisationAccountHarness.run { harness in
            let organisation = OrganisationID.random()
            #expect(await failure { _ = try await harness.first(of: organisation, password: nil) }?.code == .invalid)
            #expect(await failure { _ = try await harness.first(of: organisation, password: "short") }?.code == .invalid)
            #expect(
                await failure { _ = try await harness.first(of: organisation, password: OrganisationAccountHarness.email) }?.code
                    == .invalid)
            #expect(await failure { _ = try await harness.first(of: organisation, email: "office") }?.code == .invalid)
            let members = try await harness.parts.opened.store.read { db in try AccountStore().count(db, of: .member) }
            #expect(members == 0)
        }
    }

    @Test("ORG-08, CON-03: where passwords are mailed, the answer holds a temporary one that logs in")
    func mailed() async throws {
        try await OrganisationAccountHarness.run(["TRACKME_ACC_PASSWORD_SOURCE": "mailed"]) { harness in
            let made = try await harness.first(of: .random(), password: nil)
            let password = try #require(made.temporaryPassword)
            _ = try await harness.gateway.ask(
                ChangeMemberAddress(member: made.member, email: OrganisationAccountHarness.email), deadline: .seconds(5))
            #expect(try await harness.logsIn(OrganisationAccountHarness.email, password))
            #expect(harness.mail.messages(to: OrganisationAccountHarness.email).isEmpty, "the gateway mails it with its confirmation")
        }
    }

    @Test("ORG-13: another address logs in from then on, the old one is free; one in use is a conflict; again is the same as once")
    func address() async throws {
        try await OrganisationAccountHarness.run { harness in
            let organisation = OrganisationID.random()
            let made = try await harness.confirmed(of: organisation)
            _ = try await harness.confirmed(of: .random(), email: "taken@example.org")
            for _ in 0..<2 {
                _ = try await harness.gateway.ask(
                    ChangeMemberAddress(member: made.member, email: "new@example.org"), deadline: .seconds(5))
            }
            #expect(try await harness.logsIn("new@example.org", OrganisationAccountHarness.password))
            #expect(try await harness.logsIn(OrganisationAccountHarness.email, OrganisationAccountHarness.password) == false)
            #expect(
                await failure {
                    _ = try await harness.gateway.ask(
                        ChangeMemberAddress(member: made.member, email: "taken@example.org"), deadline: .seconds(5))
                }?.code == .conflict)
            #expect(
                await failure {
                    _ = try await harness.gateway.ask(ChangeMemberAddress(member: .random(), email: "x@example.org"), deadline: .seconds(5))
                }?.code == .notFound)
            _ = try await harness.confirmed(of: .random())
        }
    }

    @Test("ORG-16: an organisation that is gone loses its log-ins, its pending requests and its grants, and each person is told once")
    func closed() async throws {
        try await OrganisationAccountHarness.run { harness in
            let (organisation, other) = (OrganisationID.random(), OrganisationID.random())
            _ = try await harness.confirmed(of: organisation)
            _ = try await harness.gateway.ask(
                InviteMember(organisation: organisation, organisationName: "Ricerca", email: "m@example.org", language: .italian),
                deadline: .seconds(5))
            let form = try RegistrationTests.form(Applicant.form(email: "anna@example.org"))
            let origin = RegistrationOrigin(
                request: RepeatableRequest(key: nil, body: [], scope: ""), remote: "-", trace: "", at: .now)
            let registered = try await harness.parts.accounts.registrations.register(form, origin)
            let person = try #require(registered.row.subject.person)
            func open(_ asker: OrganisationID, _ type: Metric) async throws -> RequestID {
                try await harness.gateway.ask(
                    OpenRequest(
                        organisation: asker, organisationName: "Ricerca", fiscalCode: registered.profile.fiscalCode, types: [type],
                        from: .now, to: .now + .seconds(86_400), granularity: .minutes, purpose: "study"), deadline: .seconds(5)
                ).request
            }
            let (waits, runs, stays) = (
                try await open(organisation, .heartRate), try await open(organisation, .oxygenSaturation), try await open(other, .heartRate)
            )
            _ = try await harness.parts.sharing.service.answer(runs, of: person, accept: true, trace: "")
            func status(_ request: RequestID, _ asker: OrganisationID) async throws -> RequestStatus {
                try await harness.gateway.ask(ReadRequest(organisation: asker, request: request), deadline: .seconds(5)).status
            }
            #expect(try await status(runs, organisation) == .approved)
            let reply = try await harness.gateway.ask(CloseOrganisation(organisation: organisation), deadline: .seconds(20))
            #expect(reply.members == 2 && reply.requests == 2)
            #expect(try await status(waits, organisation) == .expired)
            #expect(try await status(runs, organisation) == .ended)
            #expect(try await status(stays, other) == .pending, "another organisation's go on")
            #expect(try await harness.parts.sharing.service.grants(of: person).isEmpty)
            let told = try await harness.mail.arrived(to: "anna@example.org", .organisationLeft)
            #expect(Set(told.values.keys) == MessageTemplate.organisationLeft.values && told.values["organisation"] == "Ricerca")
            #expect(harness.mail.messages(to: "anna@example.org", .organisationLeft).count == 1)
            #expect(try await harness.logsIn(OrganisationAccountHarness.email, OrganisationAccountHarness.password) == false)
            let again = try await harness.gateway.ask(CloseOrganisation(organisation: organisation), deadline: .seconds(20))
            #expect(again.members == 0 && again.requests == 0)
            let receipts = try await harness.parts.opened.store.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM sharing_receipts") ?? 0
            }
            #expect(receipts == 6, "three requests, an acceptance, and both changes are on record")
        }
    }
}
