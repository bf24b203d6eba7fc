// SQL sentences about group requests: what was answered, so that it is answered the same for ever.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// A request that was judged.
struct JudgedRequest: Sendable {
    let request: GroupRequestID
    let organisation: OrganisationID
    /// SHA-256 of the request's canonical bytes.
    let canonical: [UInt8]
    let at: Timestamp
    let outcome: Outcome

    enum Outcome: Hashable, Sendable {
        case refused(GroupRefusal)
        /// `source` is the request whose tables these are: its own, or the same request of the same organisation before.
        case released(GroupRelease, source: GroupRequestID)
        /// Its windows are released one by one as they close.
        case subscribed(GroupSubscription)
    }

    var reply: ReleaseGroup.Reply {
        switch outcome {
        case .refused(let refusal): .init(refusal: refusal)
        case .released(let release, _): .init(release: release)
        case .subscribed(let subscription): .init(subscription: subscription)
        }
    }
}

/// What stands there cannot be read: the file is damaged.
struct DamagedRelease: Error, Hashable, Sendable {
    let table: String
}

struct GroupRequestStore: Sendable {
    /// The service's own.
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE group_requests (
                    request BLOB PRIMARY KEY,
                    organisation BLOB NOT NULL,
                    canonical BLOB NOT NULL,
                    at INTEGER NOT NULL,
                    refusal TEXT,
                    source BLOB,
                    sealed BLOB,
                    CHECK ((refusal IS NULL) = (sealed IS NOT NULL) AND (refusal IS NULL) = (source IS NOT NULL))
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX group_requests_by_form ON group_requests (organisation, canonical);
                CREATE TABLE group_release_tables (
                    request BLOB NOT NULL,
                    place INTEGER NOT NULL,
                    digest BLOB NOT NULL,
                    PRIMARY KEY (request, place)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    private static let columns = "request, organisation, canonical, at, refusal, source, sealed, is_subscription"

    /// Nil for one that was never judged.
    func find(_ db: Database, _ request: GroupRequestID) throws -> JudgedRequest? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(Self.columns) FROM group_requests WHERE request = ?"), arguments: [request]
        ).map(judged)
    }

    /// What the organisation was given for the same request before.
    func release(_ db: Database, of organisation: OrganisationID, _ canonical: [UInt8]) throws -> JudgedRequest? {
        try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT \(Self.columns) FROM group_requests
                    WHERE organisation = ? AND canonical = ? AND refusal IS NULL AND source = request
                    """), arguments: [organisation, Data(canonical)]
        ).map(judged)
    }

    private func judged(_ row: Row) throws -> JudgedRequest {
        guard let request: GroupRequestID = row.value(0), let organisation: OrganisationID = row.value(1),
            let canonical: Data = row.value(2), let at: Timestamp = row.value(3)
        else { throw DamagedRelease(table: "group_requests") }
        let outcome: JudgedRequest.Outcome
        if let text: String = row.value(4) {
            guard let refusal = GroupRefusal(rawValue: text) else { throw DamagedRelease(table: "group_requests") }
            outcome = .refused(refusal)
        } else {
            guard let source: GroupRequestID = row.value(5), let sealed: Data = row.value(6) else {
                throw DamagedRelease(table: "group_requests")
            }
            let plain = try Seal.open(sealed, key: key, context: Self.context(request))
            outcome =
                row[7]
                ? .subscribed(try JSONDecoder().decode(GroupSubscription.self, from: Data(plain)))
                : .released(try JSONDecoder().decode(GroupRelease.self, from: Data(plain)), source: source)
        }
        return JudgedRequest(request: request, organisation: organisation, canonical: Array(canonical), at: at, outcome: outcome)
    }

    func add(_ db: Database, _ judged: JudgedRequest) throws {
        var (refusal, source, sealed): (String?, GroupRequestID?, Data?) = (nil, nil, nil)
        var isSubscription = false
        switch judged.outcome {
        case .refused(let reason): refusal = reason.rawValue
        case .released(let release, let origin):
            source = origin
            sealed = Data(try Seal.seal(JSONEncoder().encode(release), key: key, context: Self.context(judged.request)))
        case .subscribed(let subscription):
            (source, isSubscription) = (judged.request, true)
            sealed = Data(try Seal.seal(JSONEncoder().encode(subscription), key: key, context: Self.context(judged.request)))
        }
        try db.cachedStatement(sql: "INSERT INTO group_requests (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
            .execute(
                arguments: [
                    judged.request, judged.organisation, Data(judged.canonical), judged.at, refusal, source, sealed, isSubscription,
                ])
    }

    private static func context(_ request: GroupRequestID) -> [UInt8] {
        Array("group_requests.sealed \(request)".utf8)
    }

    // MARK: Its tables

    /// In the order of the release.
    func add(_ db: Database, tables digests: [[UInt8]], of request: GroupRequestID) throws {
        let statement = try db.cachedStatement(sql: "INSERT INTO group_release_tables (request, place, digest) VALUES (?, ?, ?)")
        for (place, digest) in digests.enumerated() { try statement.execute(arguments: [request, place, Data(digest)]) }
    }

    /// What the organisation may read, by the tables' places: digests, nil beyond the last one.
    /// - Throws: `not-found` for what is not released to it.
    func tables(
        _ db: Database, for asked: ReadGroupRelease, _ subscriptions: GroupSubscriptionStore
    ) throws -> (_ place: Int) throws -> [UInt8]? {
        if let judged = try find(db, asked.request), judged.organisation == asked.organisation {
            if case .released(_, let source) = judged.outcome, asked.window == nil { return { try table(db, of: source, at: $0) } }
            if case .subscribed = judged.outcome, let window = asked.window, try subscriptions.isReleased(db, asked.request, window) {
                return { try subscriptions.table(db, of: asked.request, window: window, at: $0) }
            }
        }
        throw Failure(.notFound, "there is no such release")
    }

    /// Nil beyond the last one.
    func table(_ db: Database, of request: GroupRequestID, at place: Int) throws -> [UInt8]? {
        try Data.fetchOne(
            db.cachedStatement(sql: "SELECT digest FROM group_release_tables WHERE request = ? AND place = ?"),
            arguments: [request, place]
        ).map { Array($0) }
    }
}
