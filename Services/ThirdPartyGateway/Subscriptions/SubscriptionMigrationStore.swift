// The tables of subscriptions: which there are, what they have to deliver, whom it is pushed to.

import GRDB

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

    /// The name of the count in which a subscription's numbers stand; another one once the store was put back from a copy.
    static func addEpochs(to db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE feeds ADD COLUMN epoch TEXT NOT NULL DEFAULT '';
                UPDATE feeds SET epoch = \(FeedEpochTable.random);
                CREATE INDEX endpoint_feeds_by_feed ON endpoint_feeds (feed);
                """)
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
