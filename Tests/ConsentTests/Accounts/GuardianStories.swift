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
        try await AccountHarness.run { harness in
            let refused = try await harness.register(Applicant.child(guardian: nil))
            #expect(refused.status == 422 && refused.problem == "guardian-needed" && Set(refused.pointers) == ["/guardianEmail"])
            #expect(try await harness.count("accounts") == 0)
        }
    }

    @Test("ACC-36: until the adult consents nothing is collected; then the account works and the consents name the adult")
    func consents() async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.child(["anonymousTypes": ["heart-rate"]])).decoded(as: RegistrationItem.self)
            #expect(item.state == .awaitingGuardian)
            let facts = try await harness.facts()
            #expect(facts.map(\.active) == [false] && facts[0].termsVersion.isEmpty)
            let link = try await harness.link(to: "mamma@example.org", .guardianConsent)
            let page = try await harness.request("GET", link, headers: ["Accept-Language": "it"])
            #expect(page.status == 200 && page.text.contains("Luca Verdi") && page.text.contains("Frequenza cardiaca"))
            #expect(page.text.contains("POSIZIONE") && harness.around.entries.isEmpty)
            let form = "answer=consent&name=Maria+Verdi&adult=yes&conditions=yes&anonymous=yes"
            #expect(try await harness.request("POST", link, form: form).status == 200)
            #expect(try await harness.row(item.person)?.state == .active)
            #expect(try await harness.facts().map(\.active) == [false, true])
            try await eventually("weight and height are stored now") { harness.around.entries.count == 1 }
            let records = try await harness.request("GET", "/consent/v1/profile/consents", token: item.person.description)
                .decoded(as: Page<ConsentRecordItem>.self).items
            #expect(Set(records.map(\.what)) == [.terms, .privacy, .anonymousSharing])
            #expect(records.allSatisfy { $0.by == .guardian && $0.guardian == "Maria Verdi, mamma@example.org" && $0.given })
            _ = try await harness.mail.arrived(to: "luca@example.org", .guardianAnswered)
            #expect(try await harness.request("POST", link, form: form, headers: ["Accept": "text/html"]).status == 404)
        }
    }

    @Test("ACC-36: anonymous sharing that the adult does not tick stays off")
    func noSharing() async throws {
        try await AccountHarness.run { harness in
            _ = try await harness.register(Applicant.child(["anonymousTypes": ["heart-rate"]]))
            let link = try await harness.link(to: "mamma@example.org", .guardianConsent)
            #expect(try await harness.request("POST", link, form: "answer=consent&name=Maria&adult=yes&conditions=yes").status == 200)
            #expect(try await harness.count("anonymous_sharing") == 0)
        }
    }

    @Test(
        "ACC-36: who does not say that they are an adult, accept and give their name, has not consented",
        arguments: [
            "answer=consent", "answer=consent&name=Maria&adult=yes", "answer=consent&name=Maria&conditions=yes",
            "answer=consent&adult=yes&conditions=yes",
        ])
    func incomplete(_ form: String) async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let link = try await harness.link(to: "mamma@example.org", .guardianConsent)
            let page = try await harness.request("POST", link, form: form, headers: ["Accept": "text/html"])
            #expect(page.status == 422 && page.text.contains("role=\"alert\""))
            #expect(try await harness.row(item.person)?.state == .awaitingGuardian)
        }
    }

    @Test("ACC-36: where the adult refuses nothing of the registration is left, and the child is told")
    func refuses() async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let link = try await harness.link(to: "mamma@example.org", .guardianConsent)
            #expect(try await harness.request("POST", link, form: "answer=refuse").status == 200)
            let told = try await harness.mail.arrived(to: "luca@example.org", .guardianAnswered)
            #expect(told.values["answer"] == "non ha acconsentito")
            for table in ["accounts", "jobs WHERE kind <> 'message'", "mail_links", "account_mails"] {
                #expect(try await harness.count(table) == 0, "\(table)")
            }
            #expect(try harness.opened.keys.key(of: item.person) == nil)
            #expect(harness.around.entries.isEmpty)
            #expect(try await harness.facts().map(\.active) == [false, false])
            #expect(try await harness.register(Applicant.child()).status == 201)
        }
    }

    @Test("ACC-36: a registration that no adult answers in time is forgotten")
    func expires() async throws {
        try await AccountHarness.run { harness in
            _ = try await harness.register(Applicant.child())
            _ = try await harness.register(Applicant.form())
            try await harness.parts.guardians.expire(now: .now + .seconds(167 * 3600))
            #expect(try await harness.count("accounts") == 2)
            try await harness.parts.guardians.expire(now: .now + .seconds(169 * 3600))
            #expect(try await harness.count("accounts") == 1)
        }
    }

    @Test("ACC-36: a registration whose key cannot be destroyed now is found again, and not forgotten by halves")
    func expiresWhole() async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let link = try await harness.link(to: "mamma@example.org", .guardianConsent)
            await harness.opened.keys.close()
            await #expect(throws: StoreError.closed) { try await harness.parts.guardians.expire(now: .now + .seconds(169 * 3600)) }
            #expect(try await harness.row(item.person)?.state == .awaitingGuardian)
            let late = try await harness.request("POST", link, form: "answer=consent&name=Maria&adult=yes&conditions=yes")
            #expect(late.status == 404, "nobody can consent any more")
        }
    }

    @Test("ACC-36: an organisation's request for a child's data is answered by the adult, once")
    func requests() async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.child()).decoded(as: RegistrationItem.self)
            let first = try await harness.link(to: "mamma@example.org", .guardianConsent)
            _ = try await harness.request("POST", first, form: "answer=consent&name=Maria&adult=yes&conditions=yes")
            let people = harness.parts.sharingPeople
            try await harness.opened.store.write { db in
                let child = try #require(try people.withID(db, item.person, .now))
                #expect(child.needsGuardian)
                try people.askGuardian(
                    db, child, .random(), RequestDetails(organisationName: "Clinica Aurora", purpose: "Controllo"), .now + .seconds(3600))
            }
            let link = try await harness.link(to: "mamma@example.org", .guardianConsent, count: 2)
            let page = try await harness.request("GET", link)
            #expect(page.status == 200 && page.text.contains("Clinica Aurora") && page.text.contains("Luca Verdi"))
            #expect(try await harness.request("POST", link, form: "answer=consent").status == 200)
            #expect(harness.around.answersForChildren == [true])
            #expect(try await harness.request("POST", link, form: "answer=consent", headers: ["Accept": "text/html"]).status == 404)
        }
    }

    @Test("ACC-36, SHR: sharing knows active people alone, by fiscal code and id, and who is a child")
    func sharingPeople() async throws {
        try await AccountHarness.run { harness in
            let child = try await harness.register(Applicant.child()).decoded(as: RegistrationItem.self).person
            let adult = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            let people = harness.parts.sharingPeople
            try await harness.opened.store.read { db in
                #expect(try people.withID(db, child, .now) == nil)
                let known = try #require(try people.withFiscalCode(db, Applicant.fiscalCode().lowercased(), .now))
                #expect(known.person == adult && known.mail == "anna@example.org" && !known.needsGuardian && known.name == "Anna")
                #expect(try people.withFiscalCode(db, "RSSMRA80A01H501U", .now) == nil)
                #expect(try people.withFiscalCode(db, "nonsense", .now) == nil)
            }
        }
    }
}
