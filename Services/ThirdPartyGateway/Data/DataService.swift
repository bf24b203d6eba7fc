// Handing out what a request allows: checked here first, then by ingest, which records every page for the person (SHR-24).

import Contracts
import ServiceKit
import Storage

/// What of a request may leave now, and the request itself.
struct OpenedAccess: Sendable {
    let stored: StoredMadeRequest
    let access: DataAccess
}

struct DataService: Sendable {
    let store: Store
    let data: GrantedData
    let payments: PaymentRepository
    let memory: RequestMemory
    let clock: @Sendable () -> Timestamp
    private let table = RequestStore()

    init(store: Store, data: GrantedData, payments: PaymentRepository, clock: @escaping @Sendable () -> Timestamp) {
        (self.store, self.data, self.payments, self.clock) = (store, data, payments, clock)
        memory = RequestMemory(store: store)
    }

    /// Nil where there is no such request of this organisation.
    /// - Throws: `DataAccess.Refusal`.
    func open(
        _ id: RequestID, of organisation: OrganisationID, type: Metric, from: Timestamp?, to: Timestamp?
    ) async throws -> OpenedAccess? {
        guard let found = try await find(id, of: organisation) else { return nil }
        return OpenedAccess(
            stored: found.stored, access: try DataAccess(found.stored.request, isPaid: found.isPaid, type: type, from: from, to: to))
    }

    /// Nil where there is no such request of this organisation.
    func find(_ id: RequestID, of organisation: OrganisationID) async throws -> PayableState? {
        let found = try await memory.find(id) {
            try await store.readBriefly { [table, payments] db in
                guard let stored = try table.stored(db, id) else { return nil }
                return PayableState(stored: stored, isPaid: try payments.isPaid(db, id))
            }
        }
        return found?.stored.request.organisation == organisation ? found : nil
    }

    /// One page, oldest first.
    /// - Throws: `DataRefusal`.
    func page(_ opened: OpenedAccess, after: String?, limit: Int) async throws -> ReadSamples.Reply {
        let (access, request) = (opened.access, opened.stored.request)
        let reply = try await data.page(
            grant: access.grant, organisation: request.organisation, type: access.type, from: access.from, to: access.to, after: after,
            limit: limit)
        try await note(opened, values: reply.columns.count, isLast: reply.next == nil)
        return reply
    }

    /// Written where something changes by it: the first value, and the last page of a type whose period is over.
    /// - Throws: `DataAccess.Refusal` where what was paid has begun to go back meanwhile: the first value leaves in one transaction with
    ///   the note that keeps the money, or not at all.
    private func note(_ opened: OpenedAccess, values: Int, isLast: Bool) async throws {
        let (stored, access, now) = (opened.stored, opened.access, clock())
        let isFirst = stored.values == 0 && values > 0
        let isFinished = isLast && access.isWhole(stored.request, at: now) && !stored.delivered.contains(access.type)
        guard isFirst || isFinished else { return }
        try await store.write { [table, payments] db in
            // Other pages may have come meanwhile.
            guard let current = try table.stored(db, access.request) else { return }
            _ = try DataAccess.grant(of: current.request, isPaid: try payments.isPaid(db, access.request))
            try table.delivered(db, current, values: values, finished: isFinished ? [access.type] : [], at: now)
            if values > 0 { try payments.delivered(db, access.request) }
            let after = try table.stored(db, access.request)
            if let after, after.values == 0, after.request.deliveredAt != nil { try payments.undeliverable(db, access.request) }
        }
    }
}
