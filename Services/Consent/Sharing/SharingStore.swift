// SQL sentences about requests and the grants that come of them. Who asks and what for is here only sealed.

import Contracts
import Foundation
import GRDB
import Storage

/// One request as the store has it.
struct StoredRequest: Sendable {
    let number: Int64
    let account: AccountNumber
    var request: SharingRequest
    /// `RequestDetails`, sealed under the person's key.
    let details: [UInt8]
}

/// A request and its grant are one row, so that a grant cannot outlive its request's approval (INV-03). The row's own rules repeat
/// what the domain decides: one organisation, one person, one status (INV-06), a grant exactly where somebody accepted.
struct SharingStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE sharing_requests (
                    number INTEGER PRIMARY KEY,
                    request BLOB NOT NULL UNIQUE,
                    organisation BLOB NOT NULL,
                    account INTEGER NOT NULL REFERENCES accounts (number),
                    person BLOB NOT NULL,
                    details BLOB NOT NULL,
                    types BLOB NOT NULL CHECK (length(types) > 0),
                    from_at INTEGER NOT NULL,
                    to_at INTEGER NOT NULL CHECK (to_at > from_at),
                    granularity TEXT NOT NULL,
                    opened_at INTEGER NOT NULL,
                    answer_by INTEGER NOT NULL,
                    status TEXT NOT NULL
                        CHECK (status IN ('PENDING', 'APPROVED', 'DECLINED', 'EXPIRED', 'REVOKED', 'ENDED')),
                    changed_at INTEGER NOT NULL,
                    answered_at INTEGER,
                    grant_id BLOB UNIQUE,
                    grant_types BLOB,
                    grant_version INTEGER,
                    CHECK ((grant_id IS NOT NULL) = (status IN ('APPROVED', 'REVOKED', 'ENDED'))),
                    CHECK ((grant_id IS NULL) = (grant_types IS NULL) AND (grant_id IS NULL) = (grant_version IS NULL))
                ) STRICT;
                CREATE INDEX sharing_requests_by_account ON sharing_requests (account, number);
                CREATE INDEX sharing_requests_due ON sharing_requests (answer_by) WHERE status = 'PENDING';
                CREATE TABLE sharing_unknown_codes (
                    organisation BLOB NOT NULL,
                    day INTEGER NOT NULL,
                    code_lookup BLOB NOT NULL,
                    PRIMARY KEY (organisation, day, code_lookup)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// For subscriptions that run out; what was delivered once is not in it.
    static func createRunning(in db: Database) throws {
        try db.execute(
            sql: "CREATE INDEX sharing_requests_running ON sharing_requests (to_at) WHERE status = 'APPROVED' AND to_at > opened_at")
    }

    /// For organisations that end.
    static func createByOrganisation(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE INDEX sharing_requests_open_by_organisation ON sharing_requests (organisation, number)
                WHERE status IN ('PENDING', 'APPROVED')
                """)
    }

    // MARK: Writing

    /// - Returns: the row's number.
    func add(_ db: Database, _ request: SharingRequest, of account: AccountNumber, details: [UInt8]) throws -> Int64 {
        try db.cachedStatement(
            sql: """
                INSERT INTO sharing_requests
                (request, organisation, account, person, details, types, from_at, to_at, granularity, opened_at, answer_by, status, changed_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            request.id, request.organisation, account, request.person, Data(details), request.scope.types.blob,
            request.scope.window.lowerBound, request.scope.window.upperBound, request.granularity.rawValue, request.openedAt,
            request.answerBy, request.status.rawValue, request.changedAt,
        ])
        return db.lastInsertedRowID
    }

    /// Stores what a transition has changed; what was asked never changes.
    func save(_ db: Database, _ request: SharingRequest) throws {
        try db.cachedStatement(
            sql: """
                UPDATE sharing_requests
                SET status = ?, changed_at = ?, answered_at = ?, grant_id = ?, grant_types = ?, grant_version = ?
                WHERE request = ?
                """
        ).execute(arguments: [
            request.status.rawValue, request.changedAt, request.answeredAt, request.grant?.id, request.grant?.scope.types.blob,
            request.grant?.version, request.id,
        ])
    }

    /// Takes every row of the account away: part of erasing the person. Receipts must have gone before.
    /// - Returns: how many.
    func delete(_ db: Database, of account: AccountNumber) throws -> Int {
        try db.cachedStatement(sql: "DELETE FROM sharing_requests WHERE account = ?").execute(arguments: [account])
        return db.changesCount
    }

    // MARK: Unknown fiscal codes

    /// How many different codes of nobody the organisation has asked for on that day.
    func unknownCodes(_ db: Database, of organisation: OrganisationID, day: Int64) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM sharing_unknown_codes WHERE organisation = ? AND day = ?"),
            arguments: [organisation, day]) ?? 0
    }

    /// The same code again counts once. Days before are forgotten.
    func noteUnknown(_ db: Database, _ lookup: [UInt8], of organisation: OrganisationID, day: Int64) throws {
        try db.cachedStatement(sql: "DELETE FROM sharing_unknown_codes WHERE day < ?").execute(arguments: [day])
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO sharing_unknown_codes VALUES (?, ?, ?)")
            .execute(arguments: [organisation, day, Data(lookup)])
    }
}

// MARK: Finding

