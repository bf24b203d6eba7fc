// Random lives of payments, with a handler that loses answers, repeats itself and is told the same twice: nothing is charged twice,
// and nothing leaves unpaid.

import Contracts
import TestKit
import Testing

@testable import ThirdPartyGateway

/// A payment handler as strict as Stripe: keys are remembered, processes have one state each.
private struct Handler {
    enum State { case open, succeeded, cancelled }

    struct Process {
        var state = State.open
        var charges = 0
        var refunds = 0
        let attempt: Int
    }

    private(set) var processes: [String: Process] = [:]
    private var opened: [String: String] = [:]

    var charges: Int { processes.values.reduce(0) { $0 + $1.charges } }
    var refunds: Int { processes.values.reduce(0) { $0 + $1.refunds } }

    mutating func carry(_ call: Call, reference: String?, _ luck: inout SeededGenerator) -> ProviderStatus {
        switch call.kind {
        case .open:
            let reference = opened[call.key] ?? "p\(processes.count)"
            if opened[call.key] == nil {
                if Int.random(in: 0..<10, using: &luck) == 0 { return .ended(reason: "refused") }
                (opened[call.key], processes[reference]) = (reference, Process(attempt: call.attempt))
            }
            return .opened(reference: reference, step: PayerStep(clientSecret: "secret of \(reference)"))
        case .confirm:
            if let reference, processes[reference]?.state == .open {
                switch Int.random(in: 0..<5, using: &luck) {
                case 0: return .declined(reason: "declined")
                case 1: return .needsPayer(nil)
                default: charge(reference)
                }
            }
            return look(reference)
        case .cancel:
            if let reference, processes[reference]?.state == .open { processes[reference]?.state = .cancelled }
            return look(reference)
        case .look: return look(reference)
        case .refund:
            if let reference, processes[reference]?.refunds == 0 { processes[reference]?.refunds = 1 }
            return .refunded
        case .review: return .pending
        }
    }

    func look(_ reference: String?) -> ProviderStatus {
        switch reference.flatMap({ processes[$0]?.state }) {
        case .open: .needsPayer(nil)
        case .succeeded: .succeeded(charge: nil)
        case .cancelled: .ended(reason: "cancelled")
        case nil: .unreachable
        }
    }

    mutating func charge(_ reference: String) {
        guard processes[reference]?.state == .open else { return }
        processes[reference]?.state = .succeeded
        processes[reference]?.charges += 1
    }
}

private struct Call {
    let kind: PaymentJob.Kind
    let attempt: Int
    let key: String
}

/// One payment, its outbox, the handler and the payer's browser.
private struct World {
    var bill: Bill
    var handler = Handler()
    var calls: [Call] = []
    var notices: [(ProviderStatus, Int)] = []
    var released = 0
    var invoices = 0
    var notes = 0
    var hasLeft = false
    /// Secrets that the payer was shown.
    var shown: Set<String> = []
    var luck: SeededGenerator
    var at = Timestamp(milliseconds: 0)
    private var keys = 0

    init(seed: UInt64) {
        luck = SeededGenerator(seed: seed)
        bill = Bill(
            payment: PaymentID(bits: 1), request: RequestID(bits: 2), organisation: OrganisationID(bits: 3),
            amount: Amount(minor: seed % 7 == 0 ? 0 : 100, currency: "EUR"), priceListVersion: 1, at: at)
    }

    mutating func take(_ effects: [PaymentEffect]) {
        for effect in effects {
            switch effect {
            case .ask(let kind, let attempt):
                keys += 1
                calls.append(Call(kind: kind, attempt: attempt, key: "k\(keys)"))
            case .release: released += 1
            case .paid: invoices += 1
            case .refunded: notes += 1
            case .notify: break
            }
        }
        if bill.status == .due, let live = bill.live, live.state == .open, let reference = live.reference { shown.insert(reference) }
    }

    /// - Parameter losing: the handler does it, but nobody here hears of it: a lost answer, or a process that was killed.
    mutating func carry(_ index: Int, losing: Bool) {
        let call = calls[index]
        guard bill.wants(call.kind, call.attempt) else {
            calls.remove(at: index)
            return
        }
        let reference = bill.attempts.first { $0.number == call.attempt }?.reference
        let word = handler.carry(call, reference: reference, &luck)
        if losing || word == .unreachable { return }
        calls.remove(at: index)
        take(bill.receive(word, of: call.attempt, at: at))
    }

