// SQL sentences about the requests that organisations have made. Who was asked and why is here only sealed.

import Contracts
import Foundation
import GRDB
import Storage

/// Whom a request is about and why, sealed.
struct SealedParticulars: Hashable, Sendable {
    let bytes: [UInt8]
    /// Under the person's own key; under the service's until consent has named the person.
    let isPersons: Bool
}

/// One request as the store has it.
struct StoredMadeRequest: Sendable {
    /// In the order of asking, from 1.
    let number: Int64
    var request: MadeRequest
    /// Nil where the person is erased, or where the answer to the question has not come yet.
    let particulars: SealedParticulars?
    /// Types that were read to their end, the period being over.
    let delivered: Set<Metric>
    /// Values that have left.
    let values: Int64
    /// Counts up over all requests with everything that an organisation can see.
    let change: Int64
}

/// A row stays when its person is erased, without anything that tells who that was: amounts may be due for it.
struct RequestStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE requests (
                    number INTEGER PRIMARY KEY,
                    request BLOB NOT NULL UNIQUE,
                    organisation BLOB NOT NULL,
                    person BLOB,
                    particulars BLOB,
                    -- Whether `particulars` are sealed under the person's key.
                    is_persons INTEGER NOT NULL DEFAULT 0,
                    asked BLOB NOT NULL,
                    types BLOB NOT NULL,
                    from_at INTEGER NOT NULL,
                    to_at INTEGER NOT NULL,
                    granularity TEXT NOT NULL,
                    is_subscription INTEGER NOT NULL,
                    status TEXT NOT NULL
                        CHECK (status IN ('PENDING', 'APPROVED', 'DECLINED', 'EXPIRED', 'REVOKED', 'ENDED')),
                    grant_id BLOB,
                    answer_by INTEGER NOT NULL,
                    created_at INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL,
                    paid_at INTEGER,
                    delivered_at INTEGER,
                    delivered BLOB NOT NULL DEFAULT x'',
                    value_count INTEGER NOT NULL DEFAULT 0,
                    change INTEGER NOT NULL UNIQUE
                ) STRICT;
                CREATE INDEX requests_by_organisation ON requests (organisation, number);
                CREATE INDEX requests_by_change ON requests (organisation, change);
                CREATE INDEX requests_by_person ON requests (person);
                CREATE INDEX requests_delivered ON requests (delivered_at) WHERE status = 'APPROVED';
                """)
    }

    /// A later step of the schema: why nothing leaves although it was paid once.
    static func addHold(to db: Database) throws {
        try db.execute(sql: "ALTER TABLE requests ADD COLUMN hold TEXT CHECK (hold IN ('given-back', 'contested'))")
    }

    // MARK: Writing

    /// One that is not known yet.
    func add(_ db: Database, _ request: MadeRequest) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO requests (request, organisation, person, asked, types, from_at, to_at, granularity, is_subscription, status,
                    grant_id, answer_by, created_at, changed_at, change)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(change), 0) + 1 FROM requests))
                """
        ).execute(arguments: [
            request.id, request.organisation, request.person, Data(request.asked), Data(request.types), request.from, request.to,
            request.granularity.rawValue, request.isSubscription, request.status.rawValue, request.grant, request.answerBy,
            request.createdAt, request.changedAt,
        ])
    }

    /// What consent has said of it.
    func save(_ db: Database, _ request: MadeRequest) throws {
        try db.cachedStatement(
            sql: "UPDATE requests SET person = ?, types = ?, status = ?, grant_id = ?, changed_at = ?, \(Self.nextChange) WHERE request = ?"
        ).execute(arguments: [request.person, Data(request.types), request.status.rawValue, request.grant, request.changedAt, request.id])
    }

    private static let nextChange = "change = (SELECT max(change) + 1 FROM requests)"

    /// What was asked, once its answer has come; a fact of consent may have come before it.
    func keep(_ db: Database, _ particulars: SealedParticulars, isSubscription: Bool, of request: RequestID) throws {
        try db.cachedStatement(
            sql: "UPDATE requests SET particulars = ?, is_persons = ?, is_subscription = ?, \(Self.nextChange) WHERE request = ?"
        ).execute(arguments: [Data(particulars.bytes), particulars.isPersons, isSubscription, request])
    }

    /// The same words under another key: nothing that anybody sees.
    func replace(_ db: Database, _ particulars: SealedParticulars, of request: RequestID) throws {
        try db.cachedStatement(sql: "UPDATE requests SET particulars = ?, is_persons = ? WHERE request = ?")
            .execute(arguments: [Data(particulars.bytes), particulars.isPersons, request])
    }

    /// Nothing is due for it any more.
    func paid(_ db: Database, _ request: RequestID, at now: Timestamp) throws {
        try db.cachedStatement(
            sql: "UPDATE requests SET paid_at = ?, hold = NULL, \(Self.nextChange) WHERE request = ? AND paid_at IS NULL"
        ).execute(arguments: [now, request])
    }

    /// What was paid has gone back or is contested; nil where it is due again.
    func unpaid(_ db: Database, _ request: RequestID, _ hold: PaymentHold?) throws {
        try db.cachedStatement(
            sql: """
                UPDATE requests SET paid_at = NULL, hold = ?1, \(Self.nextChange)
                WHERE request = ?2 AND (paid_at IS NOT NULL OR hold IS NOT ?1)
                """
        ).execute(arguments: [hold?.rawValue, request])
    }

    /// Values have left. `finished` types were read to their end; once all are, the request is delivered.
    func delivered(
        _ db: Database, _ stored: StoredMadeRequest, values: Int, finished: Set<Metric>, at now: Timestamp
    ) throws {
        let all = stored.delivered.union(finished)
        let isWhole = all.isSuperset(of: stored.request.types)
        try db.cachedStatement(
            sql: """
                UPDATE requests SET value_count = value_count + ?, delivered = ?,
                delivered_at = CASE WHEN ? THEN coalesce(delivered_at, ?) ELSE delivered_at END WHERE request = ?
                """
        ).execute(arguments: [values, Data(Array(all)), isWhole, now, stored.request.id])
    }

    /// Nothing tells any more whom it was about.
    func forgetPerson(_ db: Database, of request: RequestID) throws {
        try db.cachedStatement(sql: "UPDATE requests SET person = NULL, particulars = NULL, \(Self.nextChange) WHERE request = ?")
            .execute(arguments: [request])
    }

    /// As `forgetPerson`, for a slice of one person's: part of erasing them.
    /// - Returns: how many; to be called again until it is none.
    func forget(_ db: Database, _ person: PersonID) throws -> Int {
        let requests = try Data.fetchAll(
            db.cachedStatement(sql: "SELECT request FROM requests WHERE person = ? LIMIT \(DeletionSlice.rows)"),
            arguments: [person]
        ).compactMap { RequestID(bytes: $0) }
        for request in requests { try forgetPerson(db, of: request) }
        return requests.count
    }
}

