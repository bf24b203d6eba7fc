// Hears what the SOS dispatcher says of emergencies, and when.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization

/// Follows `sos.emergencies` as the operator's tool, which may.
final class EmergencyWatch: Sendable {
    private struct Key: Hashable {
        var person: PersonID
        var change: String
    }

    private struct State {
        var heard: [Key: ContinuousClock.Instant] = [:]
        var waiting: [Key: CheckedContinuation<ContinuousClock.Instant?, Never>] = [:]
        var hasBegun = false
    }

    private let state: Hearing
    private let following: Task<Void, any Error>

    private final class Hearing: Sendable {
        let state = Mutex(State())

        func heard(_ key: Key) {
            let waiter = state.withLock { state in
                state.heard[key] = .now
                return state.waiting.removeValue(forKey: key)
            }
            waiter?.resume(returning: .now)
        }
    }

    init(of suite: SuiteUnderTest) async throws {
        let consumer = try await suite.operatorSeat.consumer(of: .emergencies)
        let hearing = Hearing()
        state = hearing
        following = Task {
            try await consumer.run(
                from: [],
                apply: { events, _ in
                    hearing.state.withLock { $0.hasBegun = true }
                    for event in events {
                        guard let fact = try? JSONDecoder().decode(EmergencyChanged.self, from: Data(event.payload)) else { continue }
                        hearing.heard(Key(person: fact.person, change: fact.change))
                    }
                })
        }
        try await Stage.wait("the first heartbeat of sos-dispatcher") { hearing.state.withLock { $0.hasBegun } }
    }

    /// When it was heard; throws after `limit`.
    func wait(for change: String, of person: PersonID, atMost limit: Duration = .seconds(10)) async throws -> ContinuousClock.Instant {
        let key = Key(person: person, change: change)
        let giveUp = Task { [state] in
            try await Task.sleep(for: limit)
            state.state.withLock { $0.waiting.removeValue(forKey: key) }?.resume(returning: nil)
        }
        defer { giveUp.cancel() }
        let found: ContinuousClock.Instant? = await withCheckedContinuation { continuation in
            let known = state.state.withLock { state in
                if let at = state.heard[key] { return Optional(at) }
                state.waiting[key] = continuation
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
        guard let found else { throw BenchmarkError("no \(change) of \(person) within \(limit)") }
        return found
    }

    func end() {
        following.cancel()
    }
}
