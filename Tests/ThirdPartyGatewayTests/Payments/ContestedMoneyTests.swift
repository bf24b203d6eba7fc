// Money that does not stay where it was: refunds that are refused or get lost, disputes, amounts that are not the ones asked for.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Money that does not stay where it was")
struct ContestedMoneyTests {
    private static let usual = PaymentHarness.start

    /// Accepted and paid by the scripted card, whose process is `process1`.
    private static func paid(_ harness: PaymentHarness) async throws -> PayableRequest {
        try await harness.setPrices()
        let request = try await harness.accepted()
        try await harness.pay(request)
        #expect(try await harness.isPaid(request))
        return request
    }

    private static func deliver(_ request: PayableRequest, _ harness: PaymentHarness) async throws {
        let repository = harness.parts.repository
        try await harness.store.write { db in try repository.delivered(db, request.id) }
    }

    /// A bank or the handler has done something, and a notification comes.
    private static func happens(_ standing: MoneyStatus, to harness: PaymentHarness) async throws {
        harness.card.stands(standing, "process1")
        try await harness.parts.jobs.hinted("scripted", "process1")
        try await harness.carryAll()
    }

    private static func order(
        _ harness: PaymentHarness, _ request: PayableRequest, _ event: @escaping @Sendable (inout Bill, Timestamp) throws -> [PaymentEffect]
    ) async throws {
        let (paymentStore, now) = (harness.parts.service.paymentStore, harness.now)
        let payment = try await harness.bill(request).payment
        _ = try await harness.store.write { db in try paymentStore.change(db, payment, at: now) { try event(&$0, now) } }
        try await harness.carryAll()
    }

    private static func attention(_ harness: PaymentHarness) async throws -> [PaymentAttention: Int] {
        let table = harness.parts.service.paymentStore.table
        return try await harness.store.read { db in try table.attention(db) }
    }

    // MARK: Refunds

    @Test("PAY-05: a refund that the handler refuses for good is not asked for again and again: it waits for the operator, who sees it")
    func refusedRefund() async throws {
        try await PaymentHarness.play { harness in
            let request = try await Self.paid(harness)
            harness.card.become(.keeps("charge-not-refundable"))
            try await harness.close(request, as: .revoked)
            let bill = try await harness.bill(request)
            #expect(bill.status == .refundRefused && bill.attention?.what == .refundRefused)
            #expect(bill.attention?.reason == "charge-not-refundable")
            #expect(try await harness.waiting() == 0, "nothing is repeated")
            #expect(try await Self.attention(harness) == [.refundRefused: 1])
            #expect(try await harness.isPaid(request) == false)
            #expect(try await harness.hold(request) == .givenBack)
            let listed = try await harness.parts.service.list(PaymentFilter(needsAttention: true), before: nil, limit: 10).items
            #expect(listed.map(\.stored.bill.request) == [request.id])
            // Ordered once more by the operator, and refused once more.
            let asked = harness.card.kinds().filter { $0 == .refund }.count
            try await Self.order(harness, request) { try $0.refundOrdered(at: $1) }
            #expect(try await harness.bill(request).status == .refundRefused)
            #expect(harness.card.kinds().filter { $0 == .refund }.count == asked + 1)
            // Sent back by hand, which is said once.
            try await Self.order(harness, request) { try $0.sentBack(at: $1) }
            #expect(try await harness.bill(request).status == .refunded)
            #expect(try await harness.mails().last == .paymentRefunded)
            #expect(try await Self.attention(harness).isEmpty)
            await #expect(throws: PaymentRefusal.nothingToSendBack) { try await Self.order(harness, request) { try $0.sentBack(at: $1) } }
            // What the handler says of its own refund afterwards does not ask for the money twice.
            try await Self.happens(.refundRefused(reason: "lost"), to: harness)
            #expect(try await harness.bill(request).status == .refunded)
        }
    }

    @Test("PAY-05: a refund that seemed to have arrived and failed later is seen, and comes to its end by the operator's hand")
    func lostRefund() async throws {
        try await PaymentHarness.play { harness in
            let request = try await Self.paid(harness)
            try await harness.close(request, as: .revoked)
            #expect(try await harness.bill(request).status == .refunded && harness.card.refunds == 1)
            try await Self.happens(.refundRefused(reason: "lost-or-stolen-card"), to: harness)
            #expect(try await harness.bill(request).status == .refundRefused)
            #expect(try await Self.attention(harness) == [.refundRefused: 1])
            // A notification that comes again asks the handler again, and changes nothing.
            try await Self.happens(.refundRefused(reason: "lost-or-stolen-card"), to: harness)
            try await Self.happens(.refunded, to: harness)
            #expect(try await harness.bill(request).status == .refunded)
            #expect(try await harness.invoices().map(\.kind) == [.creditNote, .invoice], "one credit note, however often it went back")
        }
    }

