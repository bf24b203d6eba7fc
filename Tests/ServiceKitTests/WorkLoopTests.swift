// When a worker's next round comes, what its log is told, and how it ends.

import Contracts
import Storage
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

@Suite("A worker's loop", .timeLimit(.minutes(1)))
struct WorkLoopTests {
    typealias Round = Result<NextRound, StoreError>

    struct Waited: Hashable, Sendable {
        var limit: Duration
        var isWakeable: Bool

        static func deaf(_ limit: Duration) -> Waited { Waited(limit: limit, isWakeable: false) }
        static func wakeable(_ limit: Duration) -> Waited { Waited(limit: limit, isWakeable: true) }
    }

    struct Course: Sendable, CustomTestStringConvertible {
        var name: String
        var rounds: [Round]
        var backoff: Backoff?
        var waits: [Waited]

        var testDescription: String { name }
    }

    private final class Record: Sendable {
        struct State {
            var rounds = 0
            var waits: [Waited] = []
            var told: [String] = []
        }

        let state = Mutex(State())
    }

    /// No test waits so long: whoever waits this long is never woken.
    private static let long = Duration.seconds(600)
    private static let doubling = Backoff(.seconds(1), upTo: .seconds(4))

    static let courses = [
        Course(name: "more to do", rounds: [.success(.atOnce), .success(.atOnce)], waits: []),
        Course(name: "nothing to do", rounds: [.success(.whenWoken)], waits: [.wakeable(.seconds(10))]),
        Course(name: "something due", rounds: [.success(.after(.seconds(3)))], waits: [.wakeable(.seconds(3))]),
        Course(name: "due after the poll interval", rounds: [.success(.after(.seconds(60)))], waits: [.wakeable(.seconds(10))]),
        Course(
            name: "due by now, or before", rounds: [.success(.after(.zero)), .success(.after(.seconds(-5)))],
            waits: [.wakeable(.milliseconds(1)), .wakeable(.milliseconds(1))]),
        Course(
            name: "failures without a backoff", rounds: [.failure(.full), .success(.backOff)],
            waits: [.wakeable(.seconds(10)), .wakeable(.seconds(10))]),
        Course(
            name: "failures in a row", rounds: [.failure(.full), .success(.backOff), .failure(.busy), .failure(.full)], backoff: doubling,
            waits: [
                .deaf(.seconds(1)), .deaf(.seconds(1)), .wakeable(.seconds(1)), .deaf(.seconds(1)), .wakeable(.seconds(3)),
                .deaf(.seconds(1)), .wakeable(.seconds(3)),
            ]),
        Course(
            name: "a good round between failures", rounds: [.failure(.full), .failure(.full), .success(.whenWoken), .failure(.full)],
            backoff: doubling,
            waits: [
                .deaf(.seconds(1)), .deaf(.seconds(1)), .wakeable(.seconds(1)), .wakeable(.seconds(10)), .deaf(.seconds(1)),
            ]),
        Course(
            name: "one pause for all failures", rounds: [.failure(.full), .failure(.full)],
            backoff: Backoff(.seconds(1), upTo: .seconds(1)), waits: [.deaf(.seconds(1)), .deaf(.seconds(1))]),
    ]

    /// Polls every ten seconds, and never waits.
    private func loop(_ record: Record, backoff: Backoff? = nil, failed: WorkLoop.Failed? = nil) -> WorkLoop {
        let telling: WorkLoop.Failed = { error in record.state.withLock { $0.told.append("\(error)") } }
        return WorkLoop(every: .seconds(10), signal: WakeUpSignal(), backoff: backoff, failed: failed ?? telling) { limit, signal in
            record.state.withLock { $0.waits.append(Waited(limit: limit, isWakeable: signal != nil)) }
        }
    }

    /// The rounds one after the other, and one more that ends the task.
    private func play(_ rounds: [Round], on loop: WorkLoop, _ record: Record) async throws {
        let worker = Task {
            try await loop.run {
                let number = record.state.withLock { state in
                    defer { state.rounds += 1 }
                    return state.rounds
                }
                guard number < rounds.count else {
                    withUnsafeCurrentTask { $0?.cancel() }
                    return .atOnce
                }
                return try rounds[number].get()
            }
        }
        try await worker.value
    }

    @Test("the next round comes at once, when it is due or woken, or after a backoff that good rounds end", arguments: courses)
    func waits(course: Course) async throws {
        let record = Record()
        await #expect(throws: CancellationError.self) {
            try await play(course.rounds, on: loop(record, backoff: course.backoff), record)
        }
        let (state, thrown) = (record.state.withLock { $0 }, course.rounds.filter { if case .failure = $0 { true } else { false } })
        #expect(state.waits == course.waits)
        #expect(state.rounds == course.rounds.count + 1)
        #expect(state.told.count == thrown.count, "each failure once; what a round has said itself is not said again")
    }

    @Test("a store that was closed ends the loop, and the log is not told")
    func closed() async throws {
        let record = Record()
        await #expect(throws: StoreError.closed) {
            try await play([.success(.whenWoken), .failure(.closed), .success(.atOnce)], on: loop(record), record)
        }
        #expect(record.state.withLock { $0.rounds } == 2)
        #expect(record.state.withLock { $0.told }.isEmpty)
    }

    @Test("an error that the worker cannot go on after ends the loop")
    func lasting() async throws {
        let record = Record()
        await #expect(throws: StoreError.broken) {
            try await play([.failure(.broken), .success(.atOnce)], on: loop(record, failed: { throw $0 }), record)
        }
        await #expect(throws: StoreError.full) {
            try await WorkLoop(every: Self.long).poll { throw StoreError.full }
        }
        #expect(record.state.withLock { $0.rounds } == 1)
    }

    @Test("what a round throws because the worker is stopped is told to nobody, and is no failure of the service")
    func stopped() async throws {
        let record = Record()
        let worker = Task { [loop = loop(record)] in
            try await loop.run {
                withUnsafeCurrentTask { $0?.cancel() }
                throw StoreError.busy
            }
        }
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(record.state.withLock { $0.told }.isEmpty)
    }

    @Test("a question that somebody else called off is a failure like any other: the worker goes on")
    func calledOff() async throws {
        let record = Record()
        let worker = Task { [loop = loop(record)] in
            try await loop.poll {
                if record.state.withLock({ $0.told.isEmpty }) { throw CancellationError() }
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(record.state.withLock { $0.told.count } == 1)
    }

    @Test("a wake-up begins the next round, also one that comes during a round; the end of the task ends the wait")
    func wakes() async throws {
        let (record, signal) = (Record(), WakeUpSignal())
        let worker = Task {
            try await WorkLoop(every: Self.long, signal: signal).poll {
                let number = record.state.withLock { state in
                    state.rounds += 1
                    return state.rounds
                }
                if number == 1 { signal.notify() }
            }
        }
        try await eventually("what came during the first round is not missed", isTrue: { record.state.withLock { $0.rounds } == 2 })
        signal.notify()
        try await eventually("it is woken", isTrue: { record.state.withLock { $0.rounds } == 3 })
        worker.cancel()
        await #expect(throws: CancellationError.self) { try await worker.value }
        #expect(record.state.withLock { $0.rounds } == 3)
    }
}