// MARK: Finding

/// Which of an organisation's requests a list shows (ORG-17).
struct RequestFilter: Hashable, Sendable {
    var status: RequestStatus?
    var isSubscription: Bool?
    /// Of the asking, in UTC.
    var month: Range<Timestamp>?
    var type: Metric?
    /// Paid and accepted: what the console shows under "Data acquired".
    var isAcquired = false
}

extension RequestStore {
    private static let columns = """
        SELECT number, request, organisation, person, particulars, is_persons, asked, types, from_at, to_at, granularity,
        is_subscription, status, grant_id, answer_by, created_at, changed_at, paid_at, delivered_at, delivered, value_count, change,
        hold FROM requests
        """

    func find(_ db: Database, _ request: RequestID) throws -> MadeRequest? {
        try stored(db, request)?.request
    }

    func stored(_ db: Database, _ request: RequestID) throws -> StoredMadeRequest? {
        try rows(db, "request = ?", [request]).first
    }

    /// Newest first, those before row `before`.
    func page(
        _ db: Database, of organisation: OrganisationID, _ filter: RequestFilter, before: Int64?, limit: Int
    ) throws -> [StoredMadeRequest] {
        var condition = "organisation = ? AND number < ?"
        var arguments: StatementArguments = [organisation, before ?? .max]
        if let status = filter.status {
            condition += " AND status = ?"
            arguments += [status.rawValue]
        }
        if let isSubscription = filter.isSubscription {
            condition += " AND is_subscription = ?"
            arguments += [isSubscription]
        }
        if let month = filter.month {
            condition += " AND created_at >= ? AND created_at < ?"
            arguments += [month.lowerBound, month.upperBound]
        }
        if let type = filter.type {
            condition += " AND instr(asked, ?) > 0"
            arguments += [Data([type.number])]
        }
        if filter.isAcquired { condition += " AND grant_id IS NOT NULL AND paid_at IS NOT NULL" }
        arguments += [limit]
        return try rows(db, "\(condition) ORDER BY number DESC LIMIT ?", arguments)
    }

