// Takes down what the holders of data say was read, for the person's eyes.

import Contracts
import GRDB
import ServiceKit
import Storage

/// Follows `ingest.accesses`, each fact once; reads it back beside the request that allowed it.
struct AccessRecord: Sendable {
    let store: Store
    let sharing: SharingLedger
    /// From one transaction to the next: a thousand pages leave in a second, and the person's list may be so much behind.
    private static let pace = Duration.milliseconds(250)
    private let table = AccessTable()
    private let requests = SharingTable()

    init(store: Store, sharing: SharingLedger) {
        (self.store, self.sharing) = (store, sharing)
    }

    /// A part of the service.
    func follower(on runtime: Runtime) -> Follower {
        Follower(family: .accesses, on: runtime, store: store) { [self] db, event in
            try apply(db, event)
        } begin: { _, _, _ in
            // The family keeps no state, so that it has no snapshots.
        } after: { _ in
            // Sleeping gathers what comes within a moment; what is not taken down yet is in the log of who said it.
            try? await Task.sleep(for: Self.pace)
        }
    }

    func apply(_ db: Database, _ event: StreamEvent) throws {
        guard let read = try event.fact(DataRead.self, type: DataRead.type), let person = PersonID(event.header.subject) else { return }
        try table.add(db, read, of: person, at: event.header.at)
    }

    /// Newest first, each with the name of who read it as far as it is known.
    func page(
        of person: PersonID, before: Int64?, limit: Int
    ) async throws -> (items: [(StoredAccess, RequestDetails?)], next: Int64?) {
        try await store.read { [self] db in
            let found = try table.page(db, of: person, before: before, limit: limit + 1)
            var known: [GrantID: RequestDetails] = [:]
            let items = try found.prefix(limit).map { access -> (StoredAccess, RequestDetails?) in
                let grant = access.read.grant
                if known[grant] == nil, let row = try requests.find(db, grant: grant), row.request.person == person {
                    known[grant] = try sharing.details(of: row)
                }
                return (access, known[grant])
            }
            return (items, found.count > limit ? found[limit - 1].number : nil)
        }
    }
}
