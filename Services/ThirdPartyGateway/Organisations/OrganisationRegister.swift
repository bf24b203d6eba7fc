// Who belongs to which organisation, in memory: every request asks, and the store changes seldom.

import Contracts
import Storage
import Synchronization

/// Reads an organisation once and remembers it until it is told that something has changed. This process alone writes the store.
final class OrganisationRegister: Sendable {
    struct Known: Hashable, Sendable {
        let name: String
        let state: OrganisationState
        /// Since a restore, as all of them are.
        let isHeld: Bool
        let members: [MemberID: Role]
    }

    private struct State {
        var known: [OrganisationID: Known] = [:]
        /// Grows with every change: whoever read before one does not restore an old state.
        var changes = 0
    }

    /// More are not remembered; they are read again.
    private static let most = 10_000

    private let store: Store
    private let organisations: OrganisationStore
    private let members: MemberStore
    private let state = Mutex(State())

    init(store: Store, organisations: OrganisationStore, members: MemberStore) {
        (self.store, self.organisations, self.members) = (store, organisations, members)
    }

    /// Nil where there is none.
    func find(_ id: OrganisationID) async throws -> Known? {
        let (known, changes) = state.withLock { ($0.known[id], $0.changes) }
        if let known { return known }
        let found = try await store.readBriefly { [organisations, members] db -> Known? in
            guard let row = try organisations.find(db, id) else { return nil }
            return Known(
                name: row.details.businessName, state: row.state, isHeld: try GatewayRestoreStore().isHeld(db),
                members: try members.roles(db, of: id))
        }
        guard let found else { return nil }
        state.withLock { state in
            guard state.changes == changes else { return }
            if state.known.count >= Self.most { state.known.removeAll() }
            state.known[id] = found
        }
        return found
    }

    /// After every commit that changed the organisation's state or its members.
    func changed(_ id: OrganisationID) {
        state.withLock { state in
            state.changes += 1
            state.known[id] = nil
        }
    }

    /// After a commit that changed something of all of them.
    func changedAll() {
        state.withLock { state in
            state.changes += 1
            state.known.removeAll()
        }
    }
}
