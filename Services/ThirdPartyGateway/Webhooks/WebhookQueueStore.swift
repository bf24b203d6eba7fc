// SQL sentences about messages on their way to endpoints: one channel for data, one for notices, each in order.

import Contracts
import Foundation
import GRDB
import Storage

struct WebhookQueueStore: Sendable {
    /// Items of one message.
    static let mostItems = 1000
    /// Subscriptions of one message.
    static let mostFeeds = 500
    /// An endpoint that is sent nothing for so long gets the heads, so that it knows that it has missed nothing.
    static let heartbeat = Duration.seconds(300)

    private static let columns = """
        number, message, endpoint, lane, content, created_at, due_at, attempts, first_attempt_at, last_attempt_at, last_outcome
        """

    let hub: FeedHub
    private let items = FeedItemStore()

    init(hub: FeedHub) {
        self.hub = hub
    }

    // MARK: Putting in

    /// For every endpoint that will take it, now or when it is well again.
    func enqueue(_ db: Database, _ notice: WebhookNotice, to organisation: OrganisationID, at now: Timestamp) throws {
        try enqueue(db, content: .notice(notice), to: organisation, at: now)
    }

    /// Likewise.
    func enqueue(_ db: Database, window: GroupWindowNotice, to organisation: OrganisationID, at now: Timestamp) throws {
        try enqueue(db, content: .window(window), to: organisation, at: now)
    }

    private func enqueue(_ db: Database, content: WebhookContent, to organisation: OrganisationID, at now: Timestamp) throws {
        let endpoints = try Data.fetchAll(
            db.cachedStatement(sql: "SELECT endpoint FROM endpoints WHERE organisation = ? AND state IN ('active', 'paused', 'gone')"),
            arguments: [organisation])
        for endpoint in endpoints { try insert(db, content, endpoint, .notices, at: now) }
        if !endpoints.isEmpty { db.afterCommit { [hub] in hub.notify(organisation) } }
    }

    private func insert(
        _ db: Database, _ content: WebhookContent, _ endpoint: some DatabaseValueConvertible, _ channel: WebhookChannel, at now: Timestamp
    ) throws {
        let text = String(decoding: try JSONEncoder().encode(content), as: UTF8.self)
        try db.cachedStatement(
            sql: "INSERT INTO webhook_messages (message, endpoint, lane, content, created_at, due_at) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [MessageID.random(), endpoint, channel.rawValue, text, now, now])
    }

    /// Makes one message of all that is new for the endpoint; the subscriptions that waited longest first.
    /// - Returns: whether there was anything.
    func form(_ db: Database, for endpoint: WebhookEndpointID, of organisation: OrganisationID, at now: Timestamp) throws -> Bool {
        guard try first(db, of: endpoint, .items) == nil else { return true }
        var room = Self.mostItems
        var parts: [WebhookContent.Part] = []
        for entry in try grown(db, endpoint, organisation, limit: Self.mostFeeds) where room > 0 {
            // Counted, since after a restore a new epoch's numbers begin far above the last.
            let (last, count) = try items.reach(db, entry.feed, after: entry.queued, limit: room)
            let through = count < room ? entry.head : last ?? entry.head
            parts.append(.init(feed: entry.feed, after: entry.queued, through: through))
            room -= count
        }
        guard !parts.isEmpty else { return false }
        try insert(db, .items(parts), endpoint, .items, at: now)
        let number = db.lastInsertedRowID
        for part in parts {
            try db.cachedStatement(
                sql: """
                    INSERT INTO endpoint_feeds (endpoint, feed, queued, turn) VALUES (?, ?, ?, ?)
                    ON CONFLICT (endpoint, feed) DO UPDATE SET queued = excluded.queued, turn = excluded.turn
                    """
            ).execute(arguments: [endpoint, part.feed, part.through, number])
        }
        return true
    }

    /// A message without items that carries the heads of what runs.
    /// - Returns: whether anything runs.
    func formHeartbeat(_ db: Database, for endpoint: WebhookEndpointID, of organisation: OrganisationID, at now: Timestamp) throws -> Bool {
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT number, head FROM feeds WHERE organisation = ? AND state = 'running' ORDER BY number LIMIT \(Self.mostFeeds)",
            arguments: [organisation])
        guard !rows.isEmpty else { return false }
        let parts = rows.map { WebhookContent.Part(feed: $0[0], after: $0[1], through: $0[1]) }
        try insert(db, .items(parts), endpoint, .items, at: now)
        return true
    }

    /// Whether there is anything that no message holds yet.
    func hasUnsentItems(_ db: Database, for endpoint: WebhookEndpointID, of organisation: OrganisationID) throws -> Bool {
        try !grown(db, endpoint, organisation, limit: 1).isEmpty
    }

