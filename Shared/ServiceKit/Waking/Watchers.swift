// Who waits for news of a key: event streams of a person, of an organisation, of a feed.

import Synchronization

/// In memory only: whoever is woken reads the store, and polls it now and then where news may come from elsewhere. Notify after the
/// commit, so that what is read for is there.
///
/// What ends a stream (its session, its reader, a right that was withdrawn: see `Route.events`) cancels its task; a watcher that waits
/// returns at once then, and its room is free as soon as nobody holds it any more.
package final class Watchers<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var last = 0
        var signals: [Key: [Int: WakeUpSignal]] = [:]

        mutating func add(_ signal: WakeUpSignal, _ key: Key) -> Int {
            last += 1
            signals[key, default: [:]][last] = signal
            return last
        }
    }

    /// Watchers that one key may have at once.
    package let limit: Int
    private let state = Mutex(State())

    package init(limit: Int = .max) {
        self.limit = limit
    }

    /// Nil where the key has as many watchers as it may. Read the store after this: what is notified from now on is not missed.
    package func watch(_ key: Key) -> Watcher? {
        let signal = WakeUpSignal()
        let number = state.withLock { $0.signals[key]?.count ?? 0 < limit ? $0.add(signal, key) : nil }
        return number.map { Watcher(key, $0, signal, in: self) }
    }

    /// As `watch`, for the service's own workers, which no limit holds off.
    package func watchUnbounded(_ key: Key) -> Watcher {
        let signal = WakeUpSignal()
        return Watcher(key, state.withLock { $0.add(signal, key) }, signal, in: self)
    }

    /// Wakes all watchers of the key; costs one lock where nobody watches.
    package func notify(_ key: Key) {
        let signals = state.withLock { $0.signals.isEmpty ? nil : $0.signals[key] }
        for signal in signals?.values ?? [:].values { signal.notify() }
    }

    package func count(of key: Key) -> Int {
        state.withLock { $0.signals[key]?.count ?? 0 }
    }

    private func leave(_ key: Key, _ number: Int) {
        state.withLock { state in
            state.signals[key]?[number] = nil
            if state.signals[key]?.isEmpty ?? false { state.signals[key] = nil }
        }
    }

    /// One of them, until it is let go. Waited for by one task at a time.
    package final class Watcher: Sendable {
        private let key: Key
        private let number: Int
        private let signal: WakeUpSignal
        private let watchers: Watchers

        fileprivate init(_ key: Key, _ number: Int, _ signal: WakeUpSignal, in watchers: Watchers) {
            (self.key, self.number, self.signal, self.watchers) = (key, number, signal, watchers)
        }

        deinit {
            watchers.leave(key, number)
        }

        /// Returns when there is news that was not waited for yet, the time is over, or the task is cancelled.
        /// - Returns: whether there is news.
        @discardableResult
        package func wait(atMost limit: Duration) async -> Bool {
            await signal.wait(atMost: limit)
        }

        /// As `wait(atMost:)`, for as long as it takes: for news that comes from nowhere else.
        package func wait() async {
            while !Task.isCancelled, await !signal.wait(atMost: .seconds(3600)) {}
        }

        /// Wakes this one alone, such as for its first look.
        package func notify() {
            signal.notify()
        }
    }
}
