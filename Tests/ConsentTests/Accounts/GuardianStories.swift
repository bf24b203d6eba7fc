// A child's account: an adult consents on a page, refuses, or never answers (ACC-36).

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct GuardianStories {
    @Test("ACC-36: without an adult a child's registration is refused with the reason, and nothing is stored")
    func needed() async throws {
        try await AccountHarness.run { house in
            let refused = try await house.register(Applicant.child(guardian: nil))
            #expect(refused.status == 422 && refused.problem == "guardian-needed" && Set(refused.pointers) == ["/guardianEmail"])
            #expect(try await house.count("accounts") == 0)
        }
    }

    @Test("ACC-36: until the adult consents nothing is collected; then the account works and the consents name the adult")
    func consents() async throws {
        try await AccountHarness.run { house in
            let item = try await house.register(Applicant.child(["anonymousTypes": ["heart-rate"]])).decoded(as: RegistrationItem.self)
            #expect(item.state == .awaitingGuardian)
            let facts = try await house.facts()
            #expect(facts.map(\.active) == [false] && facts[0].termsVersion.isEmpty)
            let link = try await house.link(to: "mamma@example.org", .guardianConsent)
            let page = try await house.request("GET", link, headers: ["Accept-Language": "it"])
            #expect(page.status == 200 && page.text.contains("Luca Verdi") && page.text.contains("Frequenza cardiaca"))
            #expect(page.text.contains("POSIZIONE") && house.around.entries.isEmpty)
            let form = "answer=consent&name=Maria+Verdi&adult=yes&conditions=yes&anonymous=yes"
            #expect(try await house.request("POST", link, form: form).status == 200)
            #expect(try await house.row(item.person)?.state == .active)
            #expect(try await house.facts().map(\.active) == [false, true])
            try await eventually("weight and height are stored now") { house.around.entries.count == 1 }
            let records = try await house.request("GET", "/consent/v1/profile/consents", token: item.person.description)
                .decoded(as: Page<ConsentRecordItem>.self).items
            #expect(Set(records.map(\.what)) == [.terms, .privacy, .anonymousSharing])
            #expect(records.allSatisfy { $0.by == .guardian && $0.guardian == "Maria Verdi, mamma@example.org" && $0.given })
            _ = try await house.mail.arrived(to: "luca@example.org", .guardianAnswered)
            #expect(try await house.request("POST", link, form: form, headers: ["Accept": "text/html"]).status == 404)
        }
    }

    @Test("ACC-36: anonymous sharing that the adult does not tick stays off")
    func noSharing() async throws {
        try await AccountHarness.run { house in
            _ = try await house.register(Applicant.child(["anonymousTypes": ["heart-rate"]]))
            let link = try await house.link(to: "mamma@example.org", .guardianConsent)
            #expect(try await house.request("POST", link, form: "answer=consent&name=Maria&adult=yes&conditions=yes").status == 200)
            #expect(try await house.count("anonymous_sharing") == 0)
        }
    }

    @Test(
        "ACC-36: who does not say that they are an adult, accept and give their name, has not consented",
        arguments: [
            "answer=consent", "answer=consent&name=Maria&adult=yes", "answer=consent&name=Maria&conditions=yes",
            "answer=consent&adult=yes&conditions=yes",
        ])
    func incomplete(_ form: String) async throws {
        try await AccountHarness.run { house in
            let item = try await house.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let link = try await house.link(to: "mamma@example.org", .guardianConsent)
            let page = try await house.request("POST", link, form: form, headers: ["Accept": "text/html"])
            #expect(page.status == 422 && page.text.contains("role=\"alert\""))
            #expect(try await house.row(item.person)?.state == .awaitingGuardian)
        }
    }

    @Test("ACC-36: where the adult refuses nothing of the registration is left, and the child is told")
    func refuses() async throws {
        try await AccountHarness.run { house in
            let item = try await house.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let link = try await house.link(to: "mamma@example.org", .guardianConsent)
            #expect(try await house.request("POST", link, form: "answer=refuse").status == 200)
            let told = try await house.mail.arrived(to: "luca@example.org", .guardianAnswered)
            #expect(told.values["answer"] == "non ha acconsentito")
            for table in ["accounts", "jobs WHERE kind <> 'message'", "mail_links", "account_mails"] {
                #expect(try await house.count(table) == 0, "\(table)")
            }
            #expect(try house.opened.keys.key(of: item.person) == nil)
            #expect(house.around.entries.isEmpty)
            #expect(try await house.facts().map(\.active) == [false, false])
            #expect(try await house.register(Applicant.child()).status == 201)
        }
    }

    @Test("ACC-36: a registration that no adult answers in time is forgotten")
    func expires() async throws {
        try await AccountHarness.run { house in
            _ = try await house.register(Applicant.child())
            _ = try await house.register(Applicant.form())
            try await house.parts.guardians.expire(now: .now + .seconds(167 * 3600))
            #expect(try await house.count("accounts") == 2)
            try await house.parts.guardians.expire(now: .now + .seconds(169 * 3600))
            #expect(try await house.count("accounts") == 1)
        }
    }

    @Test("ACC-36: a registration whose key cannot be destroyed now is found again, and not forgotten by halves")
    func expiresWhole() async throws {
        try await AccountHarness.run { house in
            let item = try await house.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let link = try await house.link(to: "mamma@example.org", .guardianConsent)
            await house.opened.keys.close()
            await #expect(throws: StoreError.closed) { try await house.parts.guardians.expire(now: .now + .seconds(169 * 3600)) }
            #expect(try await house.row(item.person)?.state == .awaitingGuardian)
            let late = try await house.request("POST", link, form: "answer=consent&name=Maria&adult=yes&conditions=yes")
            #expect(late.status == 404, "nobody can consent any more")
        }
    }

    @Test("ACC-36: an organisation's request for a child's data is answered by the adult, once")
    func requests() async throws {
        try await AccountHarness.run { house in
            let item = try await house.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let first = try await house.link(to: "mamma@example.org", .guardianConsent)
            _ = try await house.request("POST", first, form: "answer=consent&name=Maria&adult=yes&conditions=yes")
            let people = house.parts.sharingPeople
            try await house.opened.store.write { db in
                let child = try #require(try people.withID(db, item.person, .now))
                #expect(child.needsGuardian)
                try people.askGuardian(
                    db, child, .random(), RequestDetails(organisationName: "Clinica Aurora", purpose: "Controllo"), .now + .seconds(3600))
            }
            let link = try await house.link(to: "mamma@example.org", .guardianConsent, count: 2)
            let page = try await house.request("GET", link)
            #expect(page.status == 200 && page.text.contains("Clinica Aurora") && page.text.contains("Luca Verdi"))
            #expect(try await house.request("POST", link, form: "answer=consent").status == 200)
            #expect(house.around.answersForChildren == [true])
            #expect(try await house.request("POST", link, form: "answer=consent", headers: ["Accept": "text/html"]).status == 404)
        }
    }

    @Test("ACC-36, SHR: sharing knows active people alone, by fiscal code and id, and who is a child")
    func sharingPeople() async throws {
        try await AccountHarness.run { house in
            let child = try await house.register(Applicant.child()).decoded(as: RegistrationItem.self).person
            let adult = try await house.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            let people = house.parts.sharingPeople
            try await house.opened.store.read { db in
                #expect(try people.withID(db, child, .now) == nil)
                let known = try #require(try people.withFiscalCode(db, Applicant.fiscalCode().lowercased(), .now))
                #expect(known.person == adult && known.mail == "anna@example.org" && !known.needsGuardian && known.name == "Anna")
                #expect(try people.withFiscalCode(db, "RSSMRA80A01H501U", .now) == nil)
                #expect(try people.withFiscalCode(db, "nonsense", .now) == nil)
            }
        }
    }
}
