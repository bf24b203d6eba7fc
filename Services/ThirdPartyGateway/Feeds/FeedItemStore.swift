// SQL sentences about the log of a subscription: numbered items, sealed under the person's key.

import Contracts
import Foundation
import GRDB
import Metrics
import Sealing

struct FeedItemStore: Sendable {
    /// Rows that one transaction deletes at most.
    static let slice = 2000
    /// Stands for a metric where an item is a `FeedNotice`; no metric has it. Such a row is not sealed: it says nothing about anybody.
    private static let notice = 0

    /// Adds what was read of one series, oldest first. A step that was delivered before is added again only where it has changed.
    /// - Parameter feed: takes the new head and the newest time; to be saved by the caller.
    /// - Returns: how many items.
    func append(_ db: Database, _ samples: [Sample], to feed: inout Feed, key: SymmetricKey, at now: Timestamp) throws -> Int {
        let before = feed.head
        guard let metric = samples.first?.type else { return 0 }
        let newest = try newest(db, feed.number, metric)
        for sample in samples {
            let members = FeedItem.members(of: sample)
            var replaces: Int64?
            if let newest, sample.at.milliseconds <= newest, let known = try latest(db, feed.number, metric, sample.at) {
                // What is damaged here is sent again, and holds up nothing.
                if let old = try? open(known.sealed, of: feed.number, number: known.number, key: key), old == members { continue }
                replaces = known.number
            }
            feed.head += 1
            if sample.at > feed.newest ?? Timestamp(milliseconds: .min) { feed.newest = sample.at }
            let sealed = try Seal.seal(members.utf8, key: key, context: Self.context(feed.number, feed.head))
            try db.cachedStatement(
                sql: "INSERT INTO feed_items (feed, number, metric, at, replaces, kept_at, sealed) VALUES (?, ?, ?, ?, ?, ?, ?)"
            ).execute(arguments: [feed.number, feed.head, Int(metric.number), sample.at, replaces, now, Data(sealed)])
        }
        return Int(feed.head - before)
    }

    /// Adds an item that tells something about the log.
    /// - Parameter feed: takes the new head; to be saved by the caller.
    func append(_ db: Database, _ notice: FeedNotice, to feed: inout Feed, at now: Timestamp) throws {
        feed.head += 1
        try db.cachedStatement(
            sql: "INSERT INTO feed_items (feed, number, metric, at, kept_at, sealed) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [feed.number, feed.head, Self.notice, now, now, Data(notice.members.utf8)])
    }

    /// The time of the newest item of that type that is kept.
    func newest(_ db: Database, _ feed: Int64, _ metric: Metric) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT max(at) FROM feed_items WHERE feed = ? AND metric = ?"), arguments: [feed, Int(metric.number)])
    }

    /// How many of the items after `after` there are, at most `limit`, and the number of the last of them.
    func reach(_ db: Database, _ feed: Int64, after: Int64, limit: Int) throws -> (last: Int64?, count: Int) {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT max(number), count(*) FROM (SELECT number FROM feed_items WHERE feed = ? AND number > ? ORDER BY number LIMIT ?)
                    """), arguments: [feed, after, limit])
        return (row?[0], row?[1] ?? 0)
    }

    private func latest(_ db: Database, _ feed: Int64, _ metric: Metric, _ at: Timestamp) throws -> (number: Int64, sealed: Data)? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT number, sealed FROM feed_items WHERE feed = ? AND metric = ? AND at = ? ORDER BY number DESC LIMIT 1"),
            arguments: [feed, Int(metric.number), at]
        ).map { ($0[0], $0[1]) }
    }

    /// The items after `after` up to `through`, at most `limit`; what may not be delivered any more, and what is damaged, as a place without
    /// content.
    func items(
        _ db: Database, of feed: Feed, after: Int64, through: Int64 = .max, limit: Int, key: SymmetricKey
    ) throws -> [FeedItem] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT number, metric, replaces, sealed FROM feed_items WHERE feed = ? AND number > ? AND number <= ?
                    ORDER BY number LIMIT ?
                    """),
            arguments: [feed.number, after, through, limit])
        let allowed = Set(feed.types.map { Int($0.number) })
        return rows.map { row in
            let (number, metric, sealed): (Int64, Int, Data) = (row[0], row[1], row[3])
            guard metric != Self.notice else { return FeedItem(number: number, members: String(decoding: sealed, as: UTF8.self)) }
            guard allowed.contains(metric) else { return FeedItem(number: number) }
            guard let members = try? open(sealed, of: feed.number, number: number, key: key) else {
                // It must not hold up what comes after it.
                Counter(label: "feed_items_unreadable_total").increment()
                return FeedItem(number: number, isUnreadable: true)
            }
            return FeedItem(number: number, members: members, replaces: row[2])
        }
    }

    private func open(_ sealed: Data, of feed: Int64, number: Int64, key: SymmetricKey) throws -> String {
        String(decoding: try Seal.open(sealed, key: key, context: Self.context(feed, number)), as: UTF8.self)
    }

    /// Binds a seal to its place.
    private static func context(_ feed: Int64, _ number: Int64) -> [UInt8] {
        Array("feed_items|\(feed)|\(number)".utf8)
    }

    // MARK: Forgetting

    /// Deletes what is older, oldest first, and remembers how far.
    /// - Returns: how many rows; `slice` means that there may be more.
    func release(_ db: Database, _ feed: Int64, before: Timestamp) throws -> Int {
        let last = try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT max(number) FROM (SELECT number, kept_at FROM feed_items WHERE feed = ? ORDER BY number LIMIT \(Self.slice))
                    WHERE kept_at < ?
                    """), arguments: [feed, before])
        guard let last else { return 0 }
        try db.cachedStatement(sql: "DELETE FROM feed_items WHERE feed = ? AND number <= ?").execute(arguments: [feed, last])
        let count = db.changesCount
        try db.cachedStatement(sql: "UPDATE feeds SET released = max(released, ?) WHERE number = ?").execute(arguments: [last, feed])
        return count
    }

    /// Those that hold something older, or something at all although they are over. Numbers are given in order of time, so that the
    /// first item alone is looked at: there may be a million behind it.
    func outworn(_ db: Database, before: Timestamp) throws -> [(feed: Int64, isOver: Bool)] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT number, state = 'over' FROM feeds WHERE released < head
                AND (SELECT state = 'over' OR kept_at < ? FROM feed_items WHERE feed = feeds.number ORDER BY number LIMIT 1)
                """, arguments: [before]
        ).map { ($0[0], $0[1]) }
    }

    /// - Returns: how many rows; to be called again until it is none.
    func erase(_ db: Database, feeds: [Int64]) throws -> Int {
        var count = 0
        for feed in feeds {
            try db.cachedStatement(
                sql: """
                    DELETE FROM feed_items WHERE feed = ?1 AND number IN
                    (SELECT number FROM feed_items WHERE feed = ?1 ORDER BY number LIMIT \(Self.slice))
                    """
            ).execute(arguments: [feed])
            count += db.changesCount
        }
        return count
    }
}
