// SQL sentences about group requests: written before the anonymiser is asked, so that a crash loses none. Forms and answers are sealed.

import Contracts
import Foundation
import GRDB
import Storage

/// One group request as the store has it.
struct StoredGroupRequest: Hashable, Sendable {
    /// In the order of asking.
    let number: Int64
    let id: GroupRequestID
    let organisation: OrganisationID
    let status: GroupRequestStatus
    /// `GroupDraft`, sealed.
    let draft: [UInt8]
    /// What the anonymiser answered, sealed; nil until it has.
    let outcome: [UInt8]?
    let createdAt: Timestamp
    let answeredAt: Timestamp?
    /// Of a subscription that its organisation ended.
    let endedAt: Timestamp?
}

/// `group_requests`. Rows hold nothing of people; they are the organisation's secrets and go with it.
struct GroupRequestStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE group_requests (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    request BLOB NOT NULL UNIQUE,
                    organisation BLOB NOT NULL,
                    status TEXT NOT NULL CHECK (status IN ('sending', 'accepted', 'refused', 'invalid')),
                    draft BLOB NOT NULL,
                    outcome BLOB,
                    created_at INTEGER NOT NULL,
                    answered_at INTEGER,
                    -- When the anonymiser was last asked in vain, or the row was made.
                    tried_at INTEGER NOT NULL,
                    CHECK ((status = 'sending') = (outcome IS NULL)),
                    CHECK ((status = 'sending') = (answered_at IS NULL))
                ) STRICT;
                CREATE INDEX group_requests_by_organisation ON group_requests (organisation, number);
                CREATE INDEX group_requests_sending ON group_requests (tried_at) WHERE status = 'sending';
                CREATE INDEX group_requests_in_vain ON group_requests (answered_at) WHERE status IN ('refused', 'invalid');
                """)
    }

    // MARK: Writing

    func add(_ db: Database, _ id: GroupRequestID, of organisation: OrganisationID, draft: [UInt8], at now: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO group_requests (request, organisation, status, draft, created_at, tried_at)
                VALUES (?, ?, 'sending', ?, ?, ?)
                """
        ).execute(arguments: [id, organisation, Data(draft), now, now])
    }

    /// Keeps what came of it, once.
    /// - Returns: false where it was settled before, or is gone with its organisation.
    func settle(
        _ db: Database, _ id: GroupRequestID, _ status: GroupRequestStatus, outcome: [UInt8], isSubscription: Bool, at now: Timestamp
    ) throws -> Bool {
        try db.cachedStatement(
            sql: """
                UPDATE group_requests SET status = ?, outcome = ?, is_subscription = ?, answered_at = ?
                WHERE request = ? AND status = 'sending'
                """
        ).execute(arguments: [status.rawValue, Data(outcome), isSubscription, now, id])
        return db.changesCount == 1
    }

    /// A subscription is ended by its organisation.
    /// - Returns: false for what is none, and where it was ended before.
    func end(_ db: Database, _ id: GroupRequestID, at now: Timestamp) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE group_requests SET ended_at = ? WHERE request = ? AND is_subscription = 1 AND ended_at IS NULL"
        ).execute(arguments: [now, id])
        return db.changesCount == 1
    }

    /// The anonymiser did not answer: others are asked about first.
    func triedInVain(_ db: Database, _ id: GroupRequestID, at now: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE group_requests SET tried_at = ? WHERE request = ?").execute(arguments: [now, id])
    }

    /// Those of which nothing came.
    func expire(_ db: Database, before moment: Timestamp) throws {
        var slice = DeletionSlice()
        try slice.delete(db, from: "group_requests", where: "status IN ('refused', 'invalid') AND answered_at < ?", [moment])
    }

    /// With their windows; the anonymiser is told of subscriptions that end so.
    func deleteAll(_ db: Database, of organisation: OrganisationID) throws {
        let windows = GroupWindowStore()
        try windows.oweAll(db, of: organisation)
        try windows.deleteAll(db, of: organisation)
        try db.cachedStatement(sql: "DELETE FROM group_requests WHERE organisation = ?").execute(arguments: [organisation])
    }

    // MARK: Reading

    private static let columns =
        "SELECT number, request, organisation, status, draft, outcome, created_at, answered_at, ended_at FROM group_requests"

    func find(_ db: Database, _ id: GroupRequestID) throws -> StoredGroupRequest? {
        try rows(db, "request = ?", [id]).first
    }

    /// Newest first, those before row `before`.
    func page(_ db: Database, of organisation: OrganisationID, before: Int64?, limit: Int) throws -> [StoredGroupRequest] {
        try rows(db, "organisation = ? AND number < ? ORDER BY number DESC LIMIT ?", [organisation, before ?? .max, limit])
    }

    /// Those that the anonymiser has not answered.
    func waiting(_ db: Database, limit: Int) throws -> [StoredGroupRequest] {
        try rows(db, "status = 'sending' ORDER BY tried_at LIMIT ?", [limit])
    }

    /// How many of them were sent before a moment.
    func waiting(_ db: Database, since moment: Timestamp) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM group_requests WHERE status = 'sending' AND created_at < ?"), arguments: [moment]
        ) ?? 0
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [StoredGroupRequest] {
        try Row.fetchAll(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).map { row in
            guard let id: GroupRequestID = row.value(1), let organisation: OrganisationID = row.value(2),
                let status = GroupRequestStatus(rawValue: row[3])
            else { throw UnreadableRequest() }
            return StoredGroupRequest(
                number: row[0], id: id, organisation: organisation, status: status, draft: [UInt8](row[4] as Data),
                outcome: (row[5] as Data?).map { [UInt8]($0) }, createdAt: row[6], answeredAt: row[7],
                endedAt: row[8])
        }
    }
}
