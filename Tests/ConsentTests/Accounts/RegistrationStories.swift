// Registration from the form to the mail, over HTTP and down to the file.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct RegistrationStories {
    @Test("ACC-01, ACC-02, ACC-07: a complete form makes the account, and the confirmation goes to the given address")
    func registers() async throws {
        try await AccountHarness.run { harness in
            let answer = try await harness.register(Applicant.form())
            #expect(answer.status == 201)
            let item = try answer.decoded(as: RegistrationItem.self)
            #expect(item.state == .active && item.address.confirmedAt == nil && item.automatedSOS.status == .notAsked)
            let message = try await harness.mail.arrived(to: "anna@example.org", .accountCreated)
            #expect(message.language == .italian && message.values["name"] == "Anna")
            let row = try #require(try await harness.row(item.person))
            #expect(row.state == .active && row.termsVersion == Conditions.version)
            let state = PersonState(person: item.person, active: true, termsVersion: Conditions.version, language: .italian)
            #expect(try await harness.facts() == [state])
        }
    }

    @Test("ACC-02, ACC-03, ACC-09, CON-05: after a refusal nothing is stored, whatever the field")
    func refusalStoresNothing() async throws {
        try await AccountHarness.run { harness in
            let before = try await harness.countAll()
            for (name, value) in [("email", "x"), ("fiscalCode", "x"), ("weight", 0), ("passwordAgain", "y"), ("acceptedTerms", "")]
                as [(String, any Sendable)]
            {
                let answer = try await harness.register(Applicant.form([name: value]))
                #expect(answer.status == 422 && Set(answer.pointers) == ["/\(name)"])
                #expect(answer.headers["content-type"]?.hasPrefix("application/problem+json") == true)
            }
            #expect(try await harness.countAll() == before)
            #expect(harness.mail.messages().isEmpty)
            #expect(try await harness.facts().isEmpty)
        }
    }

    @Test("ACC-01: a body that was cut off or is no form stores nothing and says so")
    func malformed() async throws {
        try await AccountHarness.run { harness in
            for body in ["{\"name\":\"Anna\"", "[]", "\"Anna\"", ""] {
                let answer = try await harness.request(
                    "POST", "/consent/v1/accounts", form: nil, headers: ["Content-Type": "application/json"])
                #expect(answer.status >= 400 && answer.status < 500)
                let sent = try await harness.raw(body)
                #expect(sent.status == 422, "\(body)")
            }
            #expect(try await harness.count("accounts") == 0)
        }
    }

    @Test("ACC-05: without acceptance the registration is refused, the acceptance is named, and the second try succeeds")
    func conditions() async throws {
        try await AccountHarness.run { harness in
            let refused = try await harness.register(Applicant.form(["acceptedPrivacy": NSNull()]))
            #expect(refused.problem == "conditions-not-accepted" && Set(refused.pointers) == ["/acceptedPrivacy"])
            #expect(try await harness.register(Applicant.form()).status == 201)
        }
    }

    @Test("ACC-05: the texts say that position and health data are collected and how they are shared, in both languages")
    func texts() async throws {
        try await AccountHarness.run { harness in
            let both = try await harness.request("GET", "/consent/v1/terms").decoded(as: ConditionsItem.self)
            #expect(both.version == Conditions.version && both.documents.count == 4)
            let english = try await harness.request("GET", "/consent/v1/terms?lang=en").decoded(as: ConditionsItem.self)
            let text = english.documents.map(\.text).joined()
            #expect(
                english.documents.count == 2 && text.contains("POSITION") && text.contains("HEALTH DATA") && text.contains("Anonymously"))
            let italian = both.documents.filter { $0.language == .italian }.map(\.text).joined()
            #expect(italian.contains("POSIZIONE") && italian.contains("SALUTE") && italian.contains("anonima"))
        }
    }

    @Test("ACC-04: a user name that is taken is named, and nothing is stored; it tells nobody who has it")
    func userNameTaken() async throws {
        try await AccountHarness.run { harness in
            #expect(try await harness.register(Applicant.form(["userName": "Nonna"])).status == 201)
            _ = try await harness.mail.arrived(to: "anna@example.org", .accountCreated)
            try await eventually("what follows a registration is done") { try await harness.isQuiet() }
            let before = try await harness.countAll()
            let name = try await harness.register(Applicant.form(email: "o@example.org", surname: "Rossi", ["userName": "nonna"]))
            #expect(name.status == 409 && name.problem == "username-taken" && Set(name.pointers) == ["/userName"])
            #expect(try await harness.countAll() == before)
        }
    }

    @Test("ACC-04, CON-06: the address of a member or operator is in use, too")
    func uniqueOverKinds() async throws {
        try await AccountHarness.run { harness in
            let address = try #require(EmailAddress("hasher@example.org"))
            let repository = harness.parts.repository
            let subject = AccountSubject.operator(.random())
            let profile = try repository.vault.seal(
                AccountContact(name: "", surname: "", email: address, language: .english), of: subject)
            try await harness.opened.store.write { db in
                _ = try repository.table.add(
                    db, subject, keys: .init(email: repository.lookups.email(address)), profile: profile, state: .active, at: .now)
            }
            #expect(
                try await harness.register(Applicant.form(email: "hasher@example.org")).decoded(as: RegistrationItem.self).state
                    == .unconfirmed
            )
            _ = try await harness.mail.arrived(to: "hasher@example.org", .alreadyRegistered)
        }
    }

    @Test("ACC-04: two registrations of one person at the same time make one account")
    func race() async throws {
        try await AccountHarness.run { harness in
            let states = try await withThrowingTaskGroup(of: AccountState.self) { group in
                for _ in 0..<6 { group.addTask { try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).state } }
                return try await group.reduce(into: [AccountState]()) { $0.append($1) }
            }
            #expect(states.filter { $0 == .active }.count == 1 && states.filter { $0 == .unconfirmed }.count == 5)
            _ = try await harness.mail.arrived(to: "anna@example.org", .alreadyRegistered, count: 5)
        }
    }

    @Test("ACC-04: one address is tried ten times an hour, and one remote address, too")
    func limits() async throws {
        try await AccountHarness.run { harness in
            for _ in 0..<10 { #expect(try await harness.register(Applicant.form(["weight": 0]), from: nil).status == 422) }
            let limited = try await harness.register(Applicant.form(), from: nil)
            #expect(limited.status == 429 && limited.problem == "too-many-requests" && limited.headers["retry-after"] != nil)
            #expect(try await harness.count("accounts") == 0)
            for number in 0..<10 {
                _ = try await harness.register(Applicant.form(email: "n\(number)@example.org", ["weight": 0]), from: "203.0.113.9")
            }
            #expect(try await harness.register(Applicant.form(email: "fresh@example.org"), from: "203.0.113.9").status == 429)
            #expect(try await harness.register(Applicant.form(email: "fresh@example.org"), from: "203.0.113.10").status == 201)
        }
    }

    @Test("ACC-01: a registration that is sent again under its key gets its first answer, also after a restart")
    func idempotency() async throws {
        try await withTemporaryFolder { folder in
            let first = try await AccountHarness.run(in: folder) { harness in
                let first = try await harness.register(Applicant.form(), key: "one")
                #expect(first.status == 201)
                return try first.decoded(as: RegistrationItem.self)
            }
            try await AccountHarness.run(in: folder) { harness in
                let again = try await harness.register(Applicant.form(), key: "one")
                #expect(again.status == 201 && again.headers["idempotency-replayed"] == "true")
                let item = try again.decoded(as: RegistrationItem.self)
                #expect(item.person == first.person && item.correctionToken == first.correctionToken)
                let other = try await harness.register(Applicant.form(email: "b@example.org"), key: "one")
                #expect(other.status == 422 && other.problem == "idempotency-conflict")
                #expect(try await harness.count("accounts") == 1)
            }
        }
    }

    @Test("ACC-06: anonymous sharing is off unless chosen, and what is chosen is on record")
    func choices() async throws {
        try await AccountHarness.run { harness in
            _ = try await harness.register(Applicant.form())
            #expect(try await harness.count("anonymous_sharing") == 0)
            let chosen = try await harness.register(
                Applicant.form(email: "b@example.org", surname: "Rossi", ["anonymousTypes": ["heart-rate", "weight"]]))
            let person = try chosen.decoded(as: RegistrationItem.self).person
            let row = try #require(try await harness.row(person))
            let choices = try await harness.opened.store.read { db in try AnonymousSharingStore().choices(db, of: row.number) }
            #expect(Set(choices.filter(\.isShared).map(\.metric.code)) == ["heart-rate", "weight"])
        }
    }

    @Test("ACC-06: joining AutomatedSOS asks the dispatcher with the clauses accepted")
    func joins() async throws {
        try await AccountHarness.run { harness in
            let answer = try await harness.register(Applicant.form(["joinsAutomatedSOS": true, "acceptedSOSClauses": true]))
            let item = try answer.decoded(as: RegistrationItem.self)
            #expect(item.automatedSOS.status == .active)
            #expect(harness.around.subscriptions.map(\.person) == [item.person])
            #expect(harness.around.subscriptions.map(\.clausesAccepted) == [true])
        }
    }

    @Test(
        "ACC-06: where AutomatedSOS cannot be joined the account is made and its owner told why",
        arguments: [Failure(.unavailable, "busy"), Failure(.deadline, "silent"), Failure(.conflict, "there is no device with a position")])
    func joinFails(_ failure: Failure) async throws {
        try await AccountHarness.run { harness in
            harness.around.dispatcher(says: failure)
            let answer = try await harness.register(Applicant.form(["joinsAutomatedSOS": true, "acceptedSOSClauses": true]))
            #expect(answer.status == 201)
            let item = try answer.decoded(as: RegistrationItem.self)
            #expect(item.state == .active && item.automatedSOS.status == .refused)
            let reason = try #require(item.automatedSOS.reason)
            #expect(failure.isRetriable ? reason.contains("did not answer") : reason == failure.reason)
            let profile = try await harness.request("GET", "/consent/v1/profile", token: item.person.description).decoded(
                as: ProfileItem.self)
            #expect(profile.automatedSOS.reason == reason)
        }
    }

    @Test("ACC-F: weight and height become data entries, asked under one id until ingest takes them, also after a restart")
    func measured() async throws {
        try await withTemporaryFolder { folder in
            let (person, ids) = try await AccountHarness.run(in: folder) { harness in
                harness.around.ingest(says: Failure(.unavailable, "starting"))
                let person = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
                try await eventually("ingest is asked twice") { harness.around.ids.count >= 2 }
                return (person, harness.around.ids)
            }
            try await AccountHarness.run(in: folder) { harness in
                let asked = try await eventually("ingest is asked") { harness.around.entries.first }
                #expect(asked.person == person)
                #expect(asked.samples.map(\.type.code) == ["weight", "height"] && asked.samples.map(\.value) == [61.5, 162])
                try await eventually("the job is done") { try await harness.count("jobs WHERE kind = 'record-entries'") == 0 }
                #expect(Set(harness.around.ids + ids).count == 1)
            }
        }
    }

    @Test("ACC-F: entries that ingest refuses for good are not asked again")
    func refusedEntries() async throws {
        try await AccountHarness.run { harness in
            harness.around.ingest(says: Failure(.conflict, "another value is there"))
            _ = try await harness.register(Applicant.form())
            try await eventually("the job is given up") { try await harness.count("jobs WHERE dead_at IS NOT NULL") == 1 }
            #expect(harness.around.ids.count == 1)
        }
    }

    @Test("ACC-08: where passwords are mailed, a temporary one goes to the address and expires")
    func mailed() async throws {
        try await AccountHarness.run(["TRACKME_ACC_PASSWORD_SOURCE": "mailed"]) { harness in
            var form = Applicant.form()
            (form["password"], form["passwordAgain"]) = (nil, nil)
            let person = try await harness.register(form).decoded(as: RegistrationItem.self).person
            let message = try await harness.mail.arrived(to: "anna@example.org", .temporaryPassword)
            let password = try #require(message.values["password"])
            let row = try #require(try await harness.row(person))
            let repository = harness.parts.repository
            let credential = try await harness.opened.store.read { db in try repository.credentials.find(db, account: row.number) }
            let stored = try #require(credential)
            #expect(stored.temporaryUntil == row.createdAt + .seconds(24 * 3600))
            #expect(try await harness.parts.registrations.hasher.check(password, against: stored.hash) != .wrong)
        }
    }

    @Test("ACC-08: a chosen password is stored as a salted hash alone, and nothing that was told is readable in the file")
    func sealed() async throws {
        try await withTemporaryFolder { folder in
            try await AccountHarness.run(in: folder) { harness in
                _ = try await harness.register(
                    Applicant.form(["userName": "zaffiro77", "phone": "+39 333 7654321", "address": "Via Zaffiro 77"]))
                _ = try await harness.mail.arrived(to: "anna@example.org", .accountCreated)
            }
            let secrets = [
                AccountHarness.password, "anna@example.org", "Esposito", "zaffiro77", "7654321", "Via Zaffiro", Applicant.fiscalCode(),
                "1940-05-01",
            ]
            let files = try FileManager.default.contentsOfDirectory(
                at: folder.appendingPathComponent("store"), includingPropertiesForKeys: nil)
            #expect(!files.isEmpty)
            for file in files {
                let data = try Data(contentsOf: file)
                for secret in secrets { #expect(data.range(of: Data(secret.utf8)) == nil, "\(secret) in \(file.lastPathComponent)") }
            }
        }
    }

    @Test("ACC-10: somebody without an account registers another person; two of them do not disturb each other")
    func relative() async throws {
        try await AccountHarness.run { harness in
            let grandmother = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self)
            let grandfather = try await harness.register(Applicant.form(email: "nonno@example.org", surname: "Rossi"))
                .decoded(as: RegistrationItem.self)
            #expect(grandmother.person != grandfather.person)
            _ = try await harness.mail.arrived(to: "nonno@example.org", .accountCreated)
        }
    }

    @Test("ACC-33: an account's number is never given again, not even after it was deleted")
    func numbers() async throws {
        try await AccountHarness.run { harness in
            let person = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            let first = try #require(try await harness.row(person)).number
            try await harness.opened.store.write { db in try AccountStore().delete(db, first) }
            let again = try await harness.register(Applicant.form())
            #expect(again.status == 201)
            let next = try #require(try await harness.row(again.decoded(as: RegistrationItem.self).person)).number
            #expect(next > first)
        }
    }

    @Test("ACC-F: places are searched by the beginning of their name, over HTTP")
    func places() async throws {
        try await AccountHarness.run { harness in
            let found = try await harness.request("GET", "/consent/v1/places?prefix=Rom&limit=50").decoded(as: Page<PlaceItem>.self)
            #expect(found.items.contains { $0.code == "H501" && $0.region == "Lazio" && $0.country == "Italia" })
            #expect(try await harness.request("GET", "/consent/v1/places/H501").decoded(as: PlaceItem.self).name == "Roma")
            #expect(try await harness.request("GET", "/consent/v1/places/Q999").status == 404)
            for query in ["prefix=R", "", "prefix=Ro&limit=0", "prefix=Ro&past=maybe"] {
                #expect(try await harness.request("GET", "/consent/v1/places?\(query)").status == 400, "\(query)")
            }
        }
    }

    @Test("Everybody who has an account is in the snapshot of consent.people, and a restart tells nothing twice")
    func snapshot() async throws {
        try await withTemporaryFolder { folder in
            let person = try await AccountHarness.run(in: folder) { harness in
                try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            }
            try await AccountHarness.run(in: folder) { harness in
                let page = try await harness.parts.snapshot(SnapshotStream(stream: "consent.people", after: nil))
                let states = try page.facts.map { try JSONDecoder().decode(PersonState.self, from: Data($0.payload.utf8)) }
                #expect(states.map(\.person) == [person] && states.map(\.active) == [true])
                #expect(page.sequence == 1 && page.next == nil)
            }
        }
    }
}

extension AccountHarness {
    /// Whether nothing waits in the background.
    func isQuiet() async throws -> Bool {
        try await count("jobs WHERE dead_at IS NULL") == 0
    }

    /// A body as it stands, as JSON.
    func raw(_ body: String) async throws -> HarnessAnswer {
        try await request("POST", "/consent/v1/accounts", form: body, headers: ["Content-Type": "application/json"])
    }
}