    private func grown(
        _ db: Database, _ endpoint: WebhookEndpointID, _ organisation: OrganisationID, limit: Int
    ) throws -> [(feed: Int64, head: Int64, queued: Int64)] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT f.number, f.head, max(coalesce(e.queued, 0), f.released) FROM feeds f
                    LEFT JOIN endpoint_feeds e ON e.feed = f.number AND e.endpoint = ?
                    WHERE f.organisation = ? AND f.state = 'running' AND f.head > coalesce(e.queued, 0)
                    ORDER BY coalesce(e.turn, 0), f.number LIMIT ?
                    """), arguments: [endpoint, organisation, limit]
        ).map { ($0[0], $0[1], $0[2]) }
    }

    // MARK: Taking out

    /// The message of the channel that is sent first.
    func first(_ db: Database, of endpoint: WebhookEndpointID, _ channel: WebhookChannel) throws -> WebhookMessage? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.columns) FROM webhook_messages WHERE endpoint = ? AND lane = ? AND is_dead = 0 ORDER BY number LIMIT 1
                    """), arguments: [endpoint, channel.rawValue]
        ).flatMap(Self.message)
    }

    /// Nothing more is to be done for it.
    func remove(_ db: Database, _ message: WebhookMessage) throws {
        try db.cachedStatement(sql: "DELETE FROM webhook_messages WHERE number = ?").execute(arguments: [message.number])
    }

    /// After an attempt that did not settle it.
    func save(_ db: Database, _ message: WebhookMessage, isDead: Bool) throws {
        try db.cachedStatement(
            sql: """
                UPDATE webhook_messages
                SET due_at = ?, attempts = ?, first_attempt_at = ?, last_attempt_at = ?, last_outcome = ?, is_dead = ? WHERE number = ?
                """
        ).execute(arguments: [
            message.dueAt, message.attempts, message.firstAttemptAt, message.lastAttemptAt, message.lastOutcome, isDead, message.number,
        ])
    }

    /// The endpoint is well again: what waits is due, with the whole time ahead.
    func wake(_ db: Database, _ endpoint: WebhookEndpointID, at now: Timestamp) throws {
        try db.execute(
            sql: """
                UPDATE webhook_messages SET due_at = ?, attempts = 0, first_attempt_at = NULL WHERE endpoint = ? AND is_dead = 0
                """, arguments: [now, endpoint])
    }

    /// All endpoints of the organisation, with everything that waits for them.
    func forget(_ db: Database, _ organisation: OrganisationID) throws {
        try db.execute(sql: "DELETE FROM endpoints WHERE organisation = ?", arguments: [organisation])
        db.afterCommit { [hub] in hub.notify(organisation) }
    }

    /// What it holds cannot be read: those behind it must not wait for it. It stays to be seen.
    func setAside(_ db: Database, _ message: WebhookMessage) throws {
        try db.cachedStatement(sql: "UPDATE webhook_messages SET is_dead = 1, last_outcome = 'unreadable' WHERE number = ?")
            .execute(arguments: [message.number])
    }

    // MARK: Dead letters

    /// Oldest first.
    func dead(_ db: Database, of endpoint: WebhookEndpointID, after: Int64, limit: Int) throws -> [WebhookMessage] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT \(Self.columns) FROM webhook_messages WHERE endpoint = ? AND is_dead = 1 AND number > ? ORDER BY number LIMIT ?
                """, arguments: [endpoint, after, limit]
        ).compactMap(Self.message)
    }

    /// - Returns: whether there is such a dead letter.
    func resend(_ db: Database, _ id: MessageID, of endpoint: WebhookEndpointID, at now: Timestamp) throws -> Bool {
        try db.execute(
            sql: """
                UPDATE webhook_messages SET is_dead = 0, due_at = ?, attempts = 0, first_attempt_at = NULL
                WHERE message = ? AND endpoint = ? AND is_dead = 1
                """, arguments: [now, id, endpoint])
        return db.changesCount > 0
    }

    /// How many messages wait, and how many are dead.
    func counts(_ db: Database, of endpoint: WebhookEndpointID) throws -> (waiting: Int, dead: Int) {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT count(*) FILTER (WHERE is_dead = 0), count(*) FILTER (WHERE is_dead = 1) FROM webhook_messages WHERE endpoint = ?",
            arguments: [endpoint])
        return (row?[0] ?? 0, row?[1] ?? 0)
    }

    private static func message(_ row: Row) -> WebhookMessage? {
        guard let id: MessageID = row.value(1), let endpoint: WebhookEndpointID = row.value(2),
            let channel = WebhookChannel(rawValue: row[3])
        else { return nil }
        let content = (try? JSONDecoder().decode(WebhookContent.self, from: Data((row[4] as String).utf8))) ?? .unreadable
        return WebhookMessage(
            number: row[0], id: id, endpoint: endpoint, channel: channel, content: content, createdAt: row[5], dueAt: row[6],
            attempts: row[7], firstAttemptAt: row[8], lastAttemptAt: row[9], lastOutcome: row[10])
    }
}
