// What third parties see of money, from the quote to the invoice, on the real store.

import Contracts
import Foundation
import GRDB
import HTTPKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Payments")
struct PaymentStories {
    @Test("PAY-02, PAY-03, PAY-04: a process at submission, due at acceptance, data only once paid, receipt and invoice")
    func life() async throws {
        try await PaymentHarness.playWithPrices { harness in
            let request = try await harness.request()
            #expect(harness.card.kinds() == [.open] && harness.card.charges == 0)
            #expect(try await harness.bill(request).isFeasible == true)
            #expect(await problemName { try await harness.pay(request) } == "payment-not-due")
            try await harness.accept(request)
            #expect(try await harness.isPaid(request) == false && harness.card.charges == 0)
            let shown = try await harness.pay(request)
            #expect(shown.stored.bill.status == .paid && shown.invoice == InvoiceNumber(year: 2026, number: 1))
            #expect(try await harness.isPaid(request) && harness.card.charges == 1)
            #expect(try await harness.released() == [request.id])
            #expect(try await harness.mails() == [.paymentReceived])
            #expect(try await harness.messages().first?.values["amount"] == "6.22 EUR")
            // Paying again pays nothing.
            #expect(try await harness.pay(request).stored.bill.status == .paid)
            #expect(harness.card.charges == 1)
            #expect(try await harness.mails() == [.paymentReceived])
            let invoice = try await harness.invoices()
            #expect(invoice.count == 1 && invoice[0].content.buyer.name == "Cardiolab" && invoice[0].content.quote.perPerson.minor == 622)
        }
    }

    @Test("CON-25: what costs nothing is paid with its acceptance, without a handler and without an invoice")
    func free() async throws {
        try await PaymentHarness.play { harness in
            let request = try await harness.request()
            #expect(try await harness.isPaid(request) == false)
            try await harness.accept(request)
            #expect(try await harness.isPaid(request))
            #expect(try await harness.released() == [request.id])
            #expect(harness.card.kinds().isEmpty)
            #expect(try await harness.mails().isEmpty)
            #expect(try await harness.invoices().isEmpty)
        }
    }

    @Test("PAY-02: not feasible is told, the request goes on, and another method can be taken")
    func notFeasible() async throws {
        try await PaymentHarness.playWithPrices { harness in
            harness.card.become(.refusesToOpen("amount-too-small"))
            let request = try await harness.request()
            #expect(try await harness.bill(request).isFeasible == false)
            #expect(try await harness.mails() == [.paymentNotFeasible])
            try await harness.accept(request)
            let shown = try await harness.pay(request, by: .bankTransfer, token: nil)
            #expect(shown.stored.bill.status == .due)
            let step = try #require(shown.stored.bill.live?.step)
            #expect(step.iban?.hasPrefix("IT60") == true && step.transferReference == BankTransfer.reference(shown.stored.bill.payment))
        }
    }

