// Looking at the requests that an organisation has made, each with whom it is about.

import Contracts
import ServiceKit
import Storage

/// A request as its organisation sees it.
struct ShownRequest: Sendable {
    let stored: StoredMadeRequest
    /// Nil where the person is erased, and for the moment in which consent's fact has overtaken its answer.
    let particulars: RequestParticulars?

    var request: MadeRequest { stored.request }

    /// False for the moment in which consent's fact has overtaken its answer, which is a change of its own.
    var isWhole: Bool { particulars != nil || request.status != .pending }
}

struct RequestRepository: Sendable {
    let store: Store
    let vault: RequestVault
    let table = RequestStore()

    init(store: Store, vault: RequestVault) {
        (self.store, self.vault) = (store, vault)
    }

    /// Nil where there is none, or it is another organisation's.
    func find(_ id: RequestID, of organisation: OrganisationID) async throws -> ShownRequest? {
        guard let stored = try await store.readBriefly({ [table] db in try table.stored(db, id) }),
            stored.request.organisation == organisation
        else { return nil }
        return try shown(stored)
    }

    /// Newest first.
    /// - Parameter before: the number of the last one of the page before.
    func list(
        of organisation: OrganisationID, _ filter: RequestFilter, before: Int64?, limit: Int
    ) async throws -> (items: [ShownRequest], next: Int64?) {
        let rows = try await store.read { [table] db in
            try table.page(db, of: organisation, filter, before: before, limit: limit + 1)
        }
        return (try rows.prefix(limit).map(shown), rows.count > limit ? rows[limit - 1].number : nil)
    }

    func changed(of organisation: OrganisationID, after change: Int64, limit: Int) async throws -> [ShownRequest] {
        try await store.read { [table] db in try table.changed(db, of: organisation, after: change, limit: limit) }.map(shown)
    }

    func lastChange() async throws -> Int64 {
        try await store.read { [table] db in try table.lastChange(db) }
    }

    private func shown(_ stored: StoredMadeRequest) throws -> ShownRequest {
        ShownRequest(stored: stored, particulars: try vault.open(stored))
    }
}