    mutating func step() {
        at = at + .seconds(1)
        switch Int.random(in: 0..<20, using: &luck) {
        case 0: take(bill.submitted(paidBy: .card, through: "stripe", at: at))
        case 1, 2: take(bill.accepted(at: at))
        case 3: take(bill.becameDue(at: at))
        case 4:
            let outcomes: [RequestStatus] = bill.isAccepted ? [.revoked, .ended] : [.declined, .expired]
            if let outcome = outcomes.randomElement(using: &luck), Bool.random(using: &luck) { take(bill.closed(as: outcome, at: at)) }
        case 5, 6, 7:
            let method: PaymentMethod = Bool.random(using: &luck) ? .card : .paypal
            let name = method == .card ? "stripe" : "paypal"
            guard let start = try? bill.start(method, through: name, at: at) else { return }
            switch start {
            case .wait(let effects): take(effects)
            case .attempt(_, let effects): take(effects)
            }
        case 8, 9: if let live = bill.live, let effects = try? bill.confirm(live.number, at: at) { take(effects) }
        case 10: if let effects = try? bill.abandon(at: at) { take(effects) }
        case 11 where Int.random(in: 0..<8, using: &luck) == 0: if let effects = try? bill.refundOrdered(at: at) { take(effects) }
        case 12: payerActs()
        case 13: if !notices.isEmpty { hear(Int.random(in: 0..<notices.count, using: &luck), keeping: Bool.random(using: &luck)) }
        case 14: if bill.status == .paid { deliver() }
        case 15 where Int.random(in: 0..<10, using: &luck) == 0: take(bill.undeliverable(at: at))
        default:
            if !calls.isEmpty {
                carry(Int.random(in: 0..<calls.count, using: &luck), losing: Int.random(in: 0..<3, using: &luck) == 0)
            }
        }
    }

    /// The payer pays in the handler's own form, whatever we think of it by now.
    mutating func payerActs() {
        guard let reference = shown.sorted().randomElement(using: &luck), let attempt = handler.processes[reference]?.attempt else {
            return
        }
        handler.charge(reference)
        notices.append((handler.look(reference), attempt))
    }

    mutating func hear(_ index: Int, keeping: Bool) {
        let (word, attempt) = notices[index]
        if !keeping { notices.remove(at: index) }
        take(bill.receive(word, of: attempt, at: at))
    }

    /// Something leaves, as `PaymentRepository.isPaid` allows.
    mutating func deliver() {
        #expect(bill.amount.isNothing || handler.charges > handler.refunds, "INV-20: data left unpaid")
        bill.delivered(at: at)
        hasLeft = true
    }

    /// The handler answers everything, and is looked at, until nothing happens any more.
    mutating func comeToRest() {
        for _ in 0..<200 {
            while !calls.isEmpty { carry(0, losing: false) }
            while !notices.isEmpty { hear(0, keeping: false) }
            guard let live = bill.live, live.reference != nil, bill.wants(.look, live.number) else { return }
            let before = bill
            take(bill.receive(handler.look(live.reference), of: live.number, at: at))
            if bill == before, calls.isEmpty { return }
        }
        Issue.record("it never comes to rest")
    }
}

@Suite("Payments over random histories")
struct BillPropertyTests {
    @Test("INV-20, PAY-09: nothing is charged twice, nothing leaves unpaid, and money is where the status says", arguments: 0..<40)
    func histories(block: Int) {
        for seed in UInt64(block * 250)..<UInt64(block * 250 + 250) {
            var world = World(seed: seed)
            for _ in 0..<120 {
                world.step()
                guard world.handler.charges <= 1 else {
                    Issue.record("seed \(seed): charged \(world.handler.charges) times")
                    return
                }
            }
            world.comeToRest()
            let held = world.handler.charges - world.handler.refunds
            let expected = world.bill.status == .paid && !world.bill.amount.isNothing ? 1 : 0
            #expect(held == expected, "seed \(seed): \(world.bill.status) and \(held) charges held")
            #expect(world.released <= 1, "seed \(seed): data were released more than once")
            #expect(world.invoices <= 1 && world.notes <= world.invoices, "seed \(seed)")
            if world.bill.status == .paid, world.bill.isAccepted { #expect(world.released == 1, "seed \(seed): paid, but not released") }
            #expect(![.refunding].contains(world.bill.status), "seed \(seed): money is still on its way")
        }
    }

    @Test("the histories do pay, fail, go back and come to nothing: the checker has something to check")
    func reach() {
        var seen: [PaymentStatus: Int] = [:]
        var (left, lost) = (0, 0)
        for seed in UInt64(0)..<2000 {
            var world = World(seed: seed)
            for _ in 0..<120 { world.step() }
            world.comeToRest()
            seen[world.bill.status, default: 0] += 1
            if world.hasLeft { left += 1 }
            if world.bill.attempts.count > 2 { lost += 1 }
        }
        for status in [PaymentStatus.due, .paid, .refunded, .void] { #expect((seen[status] ?? 0) > 10, "\(status): \(seen)") }
        #expect(left > 50 && lost > 20)
    }
}
