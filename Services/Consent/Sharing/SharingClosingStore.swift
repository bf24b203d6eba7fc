// What accounts and erasure do to a person's requests, inside their own transactions.

import Contracts
import GRDB

/// Ends what a person allowed when data or profile go (table SHR-S, SHR-15).
struct SharingClosingStore: Sendable {
    let repository: SharingRepository
    private let table = SharingStore()
    private let receipts = ReceiptStore()

    init(repository: SharingRepository) {
        self.repository = repository
    }

    /// The person deletes what was collected: every grant is revoked, requests that wait go on waiting.
    func dataDeleted(_ db: Database, of account: AccountNumber, at now: Timestamp, trace: String) throws {
        for var row in try table.inForce(db, of: account) {
            try row.request.withdrawn(at: now)
            try repository.changed(db, row, by: .person, SharingRepository.Moment(now: now, trace: trace))
        }
    }

    /// The person deletes the account: grants are revoked, waiting requests count as denied. What is said of them names nobody and
    /// holds no receipt, so that it outlives the erasure of the person's facts.
    func accountDeleted(_ db: Database, of account: AccountNumber, at now: Timestamp, trace: String) throws {
        for var row in try table.all(db, of: account) where row.request.isOpen {
            if row.request.status == .approved {
                try row.request.withdrawn(at: now)
            } else if row.request.isOverdue(at: now) {
                try row.request.expired(at: now)
            } else {
                try row.request.denied(at: now)
            }
            try repository.closed(db, row, SharingRepository.Moment(now: now, trace: trace))
        }
    }

    /// As the erasure of this scope asks for, at once when it is ordered.
    func ordered(_ db: Database, _ person: PersonID, scope: ErasureScope, at now: Timestamp, trace: String) throws {
        guard let account = try AccountStore().find(db, person: person)?.number else { return }
        switch scope {
        case .data: try dataDeleted(db, of: account, at: now, trace: trace)
        case .account: try accountDeleted(db, of: account, at: now, trace: trace)
        }
    }

    /// Takes a slice of the rows away, before the account's own row; what was collected is not here, so that erasing it alone takes nothing.
    /// What earlier versions kept of accesses may be very much, and goes first.
    /// - Returns: how many rows; to be called again until it is none.
    func erase(_ db: Database, _ person: PersonID, scope: ErasureScope) throws -> Int {
        guard scope == .account else { return 0 }
        let accesses = try EarlierAccesses().delete(db, of: person)
        guard accesses == 0, let account = try AccountStore().find(db, person: person)?.number else { return accesses }
        return try accesses + receipts.delete(db, of: account) + table.delete(db, of: account)
            + AnonymousSharingStore().delete(db, of: account)
    }
}
