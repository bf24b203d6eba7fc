// Tells those who look at a person's data that there is something new.

import Contracts
import Synchronization

/// In memory only: whoever comes reads the store first. Costs an upload one lock where nobody looks.
final class Arrivals: Sendable {
    private struct State {
        var next = 0
        var watchers: [PersonID: [Int: AsyncStream<Void>.Continuation]] = [:]
    }

    private let state = Mutex(State())

    /// Something of the person was stored.
    func tell(_ person: PersonID) {
        let watchers = state.withLock { $0.watchers.isEmpty ? nil : $0.watchers[person] }
        for watcher in watchers?.values ?? [:].values { watcher.yield() }
    }

    /// Gives a value at once and after each arrival; several that come while nobody takes one are one.
    func watch(_ person: PersonID) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let number = state.withLock { state in
            state.next += 1
            state.watchers[person, default: [:]][state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in self?.leave(person, number) }
        return stream
    }

    private func leave(_ person: PersonID, _ number: Int) {
        state.withLock { state in
            state.watchers[person]?[number] = nil
            if state.watchers[person]?.isEmpty ?? false { state.watchers[person] = nil }
        }
    }

    /// How many look.
    var count: Int {
        state.withLock { $0.watchers.values.reduce(0) { $0 + $1.count } }
    }
}
