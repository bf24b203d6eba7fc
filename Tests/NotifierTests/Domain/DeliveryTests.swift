// The machine of one delivery: what follows from what, and what never happens whatever the order.

import Contracts
import Testing

@testable import Notifier

private let pace = Pace(backoff: Backoff(.seconds(2), upTo: .seconds(120)), unknown: .seconds(30), receipt: .seconds(86_400))

private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: seconds * 1000) }

/// A delivery and its clock.
private struct Play {
    var delivery = Delivery(nextAt: time(0), notAfter: time(100_000))
    var now = time(0)
    var order = ["a", "b"]
    var tried: [String] = []

    mutating func attempt(_ outcome: Delivery.Outcome, jitter: Double = 1) {
        now = max(now, delivery.nextAt)
        guard let provider = delivery.choice(of: order) else { return }
        tried.append(provider)
        delivery.begin(with: provider, at: now)
        delivery.end(outcome, order: order, pace: pace, jitter: jitter, at: now)
    }

    @discardableResult
    mutating func receive(_ receipt: Delivery.Receipt, attempt: Int? = nil) -> Bool {
        delivery.receive(receipt, attempt: attempt ?? delivery.attempts, order: order, pace: pace, at: now)
    }
}

@Suite("One delivery")
struct DeliveryTests {
    @Test("a provider that cannot be reached is followed by the next at once, and a round by a pause that doubles")
    func failOver() {
        var play = Play()
        play.attempt(.unreachable)
        #expect(play.delivery.nextAt == time(0))
        play.attempt(.postponed)
        #expect(play.delivery.nextAt == time(2))
        play.attempt(.unreachable)
        #expect(play.delivery.nextAt == time(2))
        play.attempt(.unreachable)
        #expect(play.delivery.nextAt == time(6))
        for _ in 0..<20 { play.attempt(.unreachable) }
        #expect(play.delivery.nextAt - play.now == .seconds(120))
        #expect(play.tried.prefix(4) == ["a", "b", "a", "b"])
        #expect(play.delivery.state == .queued)
    }

    @Test("pauses are spread between half and the whole")
    func jitter() {
        #expect(pace.backoff.pause(after: 1, random: 0) == .seconds(1))
        #expect(pace.backoff.pause(after: 1, random: 1) == .seconds(2))
        #expect(pace.backoff.pause(after: 1_000_000, random: 1) == .seconds(120))
        #expect(pace.backoff.pause(after: 0, random: 1) == .seconds(2))
    }

    @Test("an outcome that nobody knows gives receipts time before the next provider is asked")
    func unknown() {
        var play = Play()
        play.attempt(.unknown)
        #expect(play.delivery.nextAt == time(30))
        #expect(play.delivery.state == .queued)
        let told = play.receive(.accepted)
        #expect(told && play.delivery.state == .sent)
        play = Play()
        play.attempt(.unknown)
        play.attempt(.taken(receipts: false))
        #expect(play.tried == ["a", "b"])
        #expect(play.delivery.state == .sent && play.delivery.isSettled)
    }

    @Test("what one provider refuses for good goes to the others, and fails when all have refused")
    func refused() {
        var play = Play()
        play.attempt(.refused("number-refused"))
        #expect(play.delivery.state == .queued && play.delivery.nextAt == time(0))
        play.attempt(.unreachable)
        play.attempt(.unreachable)
        #expect(play.tried == ["a", "b", "b"])
        play.attempt(.refused("number-refused"))
        #expect(play.delivery.state == .failed && play.delivery.reason == "number-refused" && play.delivery.isSettled)
    }

    @Test("sent becomes delivered by a receipt, and stays sent where none comes in time")
    func receipts() {
        var play = Play()
        play.attempt(.taken(receipts: true))
        #expect(play.delivery.state == .sent && !play.delivery.isSettled)
        var silent = play.delivery
        let early = silent.expire(at: time(86_399))
        #expect(!early)
        let late = silent.expire(at: time(86_400))
        #expect(late && silent.state == .sent && silent.isSettled)
        play.receive(.accepted)
        play.receive(.delivered)
        #expect(play.delivery.state == .delivered && play.delivery.isSettled)
        let again = play.receive(.failed)
        #expect(!again && play.delivery.state == .delivered)
    }

