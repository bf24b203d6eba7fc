// Somebody who hears everything that ingest says, in the place of the SOS dispatcher.

import Bus
import Contracts
import Foundation
import ServiceKit
import Synchronization

final class SamplesFollower: Sendable {
    private let seat: Runtime
    private let following: Task<Void, any Error>
    private let state: HeardUntil

    /// How far each stream was heard.
    private final class HeardUntil: Sendable {
        let next = Mutex<[String: Int64]>([:])
        let last = Mutex(ContinuousClock.now)
    }

    init(of suite: SuiteUnderTest) async throws {
        seat = try SuiteUnderTest.seat(.sosDispatcher, in: suite.folder)
        let consumer = try await seat.consumer(of: .samples)
        let state = HeardUntil()
        self.state = state
        following = Task {
            try await consumer.run(
                from: [],
                apply: { _, next in
                    state.next.withLock { known in for position in next { known[position.stream] = position.next } }
                    state.last.withLock { $0 = .now }
                })
        }
        try await Stage.wait("the first heartbeat") { state.next.withLock { $0.count } == StreamFamily.partitions }
    }

    /// Returns when nothing new has come for half a second.
    func catchUp() async throws {
        try await Stage.wait("the follower", atMost: .seconds(120)) { [state] in
            state.last.withLock { $0 } < .now - .milliseconds(500)
        }
    }

    func end() async {
        following.cancel()
        await seat.bus.shutdown()
    }
}
