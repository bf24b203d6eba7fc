// SQL sentences about subscriptions themselves: which there are, how far each is.

import Contracts
import Foundation
import GRDB
import Storage

/// One subscription as it is stored.
struct Feed: Hashable, Sendable {
    let number: Int64
    let request: RequestID
    let organisation: OrganisationID
    let grant: GrantID
    /// Nil once the person is erased.
    let person: PersonID?
    /// What may still be delivered.
    var types: [Metric]
    /// In ms; the end is not included.
    let window: Range<Int64>
    let granularity: GrantGranularity
    var state: FeedState
    var ending: SubscriptionEnding?
    /// The number of its last item; 0 where there is none.
    var head: Int64
    /// Items up to here are not kept any more.
    var released: Int64
    /// The time of the newest entry delivered.
    var newest: Timestamp?
    let begunAt: Timestamp
    var endedAt: Timestamp?
    /// Names the count in which its numbers stand: another one after the store was restored from a copy.
    let epoch: String

    var steps: FeedSteps { FeedSteps(granularity) }

    /// What its third party is told of an end; an end before the period's is the third party's own doing.
    func explanation(_ why: SubscriptionEnding) -> String {
        guard why == .ended, let endedAt else { return why.explanation }
        return endedAt.milliseconds < window.upperBound ? "You stopped the subscription." : "The period is over."
    }

    func quietSince(_ now: Timestamp) -> Timestamp? {
        state == .running ? FeedQuiet.since(newest: newest, begun: begunAt, steps: steps, now: now) : nil
    }
}

struct FeedStore: Sendable {
    private static let columns = """
        number, request, organisation, grant_id, person, types, window_from, window_to, granularity, state, ending, head, released,
        newest, begun_at, ended_at, epoch
        """

    // MARK: Beginning and end

    /// - Returns: whether it is new.
    func begin(
        _ db: Database, _ scope: FeedScope, of person: PersonID, types: [Metric], state: FeedState, at now: Timestamp
    ) throws -> Bool {
        try db.cachedStatement(
            sql: """
                INSERT INTO feeds (request, organisation, grant_id, person, types, window_from, window_to, granularity, state, begun_at, epoch)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, \(FeedEpochStore.random)) ON CONFLICT (request) DO NOTHING
                """
        ).execute(arguments: [
            scope.request, scope.organisation, scope.grant, person, Data(types.map(\.number)), scope.from, scope.to,
            scope.granularity.rawValue, state.rawValue, now,
        ])
        return db.changesCount > 0
    }

    func end(_ db: Database, _ feed: Int64, _ why: SubscriptionEnding, at now: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE feeds SET state = ?, ending = ?, ended_at = ? WHERE number = ?")
            .execute(arguments: [FeedState.over.rawValue, why.rawValue, now, feed])
        try db.cachedStatement(sql: "DELETE FROM feed_news WHERE feed = ?").execute(arguments: [feed])
    }

    func hold(_ db: Database, _ feed: Int64) throws {
        try db.cachedStatement(sql: "UPDATE feeds SET state = ? WHERE number = ? AND state = ?")
            .execute(arguments: [FeedState.held.rawValue, feed, FeedState.running.rawValue])
    }

    func goOn(_ db: Database, _ feed: Int64) throws {
        try db.cachedStatement(sql: "UPDATE feeds SET state = ? WHERE number = ? AND state = ?")
            .execute(arguments: [FeedState.running.rawValue, feed, FeedState.held.rawValue])
    }

    func narrow(_ db: Database, _ feed: Int64, to types: [Metric]) throws {
        try db.cachedStatement(sql: "UPDATE feeds SET types = ? WHERE number = ?").execute(arguments: [Data(types.map(\.number)), feed])
    }

    func advance(_ db: Database, _ feed: Feed) throws {
        try db.cachedStatement(sql: "UPDATE feeds SET head = ?, newest = ? WHERE number = ?")
            .execute(arguments: [feed.head, feed.newest, feed.number])
    }

    // MARK: Looking up

    func find(_ db: Database, _ number: Int64) throws -> Feed? {
        try first(db, "number = ?", [number])
    }

    func find(_ db: Database, _ request: RequestID) throws -> Feed? {
        try first(db, "request = ?", [request])
    }

    func find(_ db: Database, grant: GrantID) throws -> Feed? {
        try first(db, "grant_id = ?", [grant])
    }

    /// Those that deliver this type.
    func running(_ db: Database, of person: PersonID, _ metric: Metric) throws -> [Feed] {
        try all(db, "person = ? AND state = 'running' AND instr(types, ?) > 0", [person, Data([metric.number])])
    }

    func running(_ db: Database, of organisation: OrganisationID) throws -> [Feed] {
        try all(db, "organisation = ? AND state = 'running'", [organisation])
    }

    func ofPerson(_ db: Database, _ person: PersonID) throws -> [Feed] {
        try all(db, "person = ?", [person])
    }

    /// The grants that consent has published, or that a subscription rests on, in order.
    func grants(_ db: Database, after: [UInt8], limit: Int) throws -> [GrantID] {
        try Data.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT grant_id FROM granted WHERE grant_id > :after
                    UNION SELECT grant_id FROM feeds WHERE grant_id > :after ORDER BY grant_id LIMIT :limit
                    """), arguments: ["after": Data(after), "limit": limit]
        ).compactMap { GrantID(bytes: $0) }
    }

    /// Those that are not over.
    func open(_ db: Database) throws -> [Feed] {
        try all(db, "state <> 'over'", [])
    }

    /// Oldest first.
    func page(_ db: Database, of organisation: OrganisationID, after: Int64, limit: Int) throws -> [Feed] {
        try all(db, "organisation = ? AND number > ? ORDER BY number LIMIT ?", [organisation, after, limit])
    }

    private func first(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> Feed? {
        try Row.fetchOne(db.cachedStatement(sql: "SELECT \(Self.columns) FROM feeds WHERE \(condition)"), arguments: arguments)
            .flatMap(Self.feed)
    }

    private func all(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [Feed] {
        try Row.fetchAll(db.cachedStatement(sql: "SELECT \(Self.columns) FROM feeds WHERE \(condition)"), arguments: arguments)
            .compactMap(Self.feed)
    }

    private static func feed(_ row: Row) -> Feed? {
        guard let request: RequestID = row.value(1), let organisation: OrganisationID = row.value(2),
            let grant: GrantID = row.value(3), let granularity = GrantGranularity(rawValue: row[8]),
            let state = FeedState(rawValue: row[9])
        else { return nil }
        let (from, to): (Int64, Int64) = (row[6], row[7])
        return Feed(
            number: row[0], request: request, organisation: organisation, grant: grant, person: row.value(4),
            types: (row[5] as Data).compactMap(Metric.init(number:)), window: from..<max(from, to), granularity: granularity, state: state,
            ending: (row[10] as String?).flatMap(SubscriptionEnding.init(rawValue:)), head: row[11], released: row[12],
            newest: row[13], begunAt: row[14], endedAt: row[15], epoch: row[16])
    }

    // MARK: Erasing

    /// - Returns: how many subscriptions were about the person.
    func forget(_ db: Database, _ person: PersonID) throws -> Int {
        try db.cachedStatement(sql: "UPDATE feeds SET person = NULL, newest = NULL WHERE person = ?")
            .execute(arguments: [person])
        return db.changesCount
    }
}
