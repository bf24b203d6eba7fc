// How the notifier's tables came to be; append only.

import GRDB
import ServiceKit
import Storage

enum Migrations {
    /// 'TMnt': tells this database from any other SQLite file.
    static let applicationID: Int32 = 0x544D_6E74

    static let all: [Migration] = [
        Migration(1, "messages, deliveries, inbox, channels") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try ConsumerPositions.create(in: db)
            try AnswerTable.create(in: db)
            try TokenChecker.create(in: db)
            try ErasureFollower.create(in: db)
            try db.execute(sql: messageTables)
            try db.execute(sql: personTables)
        },
        Migration(2, "urgent messages go first") { db in try db.execute(sql: urgency) },
        Migration(3, "a store that was put back") { db in
            try StoreLife.create(in: db)
            try StreamLog.createFormerEpochs(in: db)
        },
        Migration(4, "snapshots page by page") { db in try SnapshotMarks.create(in: db) },
        Migration(5, "the sessions that added push endpoints") { db in try db.execute(sql: endpointSessions) },
        Migration(6, "push endpoints whose sessions have lapsed") { db in
            try db.execute(sql: "ALTER TABLE push_endpoints ADD COLUMN lapsed INTEGER NOT NULL DEFAULT 0")
        },
    ]

    private static let urgency = """
        ALTER TABLE deliveries ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX deliveries_urgent ON deliveries (channel, next_at) WHERE settled = 0 AND urgent = 1;
        """

    private static let endpointSessions = """
        -- Which added it or named it last; NULL of those of before, which no session takes along, but a new password.
        ALTER TABLE push_endpoints ADD COLUMN session BLOB;
        CREATE INDEX push_endpoints_by_session ON push_endpoints (session) WHERE session IS NOT NULL;
        """

    private static let messageTables = """
        CREATE TABLE messages (
            message BLOB PRIMARY KEY,
            sender TEXT NOT NULL,
            person BLOB,
            -- Keyed digest of everything that was asked: tells the same message from another one of the same id.
            digest BLOB NOT NULL,
            -- Template, values and addresses; NULL once nothing more is to be sent.
            sealed BLOB,
            created_at INTEGER NOT NULL,
            not_after INTEGER NOT NULL,
            trace TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX messages_by_person ON messages (person) WHERE person IS NOT NULL;
        CREATE INDEX messages_by_time ON messages (created_at);
        CREATE TABLE deliveries (
            message BLOB NOT NULL REFERENCES messages (message) ON DELETE CASCADE,
            channel TEXT NOT NULL,
            -- Number of the push endpoint; 0 on other channels.
            target INTEGER NOT NULL,
            -- Keyed look-up of the address, so that one address is not flooded.
            recipient BLOB,
            state TEXT NOT NULL,
            reason TEXT,
            attempts INTEGER NOT NULL,
            provider TEXT,
            moves_on INTEGER NOT NULL,
            -- Names of providers, separated by spaces.
            refused_by TEXT NOT NULL,
            first_at INTEGER,
            -- Set before an attempt is made, cleared when its outcome is known.
            begun_at INTEGER,
            next_at INTEGER NOT NULL,
            not_after INTEGER NOT NULL,
            settled INTEGER NOT NULL,
            PRIMARY KEY (message, channel, target)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX deliveries_due ON deliveries (channel, next_at) WHERE settled = 0;
        CREATE INDEX deliveries_by_recipient ON deliveries (recipient, channel, first_at) WHERE recipient IS NOT NULL;
        """

    private static let personTables = """
        CREATE TABLE inbox (
            person BLOB NOT NULL,
            -- Counts from 1 for each person: what `Last-Event-ID` says.
            number INTEGER NOT NULL,
            message BLOB NOT NULL UNIQUE,
            -- Template, language and values, under the person's key.
            sealed BLOB NOT NULL,
            at INTEGER NOT NULL,
            read_at INTEGER,
            PRIMARY KEY (person, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX inbox_unread ON inbox (person) WHERE read_at IS NULL;
        CREATE INDEX inbox_by_time ON inbox (at);
        CREATE TABLE push_endpoints (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            endpoint BLOB NOT NULL UNIQUE,
            person BLOB NOT NULL,
            -- Keyed look-up of the address: registering it again is the same endpoint.
            lookup BLOB NOT NULL,
            sealed BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            UNIQUE (person, lookup)
        ) STRICT;
        -- Which channels a person has switched off, under the person's key.
        CREATE TABLE channel_choices (
            person BLOB PRIMARY KEY,
            sealed BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
