// Whose e-mail address is in use is told to nobody but its reader (X17): registrations claim theirs when they are confirmed.

import Bus
import Contracts
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Registering with an address that is somebody's")
struct NeutralRegistrationStories {
    private static let confirmations = "/thirdparty/v1/organisations/confirmations"

    /// The other organisation's form with an address that somebody else may have.
    private static func otherForm(from address: String) -> [String: Any] {
        OrganisationHarness.otherForm().merging(["email": address, "emailAgain": address]) { $1 }
    }

    @Test(
        "X17: registering an organisation told whose e-mail address is in use: the answer is the same for all, and the mailed link alone tells"
    )
    func tellsNobody() async throws {
        try await OrganisationHarness.run { harness in
            harness.consent.occupy("anna@example.org")
            let known = try await harness.register(Self.otherForm(from: "anna@example.org"))
            let unknown = try await harness.register()
            #expect(known.status == 201 && unknown.status == 201)
            func shown(_ answer: HarnessAnswer) -> [String: String] {
                answer.json.filter { $0.key != "organisation" }.mapValues { "\($0)" }
            }
            #expect(shown(known) == shown(unknown) && Set(known.headers.keys) == Set(unknown.headers.keys))
            // Whoever reads that address learns that somebody gave it, and by the link that it is in use.
            let link = try await harness.mail.arrived(to: "anna@example.org", .organisationConfirm).linkToken
            let refused = try await harness.ask("POST", Self.confirmations, json: ["token": link])
            #expect(refused.status == 409 && refused.problem == "email-in-use" && refused.pointers == ["/email"])
            // What can never be confirmed stands in nobody's way: its name and VAT number are free at once.
            #expect(try await harness.ask("POST", Self.confirmations, json: ["token": link]).status == 404)
            try await harness.register(OrganisationHarness.otherForm()).expect(status: 201)
        }
    }

    @Test(
        "X17, ORG-06, CON-06: registrations that give one address do not hinder each other; the first to be confirmed has it, and nobody logs in by it before"
    )
    func oneAddress() async throws {
        try await OrganisationHarness.run { harness in
            let first = try await harness.register().expect(status: 201)
            let second = try await harness.register(Self.otherForm(from: OrganisationHarness.address.uppercased())).expect(status: 201)
            #expect(harness.consent.logIns[OrganisationHarness.address] == nil, "nothing is claimed yet")
            let mails = try await eventually("both are written to") {
                let mails = harness.mail.messages().filter { $0.template == .organisationConfirm }
                return mails.count == 2 ? mails : nil
            }
            func confirm(_ name: String) async throws -> HarnessAnswer {
                let mail = try #require(mails.first { $0.values["organisation"] == name })
                return try await harness.ask("POST", Self.confirmations, json: ["token": try mail.linkToken])
            }
            try await confirm("Clinica Due").expect(status: 200)
            let holder = try #require(harness.consent.logIns[OrganisationHarness.address])
            #expect("\(holder.organisation)" == second.json["organisation"] as? String)
            #expect(try await confirm("Istituto Ricerche S.p.A.").problem == "email-in-use")
            #expect(try await harness.opened.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM organisations") } == 1)
            try await eventually("its log-in ends") {
                OrganisationID(first.json["organisation"] as? String ?? "").map(harness.consent.closed.contains) == true
            }
        }
    }

    @Test(
        "X17: what waits for its link when the suite is brought up to date keeps its address, and is confirmed and mailed again as before")
    func before() async throws {
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder) { harness in
                try await harness.register().expect(status: 201)
                // As the version before left it: the address claimed, here and in consent.
                let waiting = try #require(harness.consent.logIns.keys.first)
                harness.consent.move(waiting, to: OrganisationHarness.address)
                try await harness.opened.store.write { db in
                    try db.execute(sql: "UPDATE organisations SET address_lookup = wished_lookup")
                    try db.execute(sql: "DROP INDEX organisations_by_wished_address; ALTER TABLE organisations DROP COLUMN wished_lookup")
                    try OrganisationMigration.addRequestedAddress(to: db)
                    try db.execute(sql: "UPDATE organisation_links SET made_at = made_at - 120000")
                }
                try await harness.ask(
                    "POST", "/thirdparty/v1/organisations/confirmation-mails", json: ["email": OrganisationHarness.address]
                ).expect(status: 202)
                let link = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationConfirm, count: 2).linkToken
                try await harness.ask("POST", Self.confirmations, json: ["token": link]).expect(status: 200)
                #expect(harness.consent.logIns[OrganisationHarness.address] != nil)
            }
        }
    }

    @Test("X17: an operator who vouches for an organisation gives it its address too, unless that is somebody else's")
    func vouched() async throws {
        try await OrganisationHarness.run { harness in
            harness.consent.occupy("anna@example.org")
            func vouch(_ form: [String: Any]) async throws -> OrganisationState {
                let made = try await harness.register(form).expect(status: 201).json["organisation"] as? String
                let organisation = try #require(OrganisationID(made ?? ""))
                return try await harness.operators.ask(
                    JudgeOrganisation(organisation: organisation, judgement: .confirm), deadline: .seconds(5)
                ).state
            }
            let state = try await vouch(OrganisationHarness.form())
            #expect(state == .active && harness.consent.logIns[OrganisationHarness.address] != nil)
            await #expect(throws: Failure.self) { try await vouch(Self.otherForm(from: "anna@example.org")) }
        }
    }
}
