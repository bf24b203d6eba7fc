// Registering an organisation, from the form to the first log-in, with everything that can go wrong on the way.

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

@Suite("Registering an organisation")
struct RegistrationStories {
    @Test("ORG-01, ORG-08, CON-04: a right form is stored, a mail goes at once, and only its link completes the registration")
    func registers() async throws {
        try await OrganisationHarness.run { harness in
            let answer = try await harness.register().expect(status: 201)
            #expect(answer.json["state"] as? String == "unconfirmed" && !((answer.json["notice"] as? String) ?? "").isEmpty)
            let mail = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationConfirm)
            #expect(Set(mail.values.keys) == MessageTemplate.organisationConfirm.values && mail.language == .italian)
            let id = try #require(OrganisationID(answer.json["organisation"] as? String ?? ""))
            let logIn = try #require(harness.consent.logIn(of: id))
            #expect(
                logIn.password == OrganisationHarness.password && harness.consent.logIns[OrganisationHarness.address] == nil,
                "it claims no address yet")
            let token = try harness.logIns.token(logIn.member, of: id)
            #expect(try await harness.ask("GET", "/thirdparty/v1/members", token: token).problem == "organisation-not-confirmed")
            #expect(try await harness.ask("GET", "/thirdparty/v1/organisation", token: token).json["state"] as? String == "unconfirmed")

