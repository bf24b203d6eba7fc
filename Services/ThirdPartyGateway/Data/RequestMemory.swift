// Requests as the store last gave them, in memory: pages of one request follow one another, and nothing changes between them.

import Contracts
import Storage
import Synchronization

/// One request and whether nothing is due for it.
struct PayableState: Sendable {
    let stored: StoredMadeRequest
    let isPaid: Bool
}

/// Holds for as long as nothing at all is committed to the store: an answer of the person, a payment, a dispute, a withdrawal and an
/// erasure are commits, so that each of them takes effect here when whoever wrote it is told.
final class RequestMemory: Sendable {
    /// More are not remembered.
    static let most = 1000

    private struct State {
        /// Of the store, when the first of `known` was read.
        var commits = -1
        var known: [RequestID: PayableState] = [:]
    }

    private let store: Store
    private let state = Mutex(State())

    init(store: Store) {
        self.store = store
    }

    /// - Parameter read: is asked where nothing is remembered; nil is not remembered.
    func find(_ id: RequestID, read: () async throws -> PayableState?) async throws -> PayableState? {
        // Asked for before anything is read: a commit meanwhile makes what was read stale at once, never fresh too long.
        let commits = store.commits
        if let known = state.withLock({ $0.commits == commits ? $0.known[id] : nil }) { return known }
        guard let found = try await read() else { return nil }
        state.withLock { state in
            guard state.commits <= commits else { return }
            if state.commits < commits || state.known.count >= Self.most { state.known = [:] }
            state.commits = commits
            state.known[id] = found
        }
        return found
    }

    /// Part of erasing a person: nothing of anybody is left here.
    func forget() {
        // What is being read at this moment is not remembered either.
        let commits = store.commits
        state.withLock { state in
            state.known = [:]
            state.commits = max(state.commits, commits)
        }
    }

    /// How many are remembered.
    var count: Int { state.withLock { $0.known.count } }
}
