// The tables of subscriptions: which there are, what they have to deliver, whom it is pushed to.

import Contracts
import Foundation
import GRDB
import ServiceKit

enum SubscriptionMigration {
    static func create(in db: Database) throws {
        try feeds(db)
        try db.execute(
            sql: """
                CREATE TABLE endpoints (
                    endpoint BLOB PRIMARY KEY,
                    organisation BLOB NOT NULL,
                    state TEXT NOT NULL,
                    sealed BLOB NOT NULL,
                    health TEXT NOT NULL,
                    created_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX endpoints_by_organisation ON endpoints (organisation);
                CREATE TABLE endpoint_feeds (
                    endpoint BLOB NOT NULL REFERENCES endpoints (endpoint) ON DELETE CASCADE,
                    feed INTEGER NOT NULL REFERENCES feeds (number),
                    queued INTEGER NOT NULL,
                    turn INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (endpoint, feed)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE webhook_messages (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    message BLOB NOT NULL UNIQUE,
                    endpoint BLOB NOT NULL REFERENCES endpoints (endpoint) ON DELETE CASCADE,
                    lane TEXT NOT NULL,
                    content TEXT NOT NULL,
                    is_dead INTEGER NOT NULL DEFAULT 0,
                    created_at INTEGER NOT NULL,
                    due_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL DEFAULT 0,
                    first_attempt_at INTEGER,
                    last_attempt_at INTEGER,
                    last_outcome TEXT
                ) STRICT;
                CREATE INDEX webhook_messages_by_lane ON webhook_messages (endpoint, lane, is_dead, number);
                """)
    }

    /// The name of the count in which a subscription's numbers stand; another one once the store was restored from a copy.
    static func addEpochs(to db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE feeds ADD COLUMN epoch TEXT NOT NULL DEFAULT '';
                UPDATE feeds SET epoch = \(FeedEpochStore.random);
                CREATE INDEX endpoint_feeds_by_feed ON endpoint_feeds (feed);
                """)
    }

    /// `known_grants` becomes `granted`, with what their requests say of them. Where none does, one in force is left out, and consent is
    /// asked for all of them again; one that is over stays so.
    static func moveGrants(in db: Database) throws {
        try GrantProjection.create(in: db)
        try GrantProjection.addMissing(to: db)
        let (grants, stream) = (GrantProjection(), StreamFamily.grants.streams[0])
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT known_grants.grant_id, known_grants.person, version, active, known_grants.types, request, organisation, from_at, to_at,
                    granularity
                FROM known_grants LEFT JOIN requests ON requests.grant_id = known_grants.grant_id
                """)
        var isComplete = true
        for row in rows {
            guard let grant = GrantID(bytes: row[0] as Data), let person = PersonID(bytes: row[1] as Data) else { continue }
            let request = (row[5] as Data?).flatMap { RequestID(bytes: $0) }
            let isActive: Bool = row[3]
            guard request != nil || !isActive else {
                isComplete = false
                continue
            }
            let (from, to) = ((row[7] as Int64?) ?? 0, (row[8] as Int64?) ?? 0)
            try grants.save(
                db,
                GrantState(
                    grant: grant, request: request ?? RequestID(bits: 0), person: person,
                    organisation: (row[6] as Data?).flatMap { OrganisationID(bytes: $0) } ?? OrganisationID(bits: 0),
                    types: (row[4] as Data).compactMap(Metric.init(number:)), from: Timestamp(milliseconds: from),
                    to: Timestamp(milliseconds: to), granularity: (row[9] as String?).flatMap(GrantGranularity.init(rawValue:)) ?? .hours,
                    active: isActive, version: row[2]))
        }
        if !isComplete { try db.execute(sql: "DELETE FROM consumer_positions WHERE stream = ?", arguments: [stream]) }
        try db.execute(sql: "DROP TABLE known_grants")
    }

    private static func feeds(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE feeds (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    request BLOB NOT NULL UNIQUE,
                    organisation BLOB NOT NULL,
                    grant_id BLOB NOT NULL UNIQUE,
                    person BLOB,
                    types BLOB NOT NULL,
                    window_from INTEGER NOT NULL,
                    window_to INTEGER NOT NULL,
                    granularity TEXT NOT NULL,
                    state TEXT NOT NULL,
                    ending TEXT,
                    head INTEGER NOT NULL DEFAULT 0,
                    released INTEGER NOT NULL DEFAULT 0,
                    newest INTEGER,
                    begun_at INTEGER NOT NULL,
                    ended_at INTEGER
                ) STRICT;
                CREATE INDEX feeds_by_person ON feeds (person);
                CREATE INDEX feeds_by_organisation ON feeds (organisation, number);
                CREATE TABLE feed_items (
                    feed INTEGER NOT NULL REFERENCES feeds (number),
                    number INTEGER NOT NULL,
                    metric INTEGER NOT NULL,
                    at INTEGER NOT NULL,
                    replaces INTEGER,
                    kept_at INTEGER NOT NULL,
                    sealed BLOB NOT NULL,
                    PRIMARY KEY (feed, number)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX feed_items_by_step ON feed_items (feed, metric, at);
                CREATE TABLE feed_news (
                    feed INTEGER NOT NULL REFERENCES feeds (number),
                    metric INTEGER NOT NULL,
                    from_ms INTEGER NOT NULL,
                    to_ms INTEGER NOT NULL,
                    mark INTEGER NOT NULL DEFAULT 0,
                    due_at INTEGER NOT NULL,
                    PRIMARY KEY (feed, metric, from_ms)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX feed_news_by_time ON feed_news (due_at);
                CREATE TABLE known_grants (
                    grant_id BLOB PRIMARY KEY,
                    person BLOB NOT NULL,
                    version INTEGER NOT NULL,
                    active INTEGER NOT NULL,
                    types BLOB NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX known_grants_by_person ON known_grants (person);
                """)
    }
}
