// The machine of one payment: every transition that matters, one by one.

import Contracts
import Testing

@testable import ThirdPartyGateway

private let now = Timestamp(milliseconds: 1_767_312_000_000)

private func bill(_ minor: Int64 = 1000) -> Bill {
    Bill(
        payment: PaymentID(bits: 1), request: RequestID(bits: 2), organisation: OrganisationID(bits: 3),
        amount: Amount(minor: minor, currency: "EUR"), priceListVersion: 1, at: now)
}

/// Accepted, with a process that is open at Stripe.
private func openBill() -> Bill {
    var bill = bill()
    _ = bill.submitted(paidBy: .card, through: "stripe", at: now)
    _ = bill.receive(.opened(reference: "pi_1", step: PayerStep(clientSecret: "s")), of: 1, at: now)
    _ = bill.accepted(at: now)
    return bill
}

private func paidBill() throws -> Bill {
    var bill = openBill()
    _ = try bill.confirm(1, at: now)
    _ = bill.receive(.succeeded(charge: "ch_1"), of: 1, at: now)
    return bill
}

@Suite("Payments as a machine")
struct BillTests {
    @Test("PAY-02: submission opens a process with the handler and charges nothing; its answer says whether it is feasible")
    func feasibility() {
        var one = bill()
        #expect(one.submitted(paidBy: .card, through: "stripe", at: now) == [.ask(.open, attempt: 1)])
        #expect(one.isFeasible == nil && one.status == .notDue)
        #expect(one.receive(.opened(reference: "pi_1", step: PayerStep()), of: 1, at: now) == [])
        #expect(one.isFeasible == true)
        var other = bill()
        _ = other.submitted(paidBy: .card, through: "stripe", at: now)
        #expect(other.receive(.ended(reason: "amount-too-small"), of: 1, at: now) == [.notify(.notFeasible(reason: "amount-too-small"))])
        #expect(other.isFeasible == false && other.status == .notDue)
        // The request goes on, and another method can be taken.
        #expect(other.accepted(at: now) == [] && other.status == .due)
        #expect(throws: Never.self) {
            guard case .attempt(2, [.ask(.open, attempt: 2)]) = try other.start(.bankTransfer, through: "bank-transfer", at: now) else {
                Issue.record("another method begins an attempt")
                return
            }
        }
    }

    @Test("PAY-03, CON-25: acceptance makes the amount due; what costs nothing is paid at once")
    func acceptance() {
        var one = bill()
        #expect(throws: PaymentRefusal.notDueYet) { try one.start(.card, through: "stripe", at: now) }
        #expect(one.accepted(at: now) == [] && one.status == .due)
        #expect(one.accepted(at: now) == [] && one.status == .due)
        var free = bill(0)
        #expect(free.submitted(paidBy: .card, through: "stripe", at: now) == [])
        #expect(free.accepted(at: now) == [.release] && free.status == .paid)
        #expect(free.accepted(at: now) == [])
    }

    @Test("CON-20: an amount that is due at submission can be paid before the acceptance; data leave only after it")
    func dueAtSubmission() throws {
        var early = bill()
        _ = early.submitted(paidBy: .card, through: "stripe", at: now)
        _ = early.becameDue(at: now)
        _ = early.receive(.opened(reference: "pi_1", step: PayerStep()), of: 1, at: now)
        _ = try early.confirm(1, at: now)
        #expect(early.receive(.succeeded(charge: nil), of: 1, at: now) == [.paid])
        #expect(early.accepted(at: now) == [.release])
        var declined = bill()
        _ = declined.submitted(paidBy: .card, through: "stripe", at: now)
        _ = declined.becameDue(at: now)
        _ = declined.receive(.opened(reference: "pi_1", step: PayerStep()), of: 1, at: now)
        _ = try declined.confirm(1, at: now)
        _ = declined.receive(.succeeded(charge: nil), of: 1, at: now)
        #expect(declined.closed(as: .declined, at: now) == [.ask(.refund, attempt: 1)] && declined.status == .refunding)
    }

    @Test("PAY-05: a charge that is declined ends its attempt with the handler's reason; another method can be taken")
    func declined() throws {
        var one = openBill()
        #expect(try one.confirm(1, at: now) == [.ask(.confirm, attempt: 1)])
        #expect(try one.confirm(1, at: now) == [], "told once")
        #expect(
            one.receive(.declined(reason: "insufficient-funds"), of: 1, at: now)
                == [.ask(.cancel, attempt: 1), .notify(.failed(reason: "insufficient-funds"))])
        #expect(try one.start(.paypal, through: "paypal", at: now) == .wait([]))
        _ = one.receive(.ended(reason: "cancelled"), of: 1, at: now)
        #expect(one.attempts[0].state == .failed && one.attempts[0].reason == "insufficient-funds" && one.status == .due)
        #expect(try one.start(.paypal, through: "paypal", at: now) == .attempt(2, [.ask(.open, attempt: 2)]))
    }

    @Test("PAY-05: a handler that did not answer the opening does not keep the payer from another method")
    func unreachable() throws {
        var one = bill()
        _ = one.accepted(at: now)
        #expect(try one.start(.card, through: "stripe", at: now) == .attempt(1, [.ask(.open, attempt: 1)]))
        #expect(one.receive(.unreachable, of: 1, at: now) == [] && one.status == .due)
        #expect(try one.start(.card, through: "stripe", at: now) == .attempt(1, []), "the same way again is the same attempt")
        #expect(try one.start(.bankTransfer, through: "bank-transfer", at: now) == .attempt(2, [.ask(.open, attempt: 2)]))
        #expect(one.receive(.opened(reference: "pi_late", step: PayerStep()), of: 1, at: now) == [])
        #expect(one.live?.number == 2)
    }

    @Test("PAY-09: while a charge may be under way no other one begins, and what was called off may still have charged")
    func underWay() throws {
        var one = openBill()
        _ = try one.confirm(1, at: now)
        #expect(throws: PaymentRefusal.underWay) { try one.start(.paypal, through: "paypal", at: now) }
        #expect(throws: PaymentRefusal.underWay) { try one.transferred(at: now) }
        #expect(throws: PaymentRefusal.underWay) { try one.abandon(at: now) }
        var other = openBill()
        #expect(try other.start(.paypal, through: "paypal", at: now) == .wait([.ask(.cancel, attempt: 1)]))
        #expect(other.receive(.succeeded(charge: "ch_1"), of: 1, at: now) == [.paid, .release])
        #expect(throws: PaymentRefusal.alreadyPaid) { try other.start(.paypal, through: "paypal", at: now) }
    }

    @Test("PAY-09: a repeated or late word of the handler has no effect")
    func repeated() throws {
        var one = try paidBill()
        let before = one
        for word: ProviderStatus in [
            .succeeded(charge: "ch_1"), .declined(reason: "x"), .ended(reason: "cancelled"), .approved, .needsPayer(nil), .pending,
            .unreachable, .opened(reference: "pi_2", step: PayerStep()),
        ] {
            #expect(one.receive(word, of: 1, at: now + .seconds(1)) == [])
        }
        #expect(one.receive(.succeeded(charge: "ch_1"), of: 7, at: now) == [])
        #expect(one == before)
    }

    @Test(
        "PAY-09: what is declined, expired or withdrawn before anything left costs nothing",
        arguments: [RequestStatus.declined, .expired, .revoked, .ended])
    func closedUnpaid(outcome: RequestStatus) {
        var pending = bill()
        _ = pending.submitted(paidBy: .card, through: "stripe", at: now)
        _ = pending.receive(.opened(reference: "pi_1", step: PayerStep()), of: 1, at: now)
        #expect(pending.closed(as: outcome, at: now) == [.ask(.cancel, attempt: 1)] && pending.status == .void)
        #expect(pending.closed(as: outcome, at: now) == [])
        #expect(pending.accepted(at: now) == [] && pending.status == .void)
        // A charge that was on its way goes back.
        #expect(pending.receive(.succeeded(charge: "ch_1"), of: 1, at: now) == [.ask(.refund, attempt: 1)])
        #expect(pending.receive(.refunded, of: 1, at: now) == [] && pending.status == .void)
    }

    @Test("SHR-25, CON-21: what the third party ends stays due; what is withdrawn goes back unless something was delivered")
    func closedAccepted() throws {
        var due = openBill()
        #expect(due.closed(as: .ended, at: now) == [] && due.status == .due)
        #expect(due.closed(as: .revoked, at: now) == [.ask(.cancel, attempt: 1)] && due.status == .void)
        var paid = try paidBill()
        #expect(paid.closed(as: .ended, at: now) == [] && paid.status == .paid)
        #expect(paid.closed(as: .revoked, at: now) == [.ask(.refund, attempt: 1)] && paid.status == .refunding)
        #expect(paid.receive(.refunded, of: 1, at: now) == [.refunded] && paid.status == .refunded)
        #expect(paid.receive(.refunded, of: 1, at: now) == [])
        var delivered = try paidBill()
        delivered.delivered(at: now)
        #expect(delivered.closed(as: .revoked, at: now) == [] && delivered.undeliverable(at: now) == [] && delivered.status == .paid)
        var empty = try paidBill()
        #expect(empty.undeliverable(at: now) == [.ask(.refund, attempt: 1)])
    }

    @Test("PAY-06: a transfer is paid by the operator's word, once, and given back by the operator's word")
    func transfer() throws {
        var one = bill()
        #expect(throws: PaymentRefusal.notDueYet) { try one.transferred(at: now) }
        _ = one.accepted(at: now)
        _ = try one.start(.bankTransfer, through: BankTransfer.name, at: now)
        #expect(try one.transferred(at: now) == [.paid, .release])
        #expect(try one.transferred(at: now) == [])
        #expect(one.undeliverable(at: now) == [] && one.status == .refunding)
        #expect(try one.refundOrdered(at: now) == [.refunded] && one.status == .refunded)
        #expect(try one.refundOrdered(at: now) == [])
        #expect(throws: PaymentRefusal.isOver) { try one.transferred(at: now) }
        var silent = bill()
        _ = silent.accepted(at: now)
        #expect(try silent.transferred(at: now) == [.paid, .release], "also where the payer announced nothing")
    }

    @Test("refunds are ordered by the operator of what was paid, and of nothing else")
    func refunds() throws {
        var due = openBill()
        #expect(throws: PaymentRefusal.nothingWasPaid) { try due.refundOrdered(at: now) }
        var free = bill(0)
        _ = free.accepted(at: now)
        #expect(throws: PaymentRefusal.nothingWasPaid) { try free.refundOrdered(at: now) }
        var paid = try paidBill()
        #expect(try paid.refundOrdered(at: now) == [.ask(.refund, attempt: 1)] && paid.status == .refunding)
        #expect(try paid.refundOrdered(at: now) == [])
        // Given back at the handler's own pages.
        var elsewhere = try paidBill()
        #expect(elsewhere.receive(.refunded, of: 1, at: now) == [.refunded] && elsewhere.status == .refunded)
    }

    @Test("calls that were decided before and are no longer wanted are not made")
    func wanted() throws {
        var one = openBill()
        #expect(!one.wants(.open, 1) && !one.wants(.confirm, 1) && one.wants(.look, 1))
        _ = try one.confirm(1, at: now)
        #expect(one.wants(.confirm, 1))
        _ = one.closed(as: .revoked, at: now)
        #expect(!one.wants(.confirm, 1) && one.wants(.cancel, 1) && !one.wants(.refund, 1) && !one.wants(.open, 9))
    }
}
