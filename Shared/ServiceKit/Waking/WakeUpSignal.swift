// Wakes one worker that waits for its next piece of work.

import Synchronization

/// Notified from anywhere, waited for by one task: a notification that comes while nobody waits is kept for the next wait.
package final class WakeUpSignal: Sendable {
    private struct State {
        var isNotified = false
        var sleeper: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Never waits; notifications that nobody has waited for yet count as one.
    package func notify() {
        state.withLock { state in
            state.isNotified = true
            state.sleeper?.cancel()
        }
    }

    /// Returns when it is notified, the time is over, or the task is cancelled.
    /// - Returns: whether it was notified.
    @discardableResult
    package func wait(atMost limit: Duration) async -> Bool {
        let sleeper: Task<Void, Never>? = state.withLock { state in
            guard !state.isNotified else { return nil }
            let sleeper = Task<Void, Never> { try? await Task.sleep(for: limit) }
            state.sleeper = sleeper
            return sleeper
        }
        await withTaskCancellationHandler {
            await sleeper?.value
        } onCancel: {
            sleeper?.cancel()
        }
        // The caller looks at its work after this, and so sees whatever was notified until here.
        return state.withLock { state in
            defer { state = State() }
            return state.isNotified
        }
    }
}
