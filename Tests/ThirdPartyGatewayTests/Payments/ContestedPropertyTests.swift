// Random lives of money that was paid once: disputes, refusals, losses and the operator's hand in any order.

import Contracts
import TestKit
import Testing

@testable import ThirdPartyGateway

/// One paid bill, the payer's bank, the handler and the operator.
private struct ContestedWorld {
    /// Where the money of the one charge is, as the world outside knows it.
    enum Truth { case ours, payers, banks }

    private static let now = PaymentHarness.start

    private(set) var bill: Bill
    private(set) var truth = Truth.ours
    private(set) var sentByHand = 0
    private(set) var creditNotes = 0
    private var luck: SeededGenerator

    init(seed: UInt64) throws {
        luck = SeededGenerator(seed: seed)
        bill = Bill.byCard(at: Self.now)
        _ = bill.accepted(at: Self.now)
        _ = bill.receive(.opened(reference: "pi_1", step: PayerStep()), of: 1, at: Self.now)
        _ = try bill.confirm(1, at: Self.now)
        _ = bill.receive(.succeeded(charge: "ch_1", amount: bill.amount), of: 1, at: Self.now)
    }

    private mutating func take(_ effects: [PaymentEffect]) {
        creditNotes += effects.filter { $0 == .refunded }.count
    }

    private mutating func hear(_ word: ProviderStatus) {
        take(bill.receive(word, of: 1, at: Self.now))
    }

    /// What a review would show now.
    private mutating func review() {
        switch truth {
        case .ours: hear(.stands(.kept))
        case .payers: break
        case .banks: hear(.stands(.disputed(reason: "fraudulent")))
        }
    }

    mutating func step() {
        switch Int.random(in: 0..<9, using: &luck) {
        case 0 where truth == .ours: truth = .banks
        case 1 where truth == .banks: decide()
        case 2, 3: review()
        case 4: if bill.status == .paid { bill.delivered(at: Self.now) }
        case 5: take(bill.closed(as: .revoked, at: Self.now))
        case 6: if let effects = try? bill.refundOrdered(at: Self.now) { take(effects) }
        case 7 where bill.wants(.refund, 1): refund()
        case 8 where bill.attempts[0].waitsForHand && truth == .ours:
            if let effects = try? bill.sentBack(at: Self.now) {
                sentByHand += 1
                truth = .payers
                take(effects)
            }
        default: break
        }
    }

    private mutating func decide() {
        let isWon = Bool.random(using: &luck)
        truth = isWon ? .ours : .payers
        if !isWon { hear(.stands(.lost)) }
    }

    private mutating func refund() {
        switch truth {
        case .banks: hear(.stands(.disputed(reason: "fraudulent")))
        case .payers: hear(.refunded)
        case .ours where Bool.random(using: &luck):
            truth = .payers
            hear(.refunded)
        case .ours: hear(.stands(.refundRefused(reason: "no")))
        }
    }

    /// The last word of the bank and of the handler.
    mutating func comeToRest() {
        if truth == .banks { truth = .ours }
        review()
        guard bill.wants(.refund, 1) else { return }
        if truth == .ours { truth = .payers }
        hear(.refunded)
    }
}

@Suite("Contested money over random histories")
struct ContestedPropertyTests {
    @Test(
        "INV-20, PAY-09: whatever banks decide and handlers refuse in whichever order, the status says where the money is", arguments: 0..<8
    )
    func histories(block: Int) throws {
        for seed in UInt64(block * 250)..<UInt64(block * 250 + 250) {
            var world = try ContestedWorld(seed: seed)
            for _ in 0..<30 { world.step() }
            world.comeToRest()
            #expect(world.sentByHand <= 1, "seed \(seed): sent back by hand twice")
            #expect(world.creditNotes <= 1, "seed \(seed): \(world.creditNotes) credit notes")
            switch world.bill.status {
            case .paid, .refundRefused: #expect(world.truth == .ours, "seed \(seed): \(world.bill.status), and the money is not ours")
            case .refunded, .due: #expect(world.truth == .payers, "seed \(seed): \(world.bill.status), and it is not the payer's")
            default: Issue.record("seed \(seed): \(world.bill.status) is no rest")
            }
            if world.bill.status == .due { #expect(world.bill.isDelivered, "seed \(seed): nothing was delivered, and it is due again") }
        }
    }
}