extension SharingStore {
    private static let columns = """
        SELECT number, account, request, organisation, person, details, types, from_at, to_at, granularity, opened_at, answer_by,
        status, changed_at, answered_at, grant_id, grant_types, grant_version FROM sharing_requests
        """

    func find(_ db: Database, _ request: RequestID) throws -> StoredRequest? {
        try rows(db, "request = ?", [request]).first
    }

    func find(_ db: Database, grant: GrantID) throws -> StoredRequest? {
        try rows(db, "grant_id = ?", [grant]).first
    }

    /// All of one person, in the order in which they came.
    func all(_ db: Database, of account: AccountNumber) throws -> [StoredRequest] {
        try rows(db, "account = ? ORDER BY number", [account])
    }

    /// Newest first, those before row `before`.
    func page(_ db: Database, of account: AccountNumber, pending: Bool?, before: Int64?, limit: Int) throws -> [StoredRequest] {
        let filter =
            switch pending {
            case nil: ""
            case true?: " AND status = 'PENDING'"
            case false?: " AND status <> 'PENDING'"
            }
        return try rows(db, "account = ? AND number < ?\(filter) ORDER BY number DESC LIMIT ?", [account, before ?? .max, limit])
    }

    /// The grants in force of one person, oldest first.
    func inForce(_ db: Database, of account: AccountNumber) throws -> [StoredRequest] {
        try rows(db, "account = ? AND status = 'APPROVED' ORDER BY number", [account])
    }

    /// Everything that one organisation has asked of one person.
    func all(_ db: Database, of account: AccountNumber, by organisation: OrganisationID) throws -> [StoredRequest] {
        try rows(db, "account = ? AND organisation = ? ORDER BY number", [account, organisation])
    }

    /// What an organisation still waits for or has access to, oldest first.
    func open(_ db: Database, by organisation: OrganisationID, limit: Int) throws -> [StoredRequest] {
        try rows(db, "organisation = ? AND status IN ('PENDING', 'APPROVED') ORDER BY number LIMIT ?", [organisation, limit])
    }

    /// Pending ones whose time is over, longest overdue first.
    func overdue(_ db: Database, at now: Timestamp, limit: Int) throws -> [StoredRequest] {
        try rows(db, "status = 'PENDING' AND answer_by <= ? ORDER BY answer_by LIMIT ?", [now, limit])
    }

    /// Subscriptions whose period ended by `moment` and was accepted by then, the earliest first.
    func runOut(_ db: Database, by moment: Timestamp, limit: Int) throws -> [StoredRequest] {
        try rows(
            db, "status = 'APPROVED' AND to_at > opened_at AND to_at <= ?1 AND answered_at <= ?1 ORDER BY to_at LIMIT ?2", [moment, limit])
    }

    /// When the next pending request becomes overdue; nil where none waits.
    func nextDue(_ db: Database) throws -> Timestamp? {
        try Timestamp.fetchOne(db.cachedStatement(sql: "SELECT min(answer_by) FROM sharing_requests WHERE status = 'PENDING'"))
    }

    /// For snapshots: in the order of numbers, at most `limit`.
    func page(_ db: Database, after number: Int64, limit: Int) throws -> [StoredRequest] {
        try rows(db, "number > ? ORDER BY number LIMIT ?", [number, limit])
    }

    /// For snapshots of grants: in the order of their ids, by which followers keep them, so that those write side by side what comes
    /// one after the other, and not all over a large file.
    func pageInForce(_ db: Database, after grant: GrantID, limit: Int) throws -> [StoredRequest] {
        try rows(db, "grant_id > ? AND status = 'APPROVED' ORDER BY grant_id LIMIT ?", [grant, limit])
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [StoredRequest] {
        try Row.fetchAll(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).map { row in
            guard let read = StoredRequest(row) else { throw UnreadableRow() }
            return read
        }
    }
}

/// A row that this program cannot have written.
struct UnreadableRow: Error {}

extension StoredRequest {
    fileprivate init?(_ row: Row) {
        guard let id: RequestID = row.value(2), let organisation: OrganisationID = row.value(3),
            let person: PersonID = row.value(4), let types = Set<Metric>(blob: row[6] as Data),
            let granularity = GrantGranularity(rawValue: row[9]), let status = RequestStatus(rawValue: row[12])
        else { return nil }
        let (from, to): (Timestamp, Timestamp) = (row[7], row[8])
        guard from <= to, let scope = SharingScope(types: types, window: from..<to) else { return nil }
        var grant: SharingGrant?
        if let grantID = row[15] as Data? {
            guard let id = GrantID(bytes: grantID), let types = Set<Metric>(blob: row[16] as Data),
                let allowed = SharingScope(types: types, window: from..<to)
            else { return nil }
            grant = SharingGrant(id: id, scope: allowed, version: row[17])
        }
        let request = SharingRequest(
            id: id, organisation: organisation, person: person, scope: scope, granularity: granularity,
            openedAt: row[10], answerBy: row[11], status: status, changedAt: row[13], answeredAt: row[14], grant: grant)
        self.init(number: row[0], account: row[1], request: request, details: [UInt8](row[5] as Data))
    }
}

extension Set<Metric> {
    /// One byte a metric, ascending.
    fileprivate var blob: Data { Data(map(\.number).sorted()) }

    fileprivate init?(blob: Data) {
        let metrics = blob.compactMap { Metric(number: $0) }
        guard metrics.count == blob.count else { return nil }
        self = Set(metrics)
    }
}
