// Whose file job is written next: no organisation's waits behind all of another's.

import Contracts
import Synchronization

/// One job of an organisation at a time; the organisation whose turn was longest ago comes first. In memory only: after a restart the
/// turns begin anew.
final class FileTurns: Sendable {
    private struct State {
        var turn = 0
        /// When each organisation had its turn.
        var last: [OrganisationID: Int] = [:]
        var underWay: Set<OrganisationID> = []
    }

    private let state = Mutex(State())

    /// - Parameter waiting: the first job of each organisation, oldest first.
    /// - Returns: one whose organisation has none under way; nil where there is no such. It is under way until `end`.
    func begin(_ waiting: [DataFileJob]) -> DataFileJob? {
        state.withLock { state in
            let free = waiting.filter { !state.underWay.contains($0.organisation) }
            // The first of equals, which is the oldest.
            guard let next = free.min(by: { state.last[$0.organisation, default: 0] < state.last[$1.organisation, default: 0] }) else {
                return nil
            }
            state.turn += 1
            state.last[next.organisation] = state.turn
            state.underWay.insert(next.organisation)
            return next
        }
    }

    func end(_ job: DataFileJob) {
        _ = state.withLock { $0.underWay.remove(job.organisation) }
    }
}
