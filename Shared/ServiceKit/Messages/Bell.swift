// Wakes one worker that waits for its next piece of work.

import Synchronization

/// Rung from anywhere, heard by one task: a ring while nobody waits is kept for the next wait.
package final class Bell: Sendable {
    private struct State {
        var isRung = false
        var sleeper: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Never waits; rings that nobody has waited for yet count as one.
    package func ring() {
        state.withLock { state in
            state.isRung = true
            state.sleeper?.cancel()
        }
    }

    /// Returns when the bell rings, the time is over, or the task is cancelled.
    package func wait(atMost limit: Duration) async {
        let sleeper: Task<Void, Never>? = state.withLock { state in
            guard !state.isRung else { return nil }
            let sleeper = Task<Void, Never> { try? await Task.sleep(for: limit) }
            state.sleeper = sleeper
            return sleeper
        }
        await withTaskCancellationHandler {
            await sleeper?.value
        } onCancel: {
            sleeper?.cancel()
        }
        // Whatever rang until here is seen by the look at the work that follows.
        state.withLock { $0 = State() }
    }
}
