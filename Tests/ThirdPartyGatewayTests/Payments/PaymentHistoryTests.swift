// Random histories of several requests on the real store, with the gateway killed at any moment.

import Contracts
import GRDB
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Payments over random histories with crashes")
struct PaymentHistoryTests {
    /// One request as the world outside knows it.
    private struct Known {
        let request: PayableRequest
        var isAccepted = false
        var isClosed = false
    }

    @Test("INV-20, PAY-09: whatever is killed when, nothing leaves unpaid and nothing is charged twice", arguments: UInt64(0)..<6)
    func histories(seed: UInt64) async throws {
        try await PaymentHarness.playWithPrices { harness in
            var luck = SeededGenerator(seed: seed)
            var known: [Known] = []
            for _ in 0..<60 {
                if known.count < 3 {
                    known.append(Known(request: try await harness.request()))
                    continue
                }
                let index = Int.random(in: 0..<known.count, using: &luck)
                // The process dies right after a handler has acted, before anything of it is on disk.
                if Int.random(in: 0..<4, using: &luck) == 0 {
                    let store = harness.store
                    for handler in [harness.card, harness.payPal] { handler.meanwhile.withLock { $0 = { await store.close() } } }
                }
                let moods: [ScriptedHandler.Mood] = [.willing, .willing, .willing, .away, .losesAnswers, .declines("declined")]
                harness.card.become(moods.randomElement(using: &luck) ?? .willing)
                harness.payPal.become(moods.randomElement(using: &luck) ?? .willing)
                await Self.act(Int.random(in: 0..<9, using: &luck), on: &known[index], in: harness, &luck)
                for handler in [harness.card, harness.payPal] { handler.meanwhile.withLock { $0 = nil } }
                try await harness.restart()
                for one in known { try await Self.check(one.request, harness) }
            }
            for handler in [harness.card, harness.payPal] { handler.become(.willing) }
            for _ in 0..<3 {
                try await harness.parts.jobs.checkAll()
                try await harness.carryAll()
            }
            for one in known { try await Self.settled(one.request, harness) }
            #expect(try await harness.waiting() == 0)
            let numbers = try await harness.invoices().map(\.number.number)
            #expect(numbers == numbers.indices.map { numbers.count - $0 }, "numbers have no gaps")
        }
    }

    /// Whatever it is, it may be cut short by a crash.
    private static func act(_ what: Int, on one: inout Known, in harness: PaymentHarness, _ luck: inout SeededGenerator) async {
        let request = one.request
        switch what {
        case 0, 1:
            if !one.isClosed, (try? await harness.accept(request)) != nil { one.isAccepted = true }
        case 2, 3: _ = try? await harness.pay(request, token: Bool.random(using: &luck) ? "pm_token" : nil)
        case 4: _ = try? await harness.pay(request, by: .paypal)
        case 5:
            for handler in [harness.card, harness.payPal] {
                let shown = try? await harness.bill(request).live
                if shown?.provider == handler.name, shown?.state == .open, one.isAccepted, let reference = shown?.reference {
                    handler.payerPays(reference)
                    try? await harness.parts.jobs.receive(handler.name, reference, .succeeded(charge: nil))
                }
            }
        case 6 where Int.random(in: 0..<3, using: &luck) == 0:
            let outcomes: [RequestStatus] = one.isAccepted ? [.revoked, .ended] : [.declined, .expired]
            if let outcome = outcomes.randomElement(using: &luck), (try? await harness.close(request, as: outcome)) != nil {
                one.isClosed = true
            }
        case 7:
            if (try? await harness.isPaid(request)) == true {
                let repository = harness.parts.repository
                try? await harness.store.write { db in try repository.delivered(db, request.id) }
            }
        default: try? await harness.carryAll()
        }
    }

    private static func check(_ request: PayableRequest, _ harness: PaymentHarness) async throws {
        let bill = try await harness.bill(request)
        let (charges, refunds) = money(bill, harness)
        #expect(charges <= 1, "PAY-09: charged \(charges) times")
        if try await harness.isPaid(request) { #expect(charges > refunds, "INV-20: data may leave unpaid") }
    }

    private static func settled(_ request: PayableRequest, _ harness: PaymentHarness) async throws {
        try await check(request, harness)
        let bill = try await harness.bill(request)
        let (charges, refunds) = money(bill, harness)
        #expect(charges - refunds == (bill.status == .paid ? 1 : 0), "\(bill.status): \(charges) charged, \(refunds) given back")
        #expect(bill.status != .refunding)
    }

    private static func money(_ bill: Bill, _ harness: PaymentHarness) -> (charges: Int, refunds: Int) {
        let (card, payPal) = (harness.card.money(bill.payment), harness.payPal.money(bill.payment))
        return (card.charges + payPal.charges, card.refunds + payPal.refunds)
    }
}