    @Test("PAY-09: surplus that the handler keeps leaves the payment paid, and the operator sees it; transfers that are not owed likewise")
    func surplus() throws {
        let now = Self.usual
        var bill = Self.openBill()
        _ = try bill.confirm(1, at: now)
        _ = bill.receive(.declined(reason: "x"), of: 1, at: now)
        _ = bill.receive(.ended(reason: "cancelled"), of: 1, at: now)
        _ = try bill.start(.paypal, through: "paypal", at: now)
        _ = bill.receive(.opened(reference: "o_2", step: PayerStep()), of: 2, at: now)
        _ = try bill.confirm(2, at: now)
        #expect(bill.receive(.succeeded(charge: "c_2", amount: bill.amount), of: 2, at: now) == [.paid, .release])
        #expect(bill.receive(.succeeded(charge: "ch_1", amount: bill.amount), of: 1, at: now) == [.ask(.refund, attempt: 1)])
        #expect(bill.receive(.stands(.refundRefused(reason: "why")), of: 1, at: now) == [])
        #expect(bill.status == .paid && bill.attention?.what == .refundRefused)
        #expect(try bill.sentBack(at: now) == [] && bill.status == .paid && bill.attention == nil)
        #expect(try bill.refundOrdered(at: now) == [.ask(.refund, attempt: 2)], "the payment itself is another matter")
        // A transfer that came in after all was over.
        var over = Self.openBill()
        _ = try over.abandon(at: now)
        _ = over.receive(.ended(reason: "cancelled"), of: 1, at: now)
        _ = try over.start(.bankTransfer, through: BankTransfer.name, at: now)
        _ = over.closed(as: .revoked, at: now)
        _ = over.receive(.succeeded(charge: nil), of: 2, at: now)
        #expect(over.status == .void && over.attention?.what == .sendBack)
        #expect(try over.sentBack(at: now) == [] && over.status == .void && over.attention == nil)
    }

    // MARK: Disputes

    private static func openBill() -> Bill {
        let now = usual
        var bill = Bill.byCard(at: now)
        _ = bill.receive(.opened(reference: "pi_1", step: PayerStep()), of: 1, at: now)
        _ = bill.accepted(at: now)
        return bill
    }

    @Test("PAY-04: while the payer's bank contests a charge nothing leaves; once it has decided for us it goes on without being paid twice")
    func wonDispute() async throws {
        try await PaymentHarness.play { harness in
            let request = try await Self.paid(harness)
            try await Self.deliver(request, harness)
            try await Self.happens(.disputed(reason: "fraudulent"), to: harness)
            #expect(try await harness.bill(request).status == .disputed)
            #expect(try await harness.mails().last == .paymentDisputed)
            #expect(try await harness.isPaid(request) == false)
            #expect(try await harness.hold(request) == .contested)
            #expect(try await harness.released() == [])
            #expect(try await Self.attention(harness) == [.disputed: 1])
            #expect(await problemName { try await harness.pay(request) } == "payment-over")
            await #expect(throws: PaymentRefusal.contested) { try await Self.order(harness, request) { try $0.refundOrdered(at: $1) } }
            // Notifications come again, and in any order: what holds now is asked for.
            try await Self.happens(.disputed(reason: "fraudulent"), to: harness)
            try await Self.happens(.kept, to: harness)
            #expect(try await harness.bill(request).status == .paid)
            #expect(try await harness.released() == [request.id])
            #expect(harness.card.charges == 1 && harness.card.refunds == 0)
            #expect(try await harness.invoices().map(\.kind) == [.invoice])
            #expect(try await Self.attention(harness).isEmpty)
        }
    }

