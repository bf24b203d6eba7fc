// Money that would be lost between a handler and the store: charges nobody hears of, refunds that are only a part.

import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Money that nobody hears of")
struct LostMoneyTests {
    @Test("PAY-09: a charge that shows only after its process was called off is looked at on a hint, and goes back")
    func chargedAfterCancel() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            try await harness.pay(request, token: nil)
            try await harness.close(request, as: .revoked)
            #expect(try await harness.bill(request).attempts[0].state == .cancelled)
            // The handler had taken the charge before it was told, and says so late.
            harness.card.payerPays("process1")
            try await harness.parts.jobs.hinted("scripted", "process1")
            try await harness.parts.jobs.hinted("scripted", "process99")
            try await harness.carryAll()
            let bill = try await harness.bill(request)
            #expect(bill.status == .void && bill.attempts[0].state == .refunded)
            #expect(harness.card.charges == 1 && harness.card.refunds == 1)
            // Where nothing was charged, the hint changes nothing.
            let other = try await harness.request()
            try await harness.close(other, as: .declined)
            let before = try await harness.bill(other)
            try await harness.parts.jobs.hinted("scripted", "process2")
            try await harness.carryAll()
            #expect(try await harness.bill(other) == before)
            #expect(try await harness.waiting() == 0)
        }
    }

    @Test("PAY-09: a request withdrawn while its charge is on its way is not called off at the same time: the charge is known first")
    func oneAfterTheOther() async throws {
        try await PaymentHarness.playAccepted { harness, request in
            let payment = try await harness.bill(request).payment
            let (store, parts, now) = (harness.store, harness.parts, harness.now)
            let paymentStore = parts.service.paymentStore
            _ = try await store.write { db in
                try paymentStore.change(db, payment, token: "pm_token", at: now) { try $0.confirm(1, at: now) }
            }
            let seen = Seen()
            harness.card.meanwhile.withLock {
                $0 = {
                    // The charge is made; its answer is on its way.
                    try? await store.write { db in try parts.repository.closed(db, request.id, as: .revoked) }
                    seen.running.withLock { $0 = Task { try await parts.jobs.run() } }
                    for _ in 0..<50 { _ = try? await harness.bill(request) }
                    seen.kinds.withLock { $0 = harness.card.kinds() }
                }
            }
            try await parts.jobs.settle(payment)
            try await eventually("the charge goes back") { harness.card.refunds == 1 }
            try await eventually("nothing waits") { try await harness.waiting() == 0 }
            let running = seen.running.withLock { $0 }
            running?.cancel()
            _ = await running?.result
            #expect(seen.kinds.withLock { $0 } == [.open, .confirm])
            #expect(harness.card.kinds() == [.open, .confirm, .refund])
            #expect(try await harness.bill(request).status == .void && harness.card.charges == 1)
        }
    }

    private final class Seen: Sendable {
        let kinds = Mutex<[PaymentJob.Kind]>([])
        let running = Mutex<Task<Void, any Error>?>(nil)
    }

    @Test("PAY-09: a word about what was called off is wanted only where the handler knows the process")
    func wanted() throws {
        let now = PaymentHarness.start
        var bill = Bill.byCard(minor: 1000, at: now)
        _ = bill.accepted(at: now)
        _ = try bill.abandon(at: now)
        #expect(bill.attempts[0].state == .cancelled && !bill.wants(.look, 1), "its opening was never answered")
        _ = try bill.start(.card, through: "stripe", at: now)
        _ = bill.receive(.opened(reference: "pi_2", step: PayerStep()), of: 2, at: now)
        _ = try bill.confirm(2, at: now)
        _ = bill.closed(as: .revoked, at: now)
        _ = bill.receive(.ended(reason: "cancelled"), of: 2, at: now)
        #expect(bill.wants(.look, 2) && !bill.wants(.confirm, 2) && !bill.wants(.cancel, 2))
        #expect(bill.receive(.needsPayer(nil), of: 2, at: now) == [] && bill.receive(.approved, of: 2, at: now) == [])
        #expect(bill.receive(.succeeded(charge: "ch_2"), of: 2, at: now) == [.ask(.refund, attempt: 2)])
    }

    @Test("amounts go to Stripe as it counts: hundredths also of the two currencies that have none any more")
    func units() {
        func units(_ currency: String) -> Int64 { StripeProvider.units(of: Amount(minor: 622, currency: currency)) }
        #expect(units("EUR") == 622 && units("JPY") == 622 && units("KWD") == 622)
        #expect(units("ISK") == 62_200 && units("UGX") == 62_200)
    }
}
