// What was committed and is not in memory yet.

import Synchronization

/// One committed change of what releases are made of.
enum PopulationChange: Sendable {
    /// - Parameter rights: how often anything was taken away so far (`CohortState.rights`).
    case row(CohortRow, rights: Int)
    /// Who has data of a type on a day, of one chunk: all of them, in words.
    case data(GroupDataType, day: Int, chunk: Int, words: [UInt64])
    /// Hours before it are closed, since 1970.
    case closed(through: Int)
    /// Consent has said anew who shares, after a restore.
    case heard
}

/// Filled by transactions after their commit, in its order; emptied by whoever needs what is current.
final class PopulationChanges: Sendable {
    private let waiting = Mutex<[PopulationChange]>([])

    func add(_ change: PopulationChange) {
        waiting.withLock { $0.append(change) }
    }

    /// In the order of commits.
    func take() -> [PopulationChange] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