            let link = try mail.linkToken
            let page = try await harness.ask("GET", "/thirdparty/v1/organisations/confirm/\(link)").expect(status: 200)
            #expect(page.text.contains("Istituto Ricerche S.p.A."), "looking uses nothing up")
            try await harness.ask("POST", "/thirdparty/v1/organisations/confirm/\(link)", form: "").expect(status: 200)
            _ = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationActive)
            #expect(harness.consent.logIns[OrganisationHarness.address] == logIn)
            try await harness.ask("GET", "/thirdparty/v1/members", token: token).expect(status: 200)
            #expect(try await harness.ask("POST", "/thirdparty/v1/organisations/confirm/\(link)", form: "").status == 404)
            #expect(try await harness.ask("GET", "/thirdparty/v1/organisations/confirm/\(link)").status == 404)
            #expect(harness.mail.messages(to: OrganisationHarness.address, .organisationConfirm).count == 1)
        }
    }

    @Test("ORG-08, CON-03: where passwords are mailed, the confirmation carries the temporary one")
    func mailed() async throws {
        try await OrganisationHarness.run { harness in
            harness.consent.mailPasswords()
            let form = OrganisationHarness.form { form in
                form["password"] = nil
                form["passwordAgain"] = nil
            }
            try await harness.register(form).expect(status: 201)
            let mail = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationConfirmWithPassword)
            #expect(mail.values["password"] == "k3xv-9qrt")
            #expect(Set(mail.values.keys) == MessageTemplate.organisationConfirmWithPassword.values)
        }
    }

    @Test("ORG-02, ORG-05, ORG-07, UI-14: a wrong form is refused with every field named, and nothing is stored, asked or mailed")
    func wrongForm() async throws {
        try await OrganisationHarness.run { harness in
            let wrong = try await harness.register(
                OrganisationHarness.form { form in
                    form["vatNumber"] = "00743110158"
                    form["sector"] = nil
                })
            #expect(wrong.status == 422 && wrong.problem == "invalid-organisation" && wrong.pointers == ["/vatNumber", "/sector"])
            let unaccepted = try await harness.register(OrganisationHarness.form { $0["acceptedJurisdiction"] = nil })
            #expect(unaccepted.status == 422 && unaccepted.problem == "conditions-not-accepted")
            #expect(unaccepted.pointers == ["/acceptedJurisdiction"])
            let rubbish = try await harness.ask("POST", "/thirdparty/v1/organisations", text: "{")
            #expect(rubbish.status == 422 && rubbish.problem == "invalid-body")
            #expect(try await harness.ask("POST", "/thirdparty/v1/organisations", form: "a=b").status == 415)
            let weak = try await harness.register(
                OrganisationHarness.form { form in
                    form["password"] = "short"
                    form["passwordAgain"] = "short"
                })
            #expect(weak.status == 422 && weak.pointers == ["/password"], "consent says what is wrong with a password")
            let none = try await harness.register(
                OrganisationHarness.form { form in
                    form["password"] = nil
                    form["passwordAgain"] = nil
                })
            #expect(none.pointers == ["/password"])
            #expect(harness.consent.logIns.isEmpty && harness.mail.messages().isEmpty)
            try await harness.register().expect(status: 201)
        }
    }

    @Test("ORG-06: business name and VAT number are each unique, with messages of their own")
    func unique() async throws {
        try await OrganisationHarness.run { harness in
            _ = try await harness.found()
            let cases: [(String, String, [String: String])] = [
                ("business-name-in-use", "/businessName", ["businessName": "  istituto  RICERCHE s.p.a."]),
                ("vat-number-in-use", "/vatNumber", ["vatNumber": "007 431 101 57"]),
            ]
            for (problem, pointer, change) in cases {
                let form = OrganisationHarness.otherForm().merging(change) { $1 }
                let refused = try await harness.register(form)
                #expect(refused.status == 409 && refused.problem == problem && refused.pointers == [pointer], "\(problem)")
            }
            try await harness.register(OrganisationHarness.otherForm()).expect(status: 201)
        }
    }

    @Test("X17: five registrations by a stranger with somebody's address kept that one's own from its mail, and filled the mailbox")
    func strangersRegistrations() async throws {
        try await OrganisationHarness.run { harness in
            try await harness.register().expect(status: 201)
            let address = OrganisationHarness.address
            try await harness.register(OrganisationHarness.otherForm().merging(["email": address, "emailAgain": address]) { $1 }).expect(
                status: 201)
            let names = try await harness.opened.store.read { [table = harness.parts.accounts.table] db in
                try table.unconfirmed(db, from: try #require(EmailAddress(address)), after: .now - .seconds(60), limit: 1).map(
                    \.details.businessName)
            }
            #expect(names == [OrganisationHarness.otherForm()["businessName"] as? String])
            let path = "/thirdparty/v1/organisations/confirmation-mails"
            for _ in 0..<10 { try await harness.ask("POST", path, json: ["email": address]).expect(status: 202) }
            let refused = try await harness.ask("POST", path, json: ["email": address])
            #expect(refused.status == 429 && refused.problem == "too-many-requests")
        }
    }

    @Test("ORG-08: an expired link completes nothing and a new one can be asked for, with the same answer for every address")
    func expired() async throws {
        let clock = TestClock()
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, clock: clock) { harness in
                try await harness.register().expect(status: 201)
                let old = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationConfirm).linkToken
                let path = "/thirdparty/v1/organisations/confirmation-mails"
                let unknown = try await harness.ask("POST", path, json: ["email": "nobody@example.org"]).expect(status: 202)
                let early = try await harness.ask("POST", path, json: ["email": OrganisationHarness.address]).expect(status: 202)
                #expect(unknown.text == early.text)
                #expect(try await harness.ask("POST", path, json: ["email": "no address"]).pointers == ["/email"])
                // As if the form had been sent four days ago.
                try await harness.opened.store.write { db in
                    try db.execute(
                        sql: "UPDATE organisation_links SET made_at = made_at - 345600000, until = until - 345600000")
                }
                let stale = try await harness.ask("POST", "/thirdparty/v1/organisations/confirmations", json: ["token": old])
                #expect(stale.status == 404 && stale.problem == "link-not-valid")
                try await harness.ask("POST", path, json: ["email": "OFFICE@example.org"]).expect(status: 202)
                let link = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationConfirm, count: 2).linkToken
                try await harness.ask("POST", "/thirdparty/v1/organisations/confirmations", json: ["token": link]).expect(status: 200)
                try await harness.ask("POST", path, json: ["email": OrganisationHarness.address]).expect(status: 202)
                #expect(harness.mail.messages(to: OrganisationHarness.address, .organisationConfirm).count == 2, "nothing waits any more")
                #expect(harness.mail.messages(to: "nobody@example.org").isEmpty)
            }
        }
    }

    private static let month = Duration.seconds(30 * 86_400)

    @Test("ORG-06, ORG-08, CON-04: a registration that nobody confirms goes after a week, with its log-in; its values are free again")
    func neverConfirmed() async throws {
        let clock = TestClock()
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, clock: clock, runsJobs: false) { harness in
                let confirmed = try await harness.found(OrganisationHarness.otherForm())
                let founded = try await harness.found(confirmed: false)
                clock.advance(.seconds(7 * 86_400) - .seconds(3600))
                #expect(try await harness.parts.unconfirmed.remove() == 0, "its week is not over")
                clock.advance(.seconds(7200))
                #expect(try await harness.parts.unconfirmed.remove() == 1)
                #expect(try await harness.parts.jobs.runDue())
                #expect(harness.consent.closed == [founded.id] && harness.consent.logIn(of: founded.id) == nil)
                for table in ["organisations", "organisation_members"] {
                    let left = try await harness.opened.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
                    #expect(left == 1, "of the other one alone")
                }
                let links = try await harness.opened.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM organisation_links")
                }
                #expect(links == 0)
                let fresh = try harness.logIns.token(founded.owner, of: founded.id, at: clock.now)
                #expect(try await harness.ask("GET", "/thirdparty/v1/organisation", token: fresh).problem == "not-for-this-account")
                let other = try harness.logIns.token(confirmed.owner, of: confirmed.id, at: clock.now)
                try await harness.ask("GET", "/thirdparty/v1/members", token: other).expect(status: 200)
                try await harness.register().expect(status: 201)
                clock.advance(Self.month)
                #expect(try await harness.parts.unconfirmed.remove() == 1, "the next one too; who confirmed stays")
                #expect(
                    harness.log.lines.filter { $0.contains("nobody confirmed") }.count == 2
                        && !harness.log.text.contains(OrganisationHarness.address))
            }
        }
    }

    @Test("ORG-08: what is over by org.unconfirmed_h waits for the last link that was mailed, and no mail is sent after that time")
    func lastLink() async throws {
        let clock = TestClock()
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder, environment: ["TRACKME_ORG_UNCONFIRMED_H": "24"], clock: clock, runsJobs: false) {
                harness in
                try await harness.register().expect(status: 201)
                let link = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationConfirm).linkToken
                // Calls are dated by the machine's own clock: it is the registration that grows old.
                try await harness.opened.store.write { db in
                    try db.execute(sql: "UPDATE organisations SET created_at = created_at - 90000000")
                    try db.execute(sql: "UPDATE organisation_links SET made_at = made_at - 90000000, until = until - 90000000")
                }
                #expect(try await harness.parts.unconfirmed.remove() == 0, "the link of 72 h still holds")
                let path = "/thirdparty/v1/organisations/confirmation-mails"
                try await harness.ask("POST", path, json: ["email": OrganisationHarness.address]).expect(status: 202)
                try await harness.ask("POST", "/thirdparty/v1/organisations/confirmations", json: ["token": link]).expect(status: 200)
                _ = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationActive)
                #expect(
                    harness.mail.messages(to: OrganisationHarness.address, .organisationConfirm).count == 1, "the time for mails was over")
                clock.advance(Self.month)
                #expect(try await harness.parts.unconfirmed.remove() == 0)
            }
        }
    }

    @Test("ORG-08: a repeated request under the same key registers once and gets the first answer again; another body is refused")
    func repeated() async throws {
        try await OrganisationHarness.run { harness in
            let first = try await harness.register(key: "a").expect(status: 201)
            let again = try await harness.register(key: "a").expect(status: 201)
            #expect(again.json["organisation"] as? String == first.json["organisation"] as? String)
            #expect(again.headers["idempotency-replayed"] == "true")
            #expect(try await harness.register(OrganisationHarness.otherForm(), key: "a").problem == "idempotency-conflict")
            _ = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationConfirm)
            #expect(harness.mail.messages(to: OrganisationHarness.address, .organisationConfirm).count == 1)
        }
    }

    @Test("ORG-08, ORG-09: what consent could not answer is as if it had not been; later the same form is taken, log-in and all")
    func consentIsAway() async throws {
        try await withTemporaryFolder { folder in
            let consent = TestConsent()
            try await OrganisationHarness.run(in: folder, consent: consent, runsJobs: false) { harness in
                consent.fail(Failure(.unavailable, "starting"))
                let refused = try await harness.register()
                #expect(refused.status == 503 && refused.headers["retry-after"] != nil)
                consent.fail(nil)
                #expect(try await harness.register().status == 503, "the first try is not settled yet")
                harness.clock.advance(OrganisationJobs.unfinished + .seconds(1))
                #expect(try await harness.parts.jobs.runDue())
                #expect(consent.closed.count == 1, "whatever it may have made is taken back")
                try await harness.register().expect(status: 201)
            }
        }
    }

    @Test("ORG-08: a crash between the log-in and the mail leaves nothing that stands in the way of another try")
    func crash() async throws {
        try await withTemporaryFolder { folder in
            let (consent, clock) = (TestConsent(), TestClock())
            try await OrganisationHarness.run(in: folder, consent: consent, clock: clock, runsJobs: false) { harness in
                // As the first transaction and consent leave it.
                let id = OrganisationID.random()
                let form = try JSONTree(Array(JSONSerialization.data(withJSONObject: OrganisationHarness.form())))
                let details = try OrganisationForm.check(form, version: OrganisationConditions.version, in: .italy, at: clock.now).details
                try await harness.opened.store.write { [table = harness.parts.repository.table, now = clock.now] db in
                    try table.add(db, id, details, at: now)
                }
                _ = try await harness.parts.accounts.consent.makeFirstMember(
                    MakeFirstMember(
                        organisation: id, email: OrganisationHarness.address, language: .italian, password: OrganisationHarness.password),
                    trace: "")
            }
            clock.advance(.seconds(60))
            try await OrganisationHarness.run(in: folder, consent: consent, clock: clock) { harness in
                try await eventually("the unfinished one is taken back", isTrue: { consent.logIns.isEmpty })
                try await eventually("the form is taken", isTrue: { try await harness.register().status == 201 })
            }
        }
    }

    @Test("org.approval_required: a confirmed organisation waits for the operator, who approves, suspends and resumes it")
    func approval() async throws {
        try await OrganisationHarness.runFounded(environment: ["TRACKME_ORG_APPROVAL_REQUIRED": "true"]) { harness, founded in
            _ = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationAwaitsApproval)
            func problem() async throws -> String? {
                try await harness.ask("GET", "/thirdparty/v1/members", token: founded.token).problem
            }
            #expect(try await problem() == "organisation-not-approved")
            let listed = try await harness.operators.ask(ListOrganisations(state: .awaitingApproval), deadline: .seconds(5))
            #expect(listed.items.map(\.organisation) == [founded.id] && listed.items.first?.name == "Istituto Ricerche S.p.A.")
            let shown = try await harness.operators.ask(ShowOrganisation(organisation: founded.id), deadline: .seconds(5))
            #expect(shown.vatNumber == "IT00743110157" && shown.members == 1 && shown.representative == "Mario Rossi")
            func judge(_ judgement: JudgeOrganisation.Judgement) async throws -> OrganisationState {
                try await harness.operators.ask(
                    JudgeOrganisation(organisation: founded.id, judgement: judgement), deadline: .seconds(5)
                ).state
            }
            #expect(try await judge(.approve) == .active)
            _ = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationActive)
            #expect(try await problem() == nil)
            #expect(try await judge(.suspend) == .suspended)
            _ = try await harness.mail.arrived(to: OrganisationHarness.address, .organisationSuspended)
            #expect(try await problem() == "organisation-suspended")
            await #expect(throws: Failure.self) { try await judge(.approve) }
            #expect(try await judge(.resume) == .active)
            #expect(try await problem() == nil)
            await #expect(throws: Failure.self) {
                try await harness.operators.ask(ShowOrganisation(organisation: .random()), deadline: .seconds(5))
            }
        }
    }

    @Test("ORG-22: the operator's contact is announced; ORG-05: so are the conditions, in both languages")
    func support() async throws {
        let environment = ["TRACKME_ORG_SUPPORT_MAIL": "help@trackme.test", "TRACKME_ORG_SUPPORT_HOURS": "9-17 CET"]
        try await OrganisationHarness.run(environment: environment) { harness in
            let contact = try await harness.ask("GET", "/thirdparty/v1/support").expect(status: 200).json
            #expect(contact["mail"] as? String == "help@trackme.test" && contact["phone"] == nil)
            for language in ["it", "en"] {
                let conditions: ConditionsItem = try await harness.ask("GET", "/thirdparty/v1/conditions?lang=\(language)").decoded()
                #expect(conditions.documents.count == 4 && conditions.documents.allSatisfy { !$0.text.isEmpty })
                let jurisdiction = try #require(conditions.documents.last?.text)
                #expect(jurisdiction.contains(language == "it" ? "Milano" : "Milan"))
            }
        }
    }

    @Test("NFR-11: nothing of what an organisation says of itself can be read in the store's file")
    func sealed() async throws {
        try await withTemporaryFolder { folder in
            try await OrganisationHarness.run(in: folder) { harness in
                let founded = try await harness.found()
                _ = try await harness.invite("giulia@example.org", as: .analyst, by: founded)
                try await harness.ask(
                    "POST", "/thirdparty/v1/clients", token: founded.token, json: ["name": "nightly-canary", "scopes": ["data:read"]]
                ).expect(status: 201)
            }
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.appendingPathComponent("store").path)
            for file in files where file.contains(".db") {
                let bytes = try Data(contentsOf: folder.appendingPathComponent("store/\(file)"))
                for word in [
                    "Istituto", "00743110157", "office@", "giulia@", "Rossi", "RSSMRA80A01H501U", "ricordo", "nightly-canary", "tmcs_",
                ] {
                    #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) in \(file)")
                }
            }
        }
    }
}