    @Test("PAY-09: paying that somebody called off meanwhile was told as declined by the handler, who had declined nothing")
    func calledOffMeanwhile() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            let (payment, now, store) = (try await harness.bill(request).payment, harness.now, harness.store)
            let paymentStore = harness.parts.service.paymentStore
            _ = try await harness.parts.service.abandon(payment, of: request.organisation)
            func meanwhile(_ event: @escaping @Sendable (inout Bill) throws -> [PaymentEffect]) {
                harness.card.meanwhile.withLock {
                    $0 = { _ = try? await store.write { db in try paymentStore.change(db, payment, at: now, event) } }
                }
            }
            meanwhile { try $0.abandon(at: now) }
            #expect(await problemName { try await harness.pay(request) } == "payment-under-way")
            #expect(harness.card.charges == 0)
            // The request itself is over.
            meanwhile { $0.closed(as: .declined, at: now) }
            #expect(await problemName { try await harness.pay(request) } == "payment-over")
            #expect(harness.card.charges == 0)
        }
    }

    @Test("PAY-05: a declined charge says why and costs nothing; another card or method is taken")
    func declined() async throws {
        try await PaymentHarness.playAccepted { (harness, request) async throws in
            harness.card.become(.declines("insufficient-funds"))
            #expect(await problemName { try await harness.pay(request) } == "payment-declined")
            #expect(try await harness.messages().last?.values["reason"] == "insufficient-funds")
            #expect(try await harness.bill(request).status == .due && harness.card.charges == 0)
            harness.card.become(.willing)
            #expect(try await harness.pay(request).stored.bill.status == .paid)
            #expect(harness.card.charges == 1)
        }
    }

    @Test("PAY-05, NFR-20: a handler that cannot be reached leaves the amount due, with another try or another method")
    func unreachable() async throws {
        try await PaymentHarness.playWithPrices { harness in
            harness.card.become(.away)
            let request = try await harness.accepted()
            #expect(await problemName { try await harness.pay(request) } == "payment-handler-unreachable")
            #expect(try await harness.bill(request).status == .due)
            // The same way once it is back…
            harness.card.become(.willing)
            #expect(try await harness.pay(request).stored.bill.status == .paid && harness.card.charges == 1)
            // … or another one while it is away.
            harness.card.become(.away)
            let second = try await harness.accepted()
            #expect(try await harness.pay(second, by: .paypal).stored.bill.status == .paid)
            #expect(harness.payPal.charges == 1)
        }
    }

    @Test("PAY-09: the gateway is killed between the call and its answer: the amount is charged once")
    func killed() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            let store = harness.store
            // The handler has charged; nothing more reaches the disk of the process that asked for it.
            harness.card.meanwhile.withLock { $0 = nil }
            let payment = try await harness.bill(request).payment
            let paymentStore = harness.parts.service.paymentStore
            let now = harness.now
            _ = try await store.write { db in
                try paymentStore.change(db, payment, token: "pm_token", at: now) { try $0.confirm(1, at: now) }
            }
            harness.card.meanwhile.withLock { $0 = { await store.close() } }
            await #expect(throws: (any Error).self) { try await harness.parts.jobs.settle(payment) }
            #expect(harness.card.charges == 1)
            try await harness.restart()
            #expect(try await harness.isPaid(request) == false)
            try await harness.parts.jobs.settle(payment)
            #expect(try await harness.isPaid(request) && harness.card.charges == 1)
            let confirmations = harness.card.state.withLock { $0.calls.filter { $0.kind == .confirm } }
            #expect(confirmations.count == 2 && Set(confirmations.map(\.key)).count == 1 && confirmations[1].token == "pm_token")
            #expect(try await harness.waiting() == 0)
            #expect(try await harness.released() == [request.id])
        }
    }

    @Test("PAY-09: answers that are lost are asked for again under the same key, with growing pauses")
    func lostAnswers() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            harness.card.become(.losesAnswers)
            let shown = try await harness.pay(request)
            #expect(shown.stored.bill.live?.state == .confirming && shown.stored.bill.status == .due)
            #expect(await problemName { try await harness.pay(request, by: .paypal) } == "payment-under-way")
            harness.card.become(.willing)
            let jobs = harness.parts.service.paymentStore.jobs
            let (at, later) = (harness.now, harness.now + .seconds(600))
            #expect(try await harness.store.read { db in try jobs.due(db, at: at, longest: .seconds(300), limit: 10) }.isEmpty)
            #expect(try await harness.store.read { db in try jobs.due(db, at: later, longest: .seconds(300), limit: 10) }.count == 1)
            try await harness.carryAll()
            #expect(try await harness.isPaid(request) && harness.card.charges == 1)
        }
    }

    @Test("PAY-09: a notification that comes again, late or for nobody has no effect")
    func notifications() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            let shown = try await harness.pay(request, token: nil)
            #expect(shown.stored.bill.status == .due && shown.stored.bill.live?.step?.clientSecret == "process1_secret")
            harness.card.payerPays("process1")
            for _ in 0..<3 { try await harness.parts.jobs.receive("scripted", "process1", .succeeded(charge: "c")) }
            try await harness.parts.jobs.receive("scripted", "process1", .declined(reason: "late"))
            try await harness.parts.jobs.receive("scripted", "process99", .succeeded(charge: "c"))
            try await harness.parts.jobs.receive("other", "process1", .ended(reason: "x"))
            #expect(try await harness.isPaid(request))
            #expect(try await harness.released() == [request.id])
            #expect(try await harness.mails() == [.paymentReceived])
            #expect(try await harness.invoices().count == 1)
        }
    }

    @Test("PAY-09: where no notification comes, the handler is asked what became of it")
    func watched() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            try await harness.pay(request, token: nil)
            harness.card.payerPays("process1")
            try await harness.parts.jobs.checkAll()
            try await harness.carryAll()
            #expect(try await harness.isPaid(request) && harness.card.kinds().last == .look)
        }
    }

    @Test("PAY-09: declined, expired and withdrawn requests cost nothing, and their processes are called off")
    func closed() async throws {
        try await PaymentHarness.playWithPrices { harness in
            for outcome in [RequestStatus.declined, .expired, .revoked] {
                let request = try await harness.request()
                if outcome == .revoked { try await harness.accept(request) }
                try await harness.close(request, as: outcome)
                #expect(try await harness.bill(request).status == .void && harness.card.kinds().last == .cancel)
                #expect(await problemName { try await harness.pay(request) } == "payment-over")
            }
            #expect(harness.card.charges == 0)
            #expect(try await harness.invoices().isEmpty)
        }
    }

    @Test("SHR-25: what the third party itself has ended stays due and is shown as a debt")
    func debts() async throws {
        try await PaymentHarness.playWithPrices { harness in
            for _ in 0..<2 {
                let request = try await harness.accepted()
                try await harness.close(request, as: .ended)
                #expect(try await harness.bill(request).status == .due)
            }
            let repository = harness.parts.repository
            let owed = try await harness.store.read { db in try repository.outstanding(db, PaymentHarness.organisation) }
            #expect(owed == [Amount(minor: 1244, currency: "EUR")])
            #expect(try await harness.store.read { db in try repository.outstanding(db, OrganisationID(bits: 5)) } == [])
        }
    }

    @Test("CON-21: what is withdrawn after payment goes back with a credit note, unless something was delivered")
    func refunds() async throws {
        try await PaymentHarness.playWithPrices { harness in
            let repository = harness.parts.repository
            let (kept, returned, empty) = (try await harness.request(), try await harness.request(), try await harness.request())
            for request in [kept, returned, empty] {
                try await harness.accept(request)
                try await harness.pay(request)
            }
            try await harness.store.write { db in try repository.delivered(db, kept.id) }
            try await harness.close(kept, as: .revoked)
            #expect(try await harness.bill(kept).status == .paid)
            try await harness.close(returned, as: .revoked)
            try await harness.store.write { db in try repository.undeliverable(db, empty.id) }
            try await harness.carryAll()
            for request in [returned, empty] {
                #expect(try await harness.bill(request).status == .refunded)
                #expect(try await harness.isPaid(request) == false)
            }
            #expect(harness.card.refunds == 2)
            #expect(try await harness.mails().suffix(2) == [.paymentRefunded, .paymentRefunded])
            let invoices = try await harness.invoices()
            #expect(invoices.map(\.number.number) == [5, 4, 3, 2, 1])
            #expect(invoices.prefix(2).allSatisfy { $0.kind == .creditNote && $0.content.takesBack != nil })
        }
    }

    @Test("PAY-06: invoices of a year are numbered without gaps, whatever was undone in between")
    func numbers() async throws {
        try await PaymentHarness.playWithPrices { harness in
            for index in 0..<6 {
                if index == 3 { harness.clock.withLock { $0 = Timestamp(milliseconds: 1_798_761_600_000) } }  // 2027-01-01
                let request = try await harness.accepted()
                struct Undone: Error {}
                let payment = try await harness.bill(request).payment
                let (paymentStore, now) = (harness.parts.service.paymentStore, harness.now)
                await #expect(throws: Undone.self) {
                    try await harness.store.write { db in
                        try paymentStore.change(db, payment, at: now) { $0.receive(.succeeded(charge: nil), of: 1, at: now) }
                        throw Undone()
                    }
                }
                try await harness.pay(request)
            }
            #expect(
                try await harness.invoices().map(\.number.description) == [
                    "2027-000003", "2027-000002", "2027-000001", "2026-000003", "2026-000002", "2026-000001",
                ])
        }
    }

    @Test("PAY-01: a quote names its list; the price of a request stays when the list changes, and an old quote is honoured for a time")
    func versions() async throws {
        try await PaymentHarness.playWithPrices { harness in
            let first = try await harness.request()
            var dearer = PaymentSamples.prices
            dearer.perRequest = 5000
            harness.pass(.seconds(60))
            try await harness.setPrices(dearer)
            try await harness.accept(first)
            let kept = try await harness.bill(first)
            #expect(kept.amount.minor == 622 && kept.priceListVersion == 1)
            let repository = harness.parts.repository
            let scope = first.scope
            #expect(try await harness.store.read { db in try repository.quote(db, scope) }.priceListVersion == 2)
            let honoured = PayableRequest(id: .random(), organisation: PaymentHarness.organisation, scope: scope)
            try await harness.store.write { db in try repository.opened(db, honoured, priceListVersion: 1) }
            #expect(try await harness.bill(honoured).amount.minor == 622)
            #expect(
                await problemName { try await harness.store.read { db in try repository.check(db, scope, persons: 1, version: 1) } } == nil)
            harness.pass(.seconds(24 * 3600))
            for version in [1, 3, -1] {
                #expect(
                    await problemName {
                        try await harness.store.read { db in try repository.check(db, scope, persons: 1, version: version) }
                    }
                        == "price-changed")
            }
            // What was agreed to in time holds, however long it took to reach the person.
            let late = PayableRequest(id: .random(), organisation: PaymentHarness.organisation, scope: scope)
            try await harness.store.write { db in try repository.opened(db, late, priceListVersion: 1) }
            #expect(try await harness.bill(late).amount.minor == 622)
        }
    }

    @Test("PAY-08: a handler's token and secrets are in no file, before the answer and after it")
    func sealed() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            harness.card.become(.losesAnswers)
            try await harness.pay(request, token: "pm_canary4242")
            let hunt = CanaryHunt(texts: ["pm_canary4242", "process1_secret", "Cardiolab", "Via Larga 1"], numbers: [])
            #expect(try await harness.waiting() == 1)
            #expect(hunt.findings(in: harness.folder).found == [])
            harness.card.become(.willing)
            try await harness.carryAll()
            #expect(try await harness.isPaid(request))
            let (found, files, _) = hunt.findings(in: harness.folder)
            #expect(found == [] && files > 2)
        }
    }

    @Test("pay.when: due at submission, or never anything to pay")
    func whenDue() async throws {
        try await PaymentHarness.playWithPrices(["TRACKME_PAY_WHEN": "on_submit"]) { harness in
            let request = try await harness.request()
            #expect(try await harness.pay(request).stored.bill.status == .paid)
            #expect(try await harness.released() == [], "CON-20: data leave only after the acceptance")
            try await harness.accept(request)
            #expect(try await harness.released() == [request.id])
            let declined = try await harness.request()
            try await harness.pay(declined)
            try await harness.close(declined, as: .declined)
            #expect(try await harness.bill(declined).status == .refunded && harness.card.refunds == 1)
        }
        try await PaymentHarness.playWithPrices(["TRACKME_PAY_WHEN": "free"]) { harness in
            let request = try await harness.accepted()
            #expect(try await harness.isPaid(request))
            #expect(try await harness.bill(request).amount.isNothing)
        }
    }
}
