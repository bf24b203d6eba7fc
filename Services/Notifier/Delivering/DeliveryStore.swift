// SQL sentences over the table `deliveries`.

import Contracts
import Foundation
import GRDB
import Storage

/// Every sentence runs in its caller's transaction.
struct DeliveryStore: Sendable {
    func insert(_ db: Database, _ id: DeliveryID, _ delivery: Delivery, recipient: [UInt8]?, urgent: Bool) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO deliveries (message, channel, target, recipient, state, reason, attempts, provider, moves_on, refused_by,
                    begun_at, next_at, not_after, settled, urgent)
                VALUES (?, ?, ?, ?, ?, ?, 0, NULL, 0, '', NULL, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            id.message, id.channel.rawValue, id.target, recipient.map { Data($0) }, delivery.state.rawValue, delivery.reason,
            delivery.nextAt, delivery.notAfter, delivery.isSettled, urgent,
        ])
    }

    /// False where the row is gone.
    @discardableResult
    func update(_ db: Database, _ id: DeliveryID, _ delivery: Delivery) throws -> Bool {
        try db.cachedStatement(
            sql: """
                UPDATE deliveries SET state = ?, reason = ?, attempts = ?, provider = ?, moves_on = ?, refused_by = ?,
                    first_at = coalesce(first_at, ?), begun_at = ?, next_at = ?, settled = ?
                WHERE message = ? AND channel = ? AND target = ?
                """
        ).execute(arguments: [
            delivery.state.rawValue, delivery.reason, delivery.attempts, delivery.provider, delivery.movesOn,
            delivery.refusedBy.sorted().joined(separator: " "), delivery.begunAt, delivery.begunAt, delivery.nextAt, delivery.isSettled,
            id.message, id.channel.rawValue, id.target,
        ])
        return db.changesCount > 0
    }

    func find(_ db: Database, _ id: DeliveryID) throws -> Delivery? {
        try Row.fetchOne(
            db, sql: "SELECT * FROM deliveries WHERE message = ? AND channel = ? AND target = ?",
            arguments: [id.message, id.channel.rawValue, id.target]
        ).map(Delivery.init)
    }

    func all(_ db: Database, of message: MessageID) throws -> [(id: DeliveryID, delivery: Delivery)] {
        try Row.fetchAll(db, sql: "SELECT * FROM deliveries WHERE message = ?", arguments: [message]).compactMap { row in
            DeliveryID(row).map { ($0, Delivery(row)) }
        }
    }

    /// When the next attempt on the channel is due; nil where nothing waits.
    func nextDue(_ db: Database, _ channel: Channel, urgentOnly: Bool) throws -> Timestamp? {
        try Timestamp.fetchOne(
            db,
            sql: """
                SELECT min(next_at) FROM deliveries WHERE channel = ? AND settled = 0 AND state = 'queued' AND begun_at IS NULL
                \(urgentOnly ? "AND urgent = 1" : "")
                """, arguments: [channel.rawValue])
    }

    /// What is due now of urgent or of other messages, the longest waiting first, with the look-up of its recipient where messages
    /// to it are counted.
    func due(
        _ db: Database, _ channel: Channel, urgent: Bool, at now: Timestamp, limit: Int
    ) throws -> [(id: DeliveryID, delivery: Delivery, recipient: Data?)] {
        guard limit > 0 else { return [] }
        return try Row.fetchAll(
            db,
            sql: """
                SELECT * FROM deliveries
                WHERE channel = ? AND settled = 0 AND state = 'queued' AND begun_at IS NULL AND next_at <= ? AND not_after > ?
                AND urgent = \(urgent ? 1 : 0) ORDER BY next_at LIMIT ?
                """, arguments: [channel.rawValue, now, now, limit]
        ).compactMap { row in DeliveryID(row).map { ($0, Delivery(row), urgent ? nil : row["recipient"]) } }
    }

    /// How many messages the address got first attempts of since `since`, and when the first of these was. Those that lie ahead were begun
    /// before the clock was set back.
    func begun(
        _ db: Database, for recipient: Data, on channel: Channel, since: Timestamp, at now: Timestamp
    ) throws -> (count: Int, oldest: Timestamp?) {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT count(*) AS n, min(first_at) AS oldest FROM deliveries
                WHERE recipient = ? AND channel = ? AND first_at > ? AND first_at <= ? AND urgent = 0
                """,
            arguments: [recipient, channel.rawValue, since, now])
        return (row?["n"] ?? 0, row?.value("oldest"))
    }

    /// Attempts that were under way when the service ended.
    func interrupted(_ db: Database) throws -> [(id: DeliveryID, delivery: Delivery)] {
        try rows(db, "begun_at IS NOT NULL", [])
    }

    /// What is unsettled although its time is over.
    func overdue(_ db: Database, at now: Timestamp, limit: Int) throws -> [(id: DeliveryID, delivery: Delivery)] {
        try rows(
            db, "begun_at IS NULL AND (state = 'queued' AND not_after <= ? OR state = 'sent' AND next_at <= ?) LIMIT ?", [now, now, limit])
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [(id: DeliveryID, delivery: Delivery)]
    {
        try Row.fetchAll(db, sql: "SELECT * FROM deliveries WHERE settled = 0 AND \(condition)", arguments: arguments).compactMap { row in
            DeliveryID(row).map { ($0, Delivery(row)) }
        }
    }

    private static let isStray = """
        settled = 0 AND state = 'queued' AND begun_at IS NULL
        AND next_at > CASE WHEN urgent = 1 AND first_at IS NULL THEN ? WHEN urgent = 1 OR attempts > 0 THEN ? ELSE ? END
        """

    /// From when on an attempt lies further ahead than anything puts it off; a second more, since two looks at a clock may differ. An urgent
    /// one that was never tried is put off by nothing, one that is not urgent by the rate limit too.
    private static func strayFrom(_ now: Timestamp, _ pace: Pace) -> [Timestamp] {
        let usual = now + pace.longestPause + .seconds(1)
        return [now + .seconds(1), usual, max(usual, now + Pace.rateLimit + .seconds(1))]
    }

    /// Whether `hasten` has anything to do.
    func hasStray(_ db: Database, at now: Timestamp, _ pace: Pace) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM deliveries WHERE \(Self.isStray))",
            arguments: StatementArguments(Self.strayFrom(now, pace))) ?? false
    }

    func hasten(_ db: Database, at now: Timestamp, _ pace: Pace) throws {
        try db.execute(
            sql: "UPDATE deliveries SET next_at = ? WHERE \(Self.isStray)",
            arguments: StatementArguments([now] + Self.strayFrom(now, pace)))
    }

    /// For gauges: how many wait on each channel and since when the longest.
    func waiting(_ db: Database) throws -> [(channel: Channel, count: Int, oldest: Timestamp)] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT d.channel AS channel, count(*) AS n, min(m.created_at) AS oldest
                FROM deliveries d JOIN messages m ON m.message = d.message
                WHERE d.settled = 0 AND d.state = 'queued' GROUP BY d.channel
                """
        ).compactMap { row in Channel(rawValue: row["channel"]).map { ($0, row["n"], row["oldest"]) } }
    }
}
