// The emergency service that had taken the call rejects it.

import Contracts

extension Supervision {
    /// Nobody has the call any more: it is on its way again, and closes only once somebody takes it. Anywhere but in DISPATCHED it changes
    /// nothing.
    mutating func rejected(at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard state.stage == .dispatched else { return due }
        state.stage = .dispatching
        state.episode?.settledAt = nil
        return due
    }
}