    @Test("a network that rejects leads to the next provider, a recipient who cannot be reached to the end")
    func bounced() {
        var play = Play()
        play.attempt(.taken(receipts: true))
        play.receive(.rejected)
        #expect(play.delivery.state == .queued && play.delivery.choice(of: play.order) == "b")
        play.attempt(.taken(receipts: true))
        // The first attempt's provider is late with its bad news: that counts no more.
        let stale = play.receive(.failed, attempt: 1)
        #expect(!stale && play.delivery.state == .sent)
        play.receive(.failed)
        #expect(play.delivery.state == .failed && play.delivery.reason == "undeliverable")
    }

    @Test("good news about an earlier attempt counts: the message has arrived")
    func lateDelivery() {
        var play = Play()
        play.attempt(.unknown)
        play.attempt(.taken(receipts: true))
        play.receive(.delivered, attempt: 1)
        #expect(play.delivery.state == .delivered)
    }

    @Test("what is too late is given up, but never while an attempt is under way")
    func expiry() {
        var play = Play()
        play.delivery.begin(with: "a", at: time(0))
        let underWay = play.delivery.expire(at: time(200_000))
        #expect(!underWay)
        play.delivery.end(.unreachable, order: play.order, pace: pace, jitter: 1, at: time(200_000))
        let over = play.delivery.expire(at: time(200_000))
        #expect(over && play.delivery.state == .failed && play.delivery.reason == "expired")
    }

    @Test("an attempt that a crash cut off is treated as unknown")
    func interrupted() {
        var play = Play()
        play.delivery.begin(with: "a", at: time(5))
        play.delivery.interrupted(pace: pace, at: time(10))
        #expect(play.delivery.begunAt == nil && play.delivery.nextAt == time(40) && play.delivery.state == .queued)
        #expect(play.delivery.choice(of: play.order) == "b")
        #expect(play.delivery.choice(of: ["a"]) == "a")
    }

    @Test("a receipt of nobody's attempt changes nothing")
    func strayReceipts() {
        var play = Play()
        let before = play.receive(.delivered, attempt: 0)
        #expect(!before)
        play.attempt(.taken(receipts: true))
        let future = play.receive(.delivered, attempt: 2)
        #expect(!future && play.delivery.state == .sent)
    }

    @Test(
        "after any sequence of outcomes, receipts and restarts a settled delivery stays as it is, and none is sent after it was",
        arguments: 0..<200)
    func properties(seed: Int) {
        var state = UInt64(seed) &* 2_862_933_555_777_941_757 &+ 3_037_000_493
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let outcomes: [Delivery.Outcome] = [
            .taken(receipts: true), .taken(receipts: false), .unreachable, .postponed, .refused("x"), .unknown,
        ]
        var play = Play()
        play.order = Array(["a", "b", "c"].prefix(1 + next(3)))
        for _ in 0..<40 {
            let before = play.delivery
            switch next(5) {
            case 0, 1:
                // Couriers take only what is queued and not settled.
                if before.state == .queued, !before.isSettled { play.attempt(outcomes[next(outcomes.count)]) }
            case 2:
                let receipt = Delivery.Receipt.allCases[next(4)]
                _ = play.receive(receipt, attempt: next(before.attempts + 2))
            case 3:
                play.now = play.now + .seconds(next(5000))
                _ = play.delivery.expire(at: play.now)
            default:
                if before.state == .queued, !before.isSettled, let provider = before.choice(of: play.order) {
                    play.delivery.begin(with: provider, at: play.now)
                    play.delivery.interrupted(pace: pace, at: play.now)
                }
            }
            if before.isSettled { #expect(play.delivery == before) }
            #expect(play.delivery.begunAt == nil)
            #expect((play.delivery.state == .failed) == (play.delivery.reason != nil))
            if [.failed, .delivered].contains(play.delivery.state) { #expect(play.delivery.isSettled) }
            if play.delivery.state == .queued { #expect(play.delivery.choice(of: play.order) != nil) }
        }
    }

    @Test("a channel's verdict waits for all its targets and is the best of them")
    func verdicts() {
        #expect(ChannelVerdict.of([]) == nil)
        #expect(ChannelVerdict.of([(.failed, "x", true), (.queued, nil, false)]) == nil)
        let mixed = ChannelVerdict.of([(.failed, "x", true), (.sent, nil, true)])
        #expect(mixed?.state == .sent && mixed?.reason == nil)
        let failed = ChannelVerdict.of([(.failed, "x", true)])
        #expect(failed?.state == .failed && failed?.reason == "x")
        #expect(ChannelVerdict.progress([.failed, .queued]) == .queued)
    }
}
