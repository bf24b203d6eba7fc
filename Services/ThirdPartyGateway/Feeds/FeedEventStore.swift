// SQL sentences about what has to be read yet: stretches of time of one data type of one subscription.

import Contracts
import GRDB

/// A stretch that holds something which was not read yet.
struct FeedEvent: Hashable, Sendable {
    let feed: Feed
    let metric: Metric
    let range: Range<Int64>
    /// Changes with each arrival inside it, so that one that comes while it is being read is not lost.
    let mark: Int64
}

struct FeedEventStore: Sendable {
    private let feeds = FeedStore()

    /// Something arrived; where it touches what is known already, that becomes longer.
    func mark(_ db: Database, _ feed: Feed, _ metric: Metric, _ range: Range<Int64>) throws {
        let steps = feed.steps.touched(range, window: feed.window)
        guard !steps.isEmpty else { return }
        try db.cachedStatement(
            sql: """
                UPDATE feed_news SET to_ms = max(to_ms, ?4), mark = mark + (?3 < to_ms)
                WHERE feed = ?1 AND metric = ?2 AND from_ms <= ?3 AND to_ms >= ?3
                """
        ).execute(arguments: [feed.number, Int(metric.number), steps.lowerBound, steps.upperBound])
        guard db.changesCount == 0 else { return }
        try save(db, feed, metric, steps, dueAt: feed.steps.over(steps.lowerBound, window: feed.window))
    }

    private func save(_ db: Database, _ feed: Feed, _ metric: Metric, _ range: Range<Int64>, dueAt: Int64) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO feed_news (feed, metric, from_ms, to_ms, due_at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (feed, metric, from_ms) DO UPDATE SET
                to_ms = max(to_ms, excluded.to_ms), due_at = min(due_at, excluded.due_at), mark = mark + 1
                """
        ).execute(arguments: [feed.number, Int(metric.number), range.lowerBound, range.upperBound, dueAt])
    }

    /// What can be read by now, the longest due first.
    func due(_ db: Database, at now: Timestamp, limit: Int) throws -> [FeedEvent] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT feed, metric, from_ms, to_ms, mark FROM feed_news WHERE due_at <= ? ORDER BY due_at LIMIT ?"),
            arguments: [now, limit])
        var known: [Int64: Feed] = [:]
        return try rows.compactMap { row in
            let number: Int64 = row[0]
            if known[number] == nil { known[number] = try feeds.find(db, number) }
            guard let feed = known[number], let metric = Metric(number: row[1]) else { return nil }
            return FeedEvent(feed: feed, metric: metric, range: (row[2] as Int64)..<(row[3] as Int64), mark: row[4])
        }
    }

    /// When there is something to read next; nil where nothing waits.
    func nextDue(_ db: Database) throws -> Timestamp? {
        try Timestamp.fetchOne(db.cachedStatement(sql: "SELECT min(due_at) FROM feed_news"))
    }

    /// It was read up to there; the rest waits for its time.
    func settle(_ db: Database, _ event: FeedEvent, readTo: Int64, retryAt: Timestamp) throws {
        guard readTo > event.range.lowerBound else { return try wait(db, event, until: retryAt) }
        let place: StatementArguments = [event.feed.number, Int(event.metric.number), event.range.lowerBound, event.mark]
        let condition = "feed = ? AND metric = ? AND from_ms = ? AND mark = ?"
        let to = try Int64.fetchOne(db.cachedStatement(sql: "SELECT to_ms FROM feed_news WHERE \(condition)"), arguments: place)
        // Where something came into it meanwhile all of it is read again, and what has not changed is not delivered twice.
        guard let to else { return }
        try db.cachedStatement(sql: "DELETE FROM feed_news WHERE \(condition)").execute(arguments: place)
        guard readTo < to else { return }
        try save(db, event.feed, event.metric, readTo..<to, dueAt: event.feed.steps.over(readTo, window: event.feed.window))
    }

    /// It could not be read.
    func wait(_ db: Database, _ event: FeedEvent, until: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE feed_news SET due_at = ? WHERE feed = ? AND metric = ? AND from_ms = ?")
            .execute(arguments: [until, event.feed.number, Int(event.metric.number), event.range.lowerBound])
    }

    /// Nothing of these types is to be read any more.
    func drop(_ db: Database, _ feed: Int64, types: [Metric]) throws {
        for metric in types {
            try db.cachedStatement(sql: "DELETE FROM feed_news WHERE feed = ? AND metric = ?")
                .execute(arguments: [feed, Int(metric.number)])
        }
    }
}