    /// What has changed since, oldest first; of each request its last change.
    func changed(_ db: Database, of organisation: OrganisationID, after change: Int64, limit: Int) throws -> [StoredMadeRequest] {
        try rows(db, "organisation = ? AND change > ? ORDER BY change LIMIT ?", [organisation, change, limit])
    }

    /// The last change of all; 0 where there is none.
    func lastChange(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(change) FROM requests")) ?? 0
    }

    /// How many of an organisation's are PENDING and how many APPROVED.
    func openCounts(_ db: Database, of organisation: OrganisationID) throws -> (pending: Int, approved: Int) {
        func count(_ status: RequestStatus) throws -> Int {
            try Int.fetchOne(
                db.cachedStatement(sql: "SELECT count(*) FROM requests WHERE organisation = ? AND status = ?"),
                arguments: [organisation, status.rawValue]) ?? 0
        }
        return (try count(.pending), try count(.approved))
    }

    /// All, in the order of their ids, also those that are over.
    func known(_ db: Database, after: [UInt8], limit: Int) throws -> [RequestID] {
        try Data.fetchAll(
            db.cachedStatement(sql: "SELECT request FROM requests WHERE request > ? ORDER BY request LIMIT ?"),
            arguments: [Data(after), limit]
        ).compactMap { RequestID(bytes: $0) }
    }

    /// Those of known people that are still sealed under the service's key.
    func waitingForKey(_ db: Database, limit: Int) throws -> [StoredMadeRequest] {
        try rows(db, "person IS NOT NULL AND particulars IS NOT NULL AND is_persons = 0 LIMIT ?", [limit])
    }

    func all(_ db: Database, of person: PersonID) throws -> [StoredMadeRequest] {
        try rows(db, "person = ?", [person])
    }

    /// Approved ones whose closed period was handed out in full before `moment`.
    func deliveredInFull(_ db: Database, before moment: Timestamp, limit: Int) throws -> [StoredMadeRequest] {
        try rows(db, "status = 'APPROVED' AND delivered_at <= ? AND is_subscription = 0 ORDER BY delivered_at LIMIT ?", [moment, limit])
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [StoredMadeRequest] {
        try Row.fetchAll(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).map { row in
            guard let read = StoredMadeRequest(row) else { throw UnreadableRequest() }
            return read
        }
    }
}

/// A row that this program cannot have written.
struct UnreadableRequest: Error {}

extension StoredMadeRequest {
    fileprivate init?(_ row: Row) {
        guard let id: RequestID = row.value(1), let organisation: OrganisationID = row.value(2),
            let asked = [Metric](row[6] as Data), let types = [Metric](row[7] as Data),
            let granularity = GrantGranularity(rawValue: row[10]), let status = RequestStatus(rawValue: row[12]),
            let delivered = [Metric](row[19] as Data)
        else { return nil }
        let request = MadeRequest(
            id: id, organisation: organisation, person: row.value(3), asked: asked, types: types, from: row[8], to: row[9],
            granularity: granularity, isSubscription: row[11], status: status, grant: row.value(13), answerBy: row[14], createdAt: row[15],
            changedAt: row[16], paidAt: row[17], deliveredAt: row[18], hold: (row[22] as String?).flatMap(PaymentHold.init(rawValue:)))
        let particulars = (row[4] as Data?).map { SealedParticulars(bytes: [UInt8]($0), isPersons: row[5]) }
        self.init(
            number: row[0], request: request, particulars: particulars, delivered: Set(delivered), values: row[20], change: row[21])
    }
}

extension Data {
    /// One byte a metric, ascending.
    fileprivate init(_ metrics: [Metric]) {
        self.init(metrics.map(\.number).sorted())
    }
}

extension Array where Element == Metric {
    /// Nil where a number is no metric's.
    fileprivate init?(_ blob: Data) {
        let metrics = blob.compactMap { Metric(number: $0) }
        guard metrics.count == blob.count else { return nil }
        self = metrics
    }
}
