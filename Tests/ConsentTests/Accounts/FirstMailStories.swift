// The first mail and the address it goes to: confirmed, corrected, sent again.

import Contracts
import Foundation
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

struct FirstMailStories {
    @Test("ACC-07: looking at the link changes nothing; its button confirms the address, once")
    func confirms() async throws {
        try await AccountHarness.run { harness in
            let person = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            let link = try await harness.link(to: "anna@example.org", .accountCreated)
            for _ in 0..<3 {
                let page = try await harness.request("GET", link, headers: ["Accept-Language": "it"])
                #expect(page.status == 200 && page.text.contains("anna@example.org") && page.text.contains("Confermo"))
            }
            #expect(try await harness.row(person)?.addressConfirmedAt == nil)
            let done = try await harness.request("POST", link, headers: ["Accept-Language": "en"])
            #expect(done.status == 200 && done.text.contains("Thank you"))
            #expect(try await harness.row(person)?.addressConfirmedAt != nil)
            let again = try await harness.request("POST", link, headers: ["Accept": "text/html", "Accept-Language": "it"])
            #expect(again.status == 404 && again.text.contains("non vale"))
        }
    }

    @Test("CON-04: where it is required, the account works once the link was followed and not before")
    func required() async throws {
        try await AccountHarness.run(["TRACKME_ACC_CONFIRM_REQUIRED": "true"]) { harness in
            let item = try await harness.register(Applicant.form(["joinsAutomatedSOS": true, "acceptedSOSClauses": true]))
                .decoded(as: RegistrationItem.self)
            #expect(item.state == .unconfirmed && item.automatedSOS.status == .asked)
            #expect(harness.around.subscriptions.isEmpty)
            #expect(try await harness.facts().map(\.active) == [false])
            #expect(harness.mail.messages(to: "anna@example.org", .accountCreated).isEmpty)
            let confirmed = try await harness.request("POST", harness.link(to: "anna@example.org", .confirmAddress))
            #expect(confirmed.status == 200)
            #expect(try await harness.row(item.person)?.state == .active)
            #expect(try await harness.facts().map(\.active) == [false, true])
            try await eventually("entries and supervision are asked for") {
                harness.around.entries.count == 1 && harness.around.subscriptions.count == 1
            }
        }
    }

    @Test("ACC-07: the mail is sent again on request, a few times an hour")
    func again() async throws {
        try await AccountHarness.run { harness in
            let token = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).correctionToken
            for _ in 1..<AddressService.mailsPerHour {
                #expect(
                    try await harness.request("POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": token]).status == 202)
            }
            let limited = try await harness.request("POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": token])
            #expect(limited.status == 429)
            _ = try await harness.mail.arrived(to: "anna@example.org", .confirmAddress, count: AddressService.mailsPerHour - 1)
        }
    }

    @Test("ACC-07: a mistyped address is corrected without logging in; the link to the old one confirms nothing")
    func corrects() async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.form(email: "ana@example.org")).decoded(as: RegistrationItem.self)
            let old = try await harness.link(to: "ana@example.org", .accountCreated)
            let corrected = try await harness.request(
                "POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": item.correctionToken, "email": "anna@example.org"])
            #expect(corrected.status == 202)
            #expect(try await harness.request("POST", old, headers: ["Accept": "text/html"]).status == 404)
            #expect(try await harness.row(item.person)?.addressConfirmedAt == nil)
            let new = try await harness.link(to: "anna@example.org", .confirmAddress)
            #expect(try await harness.request("POST", new).status == 200)
            #expect(try await harness.row(item.person)?.addressConfirmedAt != nil)
            // The old address is free again, and a confirmed one is not corrected any more.
            #expect(try await harness.register(Applicant.form(email: "ana@example.org", surname: "Rossi")).status == 201)
            let late = try await harness.request(
                "POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": item.correctionToken, "email": "c@example.org"])
            #expect(late.status == 409 && late.problem == "address-already-confirmed")
        }
    }

    @Test("ACC-04: a correction to an address in use is refused, and so are nonsense and a token of nobody")
    func correctionRefused() async throws {
        try await AccountHarness.run { harness in
            _ = try await harness.register(Applicant.form())
            let token = try await harness.register(Applicant.form(email: "b@example.org", surname: "Rossi"))
                .decoded(as: RegistrationItem.self).correctionToken
            func correct(_ token: String, _ email: String) async throws -> HarnessAnswer {
                try await harness.request("POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": token, "email": email])
            }
            // Without a confirmation the account is open already, and the person is told at once.
            #expect(try await correct(token, "Anna@example.org").problem == "email-in-use")
            #expect(try await correct(token, "not an address").status == 422)
            #expect(try await correct(String(token.reversed()), "c@example.org").problem == "link-not-valid")
            #expect(try await correct("short", "c@example.org").status == 422)
        }
    }

    @Test("ACC-07: mail that cannot be delivered is shown to the person")
    func undeliverable() async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self)
            let message = try await harness.mail.arrived(to: "anna@example.org", .accountCreated)
            func state() async throws -> FirstMailItem {
                try await harness.request(
                    "POST", "/consent/v1/accounts/first-mail/state", json: ["correctionToken": item.correctionToken]
                ).decoded()
            }
            #expect(try await state().address.failedAt == nil)
            let settled = MessageSettled(message: message.message, channel: .mail, state: .failed, reason: "address-refused")
            let mail = harness.parts.repository.mail
            try await harness.opened.store.write { db in try mail.settled(db, settled, at: .now) }
            #expect(try await state().address.failedAt != nil)
            let corrected = try await harness.request(
                "POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": item.correctionToken, "email": "anna2@example.org"])
            #expect(corrected.status == 202)
            #expect(try await state().address.failedAt == nil)
        }
    }

    @Test("ACC-07: news of a mail to an earlier address says nothing of the present one")
    func lateNews() async throws {
        try await AccountHarness.run { harness in
            let item = try await harness.register(Applicant.form(email: "ana@example.org")).decoded(as: RegistrationItem.self)
            let message = try await harness.mail.arrived(to: "ana@example.org", .accountCreated)
            _ = try await harness.request(
                "POST", "/consent/v1/accounts/first-mail", json: ["correctionToken": item.correctionToken, "email": "anna@example.org"])
            let mail = harness.parts.repository.mail
            try await harness.opened.store.write { db in
                try mail.settled(db, MessageSettled(message: message.message, channel: .mail, state: .failed, reason: "expired"), at: .now)
            }
            #expect(try await harness.row(item.person)?.addressFailedAt == nil)
        }
    }
}
