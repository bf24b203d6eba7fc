// A person's own profile over HTTP: read, changed, and its address moved (ACC-18, ACC-19, ACC-32).

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct ProfileStories {
    private func registered(_ harness: AccountHarness, _ form: [String: Any] = Applicant.form()) async throws -> String {
        try await harness.register(form).decoded(as: RegistrationItem.self).person.description
    }

    @Test("ACC-18: the profile shows everything that was told and leads to its areas")
    func shows() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness, Applicant.form(["phone": "333 1234567", "workHoursPerDay": 8]))
            let answer = try await harness.request("GET", "/consent/v1/profile", token: person)
            let profile = try answer.decoded(as: ProfileItem.self)
            #expect(
                (profile.name, profile.surname, profile.email, profile.birthDate) == ("Anna", "Esposito", "anna@example.org", "1940-05-01"))
            #expect(profile.fiscalCode == Applicant.fiscalCode() && profile.cityOfBirth?.name == "Roma" && profile.phone == "+393331234567")
            #expect(profile.cityOfResidence?.region == "Lombardia" && profile.workHoursPerDay == 8 && profile.gender == nil)
            #expect(Set(["editProfile", "acquiredData", "pastRequests", "pendingRequests"]).isSubset(of: profile.areas.keys))
            #expect(profile.acceptedTerms == Conditions.version && !answer.text.contains("password"))
        }
    }

    @Test("ACC-14, ACC-13: nobody else's profile can be asked for, and none without logging in")
    func closed() async throws {
        try await AccountHarness.run { harness in
            for (method, path) in [
                ("GET", "/consent/v1/profile"), ("PATCH", "/consent/v1/profile"), ("GET", "/consent/v1/profile/consents"),
            ] {
                let json: [String: Any]? = method == "PATCH" ? [:] : nil
                let nobody = try await harness.request(method, path, json: json)
                let other = try await harness.request(method, path, token: OperatorID.random().description, json: json)
                let unknown = try await harness.request(method, path, token: PersonID.random().description, json: json)
                let statuses: [Int] = [nobody.status, other.status, unknown.status]
                #expect(statuses == [401, 403, 404], "\(path)")
            }
        }
    }

    @Test("ACC-19, SC-23: an occupation changes, and the profile shows it from then on")
    func occupation() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            let changed = try await harness.request("PATCH", "/consent/v1/profile", token: person, json: ["occupation": "employed"])
            #expect(changed.status == 200)
            let profile = try await harness.request("GET", "/consent/v1/profile", token: person).decoded(as: ProfileItem.self)
            #expect(profile.occupation == .employed && profile.address == "Via Roma 1")
        }
    }

    @Test("X4, ACC-19: a stolen token changed the number that emergency services call back, and nobody was told")
    func phone() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness, Applicant.form(["phone": "333 1234567"]))
            let path = "/consent/v1/profile"
            for change in [["occupation": "employed"], ["phone": "+39 333 1234567"]] {
                #expect(try await harness.request("PATCH", path, token: person, json: change).status == 200)
            }
            #expect(try await harness.request("PATCH", path, token: person, json: ["phone": "333 7654321"]).status == 200)
            let told = try await harness.mail.arrived(to: "anna@example.org", .phoneChanged)
            #expect(told.channels == [.mail, .inbox, .push] && told.recipient.person?.description == person)
            #expect(!told.values.values.contains { $0.contains("7654321") })
            #expect(try await harness.request("PATCH", path, token: person, json: ["phone": NSNull()]).status == 200)
            _ = try await harness.mail.arrived(to: "anna@example.org", .phoneChanged, count: 2)
            #expect(harness.mail.messages(to: "anna@example.org", .phoneChanged).count == 2, "the same number is told to nobody")
        }
    }

    @Test("ACC-19: one wrong field leaves the whole profile as it was; a fixed one is refused by name")
    func allOrNothing() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            let wrong = try await harness.request(
                "PATCH", "/consent/v1/profile", token: person, json: ["occupation": "employed", "weight": -1])
            #expect(wrong.status == 422 && wrong.problem == "invalid-profile" && Set(wrong.pointers) == ["/weight"])
            let fixed = try await harness.request(
                "PATCH", "/consent/v1/profile", token: person, json: ["occupation": "employed", "birthDate": "1950-01-01"])
            #expect(fixed.status == 422 && fixed.problem == "fixed-field" && Set(fixed.pointers) == ["/birthDate"])
            let profile = try await harness.request("GET", "/consent/v1/profile", token: person).decoded(as: ProfileItem.self)
            #expect(profile.occupation == .student && profile.weight == 61.5)
        }
    }

    @Test("ACC-19, ACC-F: a new weight is a new data entry, and an unchanged one is not")
    func weight() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            try await eventually("the first entries are stored") { harness.around.entries.count == 1 }
            _ = try await harness.request("PATCH", "/consent/v1/profile", token: person, json: ["weight": 63.0, "height": 162])
            let asked = try await eventually("the new entry is stored") {
                harness.around.entries.count == 2 ? harness.around.entries[1] : nil
            }
            #expect(asked.samples.map(\.type.code) == ["weight"] && asked.samples.map(\.value) == [63])
        }
    }

    @Test("ACC-04: a user name changes to a free one, and the old one is free then")
    func userName() async throws {
        try await AccountHarness.run { harness in
            let anna = try await registered(harness, Applicant.form(["userName": "nonna"]))
            let other = try await registered(harness, Applicant.form(email: "b@example.org", surname: "Rossi", ["userName": "zia"]))
            let taken = try await harness.request("PATCH", "/consent/v1/profile", token: other, json: ["userName": "NONNA"])
            #expect(taken.status == 409 && taken.problem == "username-taken")
            #expect(try await harness.request("PATCH", "/consent/v1/profile", token: anna, json: ["userName": "anna"]).status == 200)
            #expect(try await harness.request("PATCH", "/consent/v1/profile", token: other, json: ["userName": "nonna"]).status == 200)
        }
    }

    @Test("ACC-19: the e-mail changes once the new address has confirmed it, and the old one is told")
    func email() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            let asked = try await harness.request("POST", "/consent/v1/profile/email", token: person, json: ["email": "nuova@example.org"])
            #expect(asked.status == 202)
            func email() async throws -> String {
                try await harness.request("GET", "/consent/v1/profile", token: person).decoded(as: ProfileItem.self).email
            }
            let link = try await harness.link(to: "nuova@example.org", .changeAddress)
            #expect(try await harness.request("GET", link).text.contains("nuova@example.org"))
            #expect(try await email() == "anna@example.org")
            #expect(try await harness.request("POST", link).status == 200)
            #expect(try await email() == "nuova@example.org")
            let told = try await harness.mail.arrived(to: "anna@example.org", .addressChanged)
            #expect(told.values["name"] == "Anna")
            #expect(try await harness.register(Applicant.form(email: "anna@example.org", surname: "Rossi")).status == 201)
            #expect(try await harness.request("POST", link, headers: ["Accept": "text/html"]).status == 404)
        }
    }

    @Test("ACC-04, ACC-19, X17: of an address in use only its owner is told; one that was taken before the link was followed is refused")
    func emailTaken() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            _ = try await registered(harness, Applicant.form(email: "b@example.org", surname: "Rossi"))
            func change(_ email: String) async throws -> HarnessAnswer {
                try await harness.request("POST", "/consent/v1/profile/email", token: person, json: ["email": email])
            }
            #expect(try await change("B@example.org").status == 202)
            _ = try await harness.mail.arrived(to: "b@example.org", .alreadyRegistered)
            #expect(harness.mail.messages(to: "B@example.org", .changeAddress).isEmpty)
            #expect(try await change("nonsense").status == 422)
            #expect(try await change("late@example.org").status == 202)
            let link = try await harness.link(to: "late@example.org", .changeAddress)
            _ = try await registered(harness, Applicant.form(email: "late@example.org", surname: "Bianchi"))
            #expect(try await harness.request("POST", link, headers: ["Accept": "application/json"]).problem == "email-in-use")
            let profile = try await harness.request("GET", "/consent/v1/profile", token: person).decoded(as: ProfileItem.self)
            #expect(profile.email == "anna@example.org")
        }
    }

    @Test("X4: the owner heard of a new address only afterwards; now the present one is told at once, and stops it")
    func stopped() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            func change(_ email: String) async throws -> Int {
                try await harness.request("POST", "/consent/v1/profile/email", token: person, json: ["email": email]).status
            }
            #expect(try await change("thief@example.org") == 202)
            let new = try await harness.link(to: "thief@example.org", .changeAddress)
            let stop = try await harness.link(to: "anna@example.org", .addressChangeAsked)
            #expect(try await harness.request("GET", stop).text.contains("anna@example.org"))
            #expect(try await harness.request("POST", stop).status == 200)
            #expect(try await harness.request("POST", new, headers: ["Accept": "text/html"]).status == 404)
            _ = try await harness.mail.arrived(to: "anna@example.org", .recoverPassword)
            #expect(try await harness.request("POST", stop, headers: ["Accept": "text/html"]).status == 404, "once")
        }
    }

    @Test("X4: for seven days the address before takes a change back, also over a second one; everybody is logged out")
    func takenBack() async throws {
        try await AccountHarness.run { harness in
            let bearer = try await registered(harness)
            let person = try #require(PersonID(bearer))
            for email in ["thief@example.org", "accomplice@example.org"] {
                #expect(
                    try await harness.request("POST", "/consent/v1/profile/email", token: bearer, json: ["email": email]).status == 202)
                #expect(try await harness.request("POST", harness.link(to: email, .changeAddress)).status == 200)
            }
            let row = try #require(try await harness.row(person))
            let session = SessionID.random()
            try await harness.opened.store.write { db in
                try SessionStore().add(
                    db, session, account: row.number, label: [], address: [], limits: (false, false),
                    authentication: Authentication(at: .now, methods: [.password]), token: .random(),
                    endsAt: .now + .seconds(3600))
            }
            let addresses = harness.parts.addresses
            let late = try await harness.link(to: "thief@example.org", .addressChanged)
            await #expect(throws: (any Error).self) {
                try await addresses.undo(String(try #require(late.split(separator: "/").last)), at: .now + .seconds(7 * 24 * 3600 + 60))
            }
            let back = try await harness.link(to: "anna@example.org", .addressChanged)
            #expect(try await harness.request("POST", back).status == 200)
            let profile = try await harness.request("GET", "/consent/v1/profile", token: bearer).decoded(as: ProfileItem.self)
            #expect(profile.email == "anna@example.org")
            #expect(try await harness.count("sessions") == 0)
            _ = try await harness.mail.arrived(to: "anna@example.org", .recoverPassword)
        }
    }

    @Test("ACC-19: of two changes asked for, only the last one's link holds")
    func lastChange() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            for email in ["one@example.org", "two@example.org"] {
                _ = try await harness.request("POST", "/consent/v1/profile/email", token: person, json: ["email": email])
            }
            let (one, two) = try await (
                harness.link(to: "one@example.org", .changeAddress), harness.link(to: "two@example.org", .changeAddress)
            )
            #expect(try await harness.request("POST", one, headers: ["Accept": "text/html"]).status == 404)
            #expect(try await harness.request("POST", two).status == 200)
        }
    }

    @Test("ACC-32: the record shows every consent with version and time, newest first, in pages")
    func consents() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(
                harness, Applicant.form(["anonymousTypes": ["heart-rate"], "joinsAutomatedSOS": true, "acceptedSOSClauses": true]))
            let first = try await harness.request("GET", "/consent/v1/profile/consents?limit=3", token: person)
                .decoded(as: Page<ConsentRecordItem>.self)
            #expect(first.items.map(\.what) == [.automatedSOS, .anonymousSharing, .privacy])
            let next = try #require(first.next)
            let rest = try await harness.request("GET", "/consent/v1/profile/consents?limit=3&after=\(next)", token: person)
                .decoded(as: Page<ConsentRecordItem>.self)
            #expect(rest.items.map(\.what) == [.terms] && rest.next == nil)
            #expect((first.items + rest.items).allSatisfy { $0.given && $0.version == Conditions.version && $0.by == .person })
        }
    }

    @Test("ACC-19: a new language is told to whoever follows people")
    func language() async throws {
        try await AccountHarness.run { harness in
            let person = try await registered(harness)
            _ = try await harness.request("PATCH", "/consent/v1/profile", token: person, json: ["language": "en"])
            #expect(try await harness.facts().map(\.language) == [.italian, .english])
        }
    }

    @Test("ACC-19: a wrong change, or a link that was never mailed, took a turn in the queue of writes; both are refused beside it")
    func refusedBesideWrites() async throws {
        try await AccountHarness.run(background: false) { harness in
            let person = try await registered(harness)
            let token = String(repeating: "A", count: MailLinkStore.tokenCharacters)
            let isBeside = try await isDone(whileWriting: harness.opened.store) {
                let change = try await harness.request("PATCH", "/consent/v1/profile", token: person, json: ["weight": -1, "name": "x"])
                #expect(change.status == 422 && change.problem == "fixed-field" && Set(change.pointers) == ["/weight", "/name"])
                for name in ["confirm-address", "change-address", "undo-address"] {
                    let answer = try await harness.request("POST", "/consent/v1/\(name)/\(token)")
                    #expect(answer.status == 404, "\(name)")
                }
                let mail = try await harness.request("POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": token])
                #expect(mail.status == 404 && mail.problem == "link-not-valid")
            }
            #expect(isBeside)
        }
    }
}
