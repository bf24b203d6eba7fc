// What the reference client queues, and what it does after each answer.

import Contracts
import Testing

@testable import Operator

@Suite("OutboxState")
struct OutboxStateTests {
    private func entry(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }

    @Test("ING-14: entries leave in the order in which they came, partition by partition, and the number waiting is known")
    func order() throws {
        var state = OutboxState()
        for number in 1...5 { state.append(entry(number), to: "a") }
        state.append(entry(9), to: "b")

        let first = try #require(state.oldest(of: "a", count: 3, bytes: 1000))

        #expect(first == OutboxBatch(partition: "a", first: 1, last: 3, entries: [entry(1), entry(2), entry(3)]))
        #expect(state.waiting == 6 && state.waiting(in: "a") == 5)
        #expect(state.oldest(of: "a", count: 3, bytes: 1000) == first, "what was not acknowledged is sent again, byte for byte")
        state.done("a", first.places)
        #expect(state.oldest(of: "a", count: 3, bytes: 1000)?.entries == [entry(4), entry(5)])
        #expect(state.waiting == 3)
    }

    @Test("a batch is bounded by bytes, but one entry always goes")
    func bytes() throws {
        var state = OutboxState()
        for _ in 0..<3 { state.append([UInt8](repeating: 1, count: 100), to: "a") }

        #expect(try #require(state.oldest(of: "a", count: 10, bytes: 210)).entries.count == 2)
        #expect(try #require(state.oldest(of: "a", count: 10, bytes: 10)).entries.count == 1)
    }

    @Test("acknowledging twice, or more than waits, does no harm")
    func acknowledgedTwice() {
        var state = OutboxState()
        state.append(entry(1), to: "a")
        state.append(entry(2), to: "a")
        state.done("a", 1...1)
        state.done("a", 1...1)
        #expect(state.waiting == 1)
        state.done("a", 1...99)
        state.done("nobody", 1...3)
        #expect(state.waiting == 0 && state.oldest(of: "a", count: 1, bytes: 1) == nil)
    }

    @Test("any mixture of appending and acknowledging, from either end, keeps the order and the count", arguments: 0..<100 as Range<UInt64>)
    func anyMixture(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var state = OutboxState()
        var model: [UInt64: [UInt8]] = [:]
        var number = 0
        for _ in 0..<400 {
            if random.next() % 3 < 2 {
                for _ in 0..<Int(random.next() % 20) {
                    number += 1
                    state.append(entry(number), to: "a")
                    model[UInt64(number)] = entry(number)
                }
            } else {
                let (isNewest, count) = (random.next() % 2 == 0, Int(random.next() % 40) + 1)
                let next = isNewest ? state.newest(of: "a", count: count, bytes: 200) : state.oldest(of: "a", count: count, bytes: 200)
                guard let batch = next else {
                    #expect(model.isEmpty)
                    continue
                }
                #expect(isNewest ? batch.last == model.keys.max() : batch.first == model.keys.min())
                #expect(batch.entries == batch.places.map { model[$0] ?? [] } && batch.entries.count <= count)
                // What comes while it is on its way.
                if random.next() % 2 == 0 {
                    number += 1
                    state.append(entry(number), to: "a")
                    model[UInt64(number)] = entry(number)
                }
                state.done("a", batch.places)
                for place in batch.places { model[place] = nil }
            }
            #expect(state.waiting == model.count && state.waiting(in: "a") == model.count)
        }
        let stretches = state.stretches(of: 50)
        #expect(stretches.flatMap(\.entries) == model.keys.sorted().compactMap { model[$0] })
        #expect(state.end(of: "a") == UInt64(number + 1))
    }
}

@Suite("RetryPolicy")
struct RetryPolicyTests {
    private let policy = RetryPolicy()

    @Test(
        "each answer has its consequence",
        arguments: [
            (200, UploadVerdict.done), (202, .done), (207, .done), (413, .halve), (400, .refuse), (422, .refuse), (304, .refuse),
        ])
    func statuses(status: Int, expected: UploadVerdict) {
        #expect(policy.verdict(on: .answered(status: status, retryAfter: nil), attempt: 1, jitter: 0) == expected)
    }

    @Test("a server that is full is asked again when it said so, within reason", arguments: [429, 503, 507])
    func retryAfter(status: Int) {
        #expect(
            policy.verdict(on: .answered(status: status, retryAfter: .seconds(7)), attempt: 1, jitter: 0.5) == .again(after: .seconds(7)))
        #expect(
            policy.verdict(on: .answered(status: status, retryAfter: .seconds(99_999)), attempt: 1, jitter: 0)
                == .again(after: .seconds(300)))
    }

    @Test("ING-02: without a connection the pauses grow to a bound and never end")
    func backOff() {
        func pause(_ attempt: Int, _ jitter: Double) -> UploadVerdict { policy.verdict(on: .unreachable, attempt: attempt, jitter: jitter) }

        #expect(pause(1, 0) == .again(after: .milliseconds(100)))
        #expect(pause(1, 1) == .again(after: .milliseconds(200)))
        #expect(pause(4, 1) == .again(after: .milliseconds(1600)))
        #expect(pause(1000, 1) == .again(after: .seconds(4)))
    }

    @Test("a token that is not known stops the partition and says what to do", arguments: [401, 403, 404])
    func stops(status: Int) {
        guard case .stop = policy.verdict(on: .answered(status: status, retryAfter: nil), attempt: 1, jitter: 0) else {
            Issue.record("\(status) does not stop")
            return
        }
    }
}

@Suite("UploadBody")
struct UploadBodyTests {
    @Test("entries are written as the suite's HTTP interface takes them, and alike each time")
    func rendering() throws {
        let at = Timestamp(milliseconds: 1_768_005_060_000)
        let heart = try UploadBody.entry(Sample(type: .heartRate, at: at, value: 62.8))
        let place = try UploadBody.entry(Sample(type: .position, at: at, value: nil, position: Position(latitude: 45.5, longitude: 9.25)))

        let body = String(decoding: UploadBody.batch([heart, place]), as: UTF8.self)

        #expect(body.hasPrefix(#"{"entries":[{"#) && body.hasSuffix("}]}"))
        #expect(
            body.contains(#""type":"heart-rate""#) && body.contains(#""at":"2026-01-10T00:31:00.000Z""#) && body.contains(#""value":62.8"#))
        #expect(body.contains(#""latitude":45.5"#) && body.contains(#""longitude":9.25"#) && !body.contains("null"))
        #expect(try UploadBody.entry(Sample(type: .heartRate, at: at, value: 62.8)) == heart)
    }
}
