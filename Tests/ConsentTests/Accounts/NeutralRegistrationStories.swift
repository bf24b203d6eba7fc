// Registrations that tell nobody who is registered already, where addresses are confirmed first.

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct NeutralRegistrationStories {
    private static let required = ["TRACKME_ACC_CONFIRM_REQUIRED": "true"]

    /// Everything of an answer but what is random.
    private func shape(_ response: HarnessAnswer) throws -> String {
        var item = try #require(try JSONSerialization.jsonObject(with: response.body) as? [String: Any])
        for name in ["person", "correctionToken"] { item[name] = try #require(item[name] as? String).count }
        return "\(response.status) \(try JSONSerialization.data(withJSONObject: item, options: .sortedKeys).count) \(item["state"] ?? "")"
    }

    /// A person who has registered and followed the link.
    private func registered(_ harness: AccountHarness, _ form: [String: Any] = Applicant.form()) async throws -> PersonID {
        let person = try await harness.register(form).decoded(as: RegistrationItem.self).person
        let address = try #require(form["email"] as? String)
        #expect(try await harness.request("POST", harness.link(to: address, .confirmAddress)).status == 200)
        return person
    }

    @Test("X17, CON-08: a registration told who is registered; now the answer is the same, and the owner of the address is told by mail")
    func sameAnswer() async throws {
        try await AccountHarness.run(Self.required) { harness in
            _ = try await registered(harness)
            try await eventually("what follows a registration is done") { try await harness.isQuiet() }
            let before = try await harness.countAll()
            let fresh = try await harness.register(Applicant.form(email: "fresh@example.org", surname: "Rossi"))
            let afterFresh = try await harness.countAll()
            let sameAddress = try await harness.register(Applicant.form(email: "ANNA@example.org", surname: "Bianchi"))
            let afterTaken = try await harness.countAll()
            let sameCode = try await harness.register(Applicant.form(email: "other@example.org"))
            #expect(try shape(fresh) == shape(sameAddress) && shape(fresh) == shape(sameCode))
            for table in AccountHarness.written where ![AccountHarness.messages, "account_mails"].contains(table) {
                let (one, two) = (before[table] ?? 0, afterFresh[table] ?? 0)
                #expect((afterTaken[table] ?? 0) - two == two - one, "the same rows of \(table)")
            }
            let told = try await harness.mail.arrived(to: "anna@example.org", .alreadyRegistered)
            #expect(told.values["name"] == "Anna" && told.values["link"] == AccountHarness.origin + "/consent/v1/recovery")
            #expect(harness.mail.messages(to: "ANNA@example.org").isEmpty)
            // A fiscal code is told only to whoever has confirmed an address, and to its owner.
            let refused = try await harness.request(
                "POST", harness.link(to: "other@example.org", .confirmAddress), headers: ["Accept": "application/json"])
            #expect(refused.status == 409 && refused.problem == "already-registered")
            _ = try await harness.mail.arrived(to: "anna@example.org", .alreadyRegistered, count: 2)
        }
    }

    @Test("X17: neither the state of the first mail, nor sending it again, nor a corrected address tells who is registered")
    func corrections() async throws {
        try await AccountHarness.run(Self.required) { harness in
            _ = try await registered(harness)
            let fresh = try await harness.register(Applicant.form(email: "fresh@example.org", surname: "Rossi"))
            let taken = try await harness.register(Applicant.form(email: "anna@example.org", surname: "Bianchi"))
            let tokens = try [fresh, taken].map { try $0.decoded(as: RegistrationItem.self).correctionToken }
            func ask(_ token: String, _ path: String, _ email: String? = nil) async throws -> String {
                var body = ["correctionToken": token]
                body["email"] = email
                let said = try await harness.request("POST", "/consent/v1/accounts/first-mail" + path, json: body)
                // The order of members is by chance.
                return "\(said.status) \(said.text.filter { $0.isLetter }.sorted().map(String.init).joined())"
            }
            for (path, email) in [("/state", nil), ("", nil), ("", "anna@example.org"), ("/state", nil)] {
                let answers = try await [ask(tokens[0], path, email), ask(tokens[1], path, email)]
                #expect(answers[0] == answers[1], "\(path) \(email ?? "")")
            }
            // How many mails an hour is counted alike, too.
            var statuses = ["", ""]
            for _ in 0..<AddressService.mailsPerHour {
                for side in 0..<2 { statuses[side] += try await ask(tokens[side], "").prefix(3) + " " }
            }
            #expect(statuses[0] == statuses[1] && statuses[0].contains("429"))
        }
    }

    @Test("X17, SC-17: whoever gave a sibling's address corrects it, and the account opens by the link to the own one")
    func corrected() async throws {
        try await AccountHarness.run(Self.required) { harness in
            _ = try await registered(harness)
            let item = try await harness.register(Applicant.form(email: "anna@example.org", surname: "Rossi")).decoded(
                as: RegistrationItem.self)
            let corrected = try await harness.request(
                "POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": item.correctionToken, "email": "own@example.org"])
            #expect(corrected.status == 202)
            #expect(try await harness.request("POST", harness.link(to: "own@example.org", .confirmAddress)).status == 200)
            #expect(try await harness.row(item.person)?.state == .active)
        }
    }

    @Test(
        "X13: a stranger who registers with somebody's address first has nothing of it: the first link that is followed opens the account")
    func squatted() async throws {
        try await AccountHarness.run(Self.required) { harness in
            let stranger = try await harness.register(
                Applicant.form(["password": "parola del ladro", "passwordAgain": "parola del ladro"])
            )
            .decoded(as: RegistrationItem.self).person
            let first = try await harness.link(to: "anna@example.org", .confirmAddress)
            let owner = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            let second = try await harness.link(to: "anna@example.org", .confirmAddress, count: 2)
            #expect(try await harness.request("POST", second).status == 200)
            #expect(try await harness.row(owner)?.state == .active)
            #expect(try await harness.request("POST", first, headers: ["Accept": "application/json"]).status == 409)
            #expect(try await harness.row(stranger)?.state == .unconfirmed)
            let repository = harness.parts.repository
            let found = try await harness.opened.store.read { db in
                try repository.table.find(db, email: repository.lookups.email(try #require(EmailAddress("anna@example.org"))))
            }
            #expect(found?.subject == .person(owner), "log-in and recovery find the owner alone")
            try await harness.parts.guardians.expire(now: .now + .seconds(300 * 3600))
            #expect(try await harness.count("accounts") == 1, "what nobody confirmed is forgotten")
        }
    }

    @Test("X17, ACC-36: an adult is asked for a child once the child's address is confirmed: the mail tells nobody who is registered")
    func guardian() async throws {
        try await AccountHarness.run(Self.required) { harness in
            let item = try await harness.register(Applicant.child()).decoded(as: RegistrationItem.self)
            #expect(item.state == .unconfirmed)
            #expect(try await harness.request("POST", harness.link(to: "luca@example.org", .confirmAddress)).status == 200)
            #expect(try await harness.row(item.person)?.state == .awaitingGuardian)
            let link = try await harness.link(to: "mamma@example.org", .guardianConsent)
            #expect(harness.mail.messages(to: "mamma@example.org").count == 1)
            let form = "answer=consent&name=Maria+Verdi&adult=yes&conditions=yes&anonymous=yes"
            #expect(try await harness.request("POST", link, form: form).status == 200)
            #expect(try await harness.row(item.person)?.state == .active)
        }
    }

    @Test("ACC-04: two who chose one user name before either was confirmed: the second account opens without it")
    func userName() async throws {
        try await AccountHarness.run(Self.required) { harness in
            let one = Applicant.form(["userName": "nonna"])
            let two = Applicant.form(email: "b@example.org", surname: "Rossi", ["userName": "Nonna"])
            let people = try await [harness.register(one), harness.register(two)].map { try $0.decoded(as: RegistrationItem.self).person }
            for address in ["anna@example.org", "b@example.org"] {
                #expect(try await harness.request("POST", harness.link(to: address, .confirmAddress)).status == 200)
            }
            let repository = harness.parts.repository
            let names = try await harness.opened.store.read { db in
                try people.map { person in
                    let row = try #require(try repository.table.find(db, person: person))
                    return try repository.vault.profile(row).userName?.text
                }
            }
            #expect(names == ["nonna", nil])
        }
    }
}