    @Test("PAY-04, PAY-09: a dispute lost after something was delivered makes the amount due again; before, nothing is owed any more")
    func lostDispute() async throws {
        try await PaymentHarness.play { harness in
            let request = try await Self.paid(harness)
            try await Self.deliver(request, harness)
            try await Self.happens(.disputed(reason: "fraudulent"), to: harness)
            try await Self.happens(.lost, to: harness)
            #expect(try await harness.bill(request).status == .due)
            #expect(try await harness.mails().last == .paymentChargedBack)
            #expect(try await harness.hold(request) == nil)
            #expect(try await harness.released() == [])
            #expect(try await Self.attention(harness) == [.chargedBack: 1])
            let repository = harness.parts.repository
            #expect(
                try await harness.store.read { db in try repository.outstanding(db, PaymentHarness.organisation) }.map(\.minor) == [622])
            #expect(try await harness.pay(request, by: .paypal).stored.bill.status == .paid)
            #expect(harness.payPal.charges == 1)
            #expect(try await harness.released() == [request.id])
            #expect(try await harness.invoices().map(\.kind) == [.invoice], "the invoice stands")
            #expect(try await Self.attention(harness).isEmpty)
            // Given back by the operator, nothing is due again.
            try await Self.order(harness, request) { try $0.refundOrdered(at: $1) }
            #expect(try await harness.bill(request).status == .refunded)
        }
        try await PaymentHarness.play { harness in
            let request = try await Self.paid(harness)
            try await Self.happens(.lost, to: harness)
            #expect(try await harness.bill(request).status == .refunded)
            #expect(try await harness.hold(request) == .givenBack)
            #expect(try await harness.invoices().map(\.kind) == [.creditNote, .invoice])
            #expect(await problemName { try await harness.pay(request) } == "payment-over")
        }
    }

    @Test("PAY-09: what is withdrawn while it is contested goes back whatever the bank decides, and only once")
    func withdrawnWhileContested() async throws {
        for isWon in [true, false] {
            try await PaymentHarness.play { harness in
                let request = try await Self.paid(harness)
                try await Self.happens(.disputed(reason: "duplicate"), to: harness)
                try await harness.close(request, as: .revoked)
                #expect(try await harness.bill(request).status == .disputed && harness.card.refunds == 0)
                harness.card.stands(isWon ? .kept : .lost, "process1")
                try await harness.parts.jobs.hinted("scripted", "process1")
                let jobs = harness.parts.jobs
                let payment = try await harness.bill(request).payment
                if isWon {
                    // The review is answered, and the refund that follows is made.
                    harness.card.meanwhile.withLock { $0 = { harness.card.stands(nil, "process1") } }
                }
                try await jobs.settle(payment)
                #expect(try await harness.bill(request).status == .refunded)
                #expect(harness.card.refunds == (isWon ? 1 : 0))
                #expect(try await harness.waiting() == 0)
            }
        }
    }

    @Test("PAY-05: a refund that is refused since the bank contests the charge waits for the bank, not for ever")
    func refundOfContested() async throws {
        try await PaymentHarness.play { harness in
            let request = try await Self.paid(harness)
            harness.card.stands(.disputed(reason: "fraudulent"), "process1")
            try await harness.close(request, as: .revoked)
            #expect(try await harness.bill(request).status == .disputed)
            #expect(try await harness.waiting() == 0)
            try await Self.happens(.lost, to: harness)
            #expect(try await harness.bill(request).status == .refunded, "the payer has the money back, by the bank")
        }
    }

    // MARK: Amounts

    @Test(
        "PAY-09: a charge of another amount or currency than was asked for pays nothing, goes back and is seen",
        arguments: [Amount(minor: 623, currency: "EUR"), Amount(minor: 100, currency: "EUR"), Amount(minor: 622, currency: "USD")])
    func otherAmount(taken: Amount) async throws {
        try await PaymentHarness.playAccepted { harness, request in
            harness.card.become(.takes(taken))
            #expect(await problemName { try await harness.pay(request) } == "payment-declined")
            #expect(try await harness.isPaid(request) == false)
            #expect(try await harness.released() == [])
            #expect(try await harness.mails() == [.paymentFailed])
            #expect(try await harness.messages().first?.values["reason"] == "amount-differs")
            try await harness.carryAll()
            let bill = try await harness.bill(request)
            #expect(bill.status == .due && bill.attempts[0].state == .refunded && harness.card.refunds == 1)
            let back = harness.card.state.withLock { $0.calls.last { $0.kind == .refund }?.amount }
            #expect(back == taken, "what was taken goes back, not what was asked for")
            harness.card.become(.willing)
            #expect(try await harness.pay(request).stored.bill.status == .paid)
            #expect(try await harness.invoices().count == 1)
        }
    }

    @Test("PAY-02: a process that the handler has opened about another amount is called off before anybody sees it")
    func openedForAnother() {
        let now = Self.usual
        var bill = Bill.byCard(at: now)
        let word = ProviderStatus.opened(reference: "pi_1", step: PayerStep(), amount: Amount(minor: 62200, currency: "EUR"))
        #expect(bill.receive(word, of: 1, at: now) == [.ask(.cancel, attempt: 1), .notify(.notFeasible(reason: "amount-differs"))])
        #expect(bill.isFeasible == false && bill.attention?.what == .amountDiffers)
        _ = bill.receive(.ended(reason: "cancelled"), of: 1, at: now)
        #expect(bill.attempts[0].state == .failed && bill.attention == nil)
    }

    // MARK: What is remembered

    @Test("PAY-07: what became of each way of paying is remembered with its times, through restarts")
    func history() async throws {
        try await PaymentHarness.play { harness in
            let request = try await Self.paid(harness)
            harness.pass(.seconds(60))
            try await Self.happens(.disputed(reason: "fraudulent"), to: harness)
            try await harness.restart()
            let marks = try await harness.bill(request).attempts[0].marks ?? []
            #expect(marks.map(\.state) == [.opening, .open, .confirming, .succeeded, .disputed])
            #expect(marks.last?.at == PaymentHarness.start + .seconds(60) && marks.last?.reason == "fraudulent")
            #expect(marks.first?.at == PaymentHarness.start)
        }
    }

    @Test("PAY-05: a call that was put off by a clock that has been set back since is made all the same")
    func clockSetBack() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            harness.card.become(.losesAnswers)
            harness.pass(.seconds(86_400))
            try await harness.pay(request)
            harness.clock.withLock { $0 = PaymentHarness.start }
            let (jobs, now) = (harness.parts.service.paymentStore.jobs, harness.now)
            #expect(try await harness.store.read { db in try jobs.due(db, at: now, longest: .seconds(300), limit: 10) }.count == 1)
        }
    }
}
