// How the dispatcher's tables came to be; append only.

import GRDB
import ServiceKit
import Storage

enum Migrations {
    /// 'TMso': tells this database from any other SQLite file.
    static let applicationID: Int32 = 0x544D_736F

    static let all: [Migration] = [
        Migration(1, "supervision, emergencies, dispatch outbox, audit") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try ConsumerPositions.create(in: db)
            try AnswerTable.create(in: db)
            try db.execute(sql: tables)
            try db.execute(sql: auditTable)
        },
        Migration(2, "people and consent") { db in
            try db.execute(sql: pauseTable)
            try ErasureFollower.create(in: db)
        },
        Migration(3, "devices on charge") { db in try db.execute(sql: chargingColumns) },
        Migration(4, "prompts, contacts, messages") { db in
            try MessageOutbox.create(in: db)
            try PromptStore.create(in: db)
            try ContactStore.create(in: db)
        },
        Migration(5, "log-ins, subscriptions, reminders of pauses") { db in
            try TokenChecker.create(in: db)
            // Keys and sessions were received and skipped so far: they are taken anew from the snapshot.
            try db.execute(sql: "DELETE FROM consumer_positions WHERE stream LIKE 'consent.%'")
            try db.execute(sql: subscriptionTables)
        },
        Migration(6, "integrators") { db in try db.execute(sql: integratorTables) },
        Migration(7, "two dispatchers, canary") { db in
            try PairTables.create(in: db)
            try CanaryStore.create(in: db)
        },
        Migration(8, "erasures told to the other dispatcher") { db in try PairTables.createToldErasures(in: db) },
        // Changes nothing by itself: a version that cannot read the compact form must not take everybody for unreadable.
        Migration(9, "subscribers' states in the compact form") { _ in },
        Migration(10, "a store that was put back") { db in
            try StoreLife.create(in: db)
            try StreamLog.createFormerEpochs(in: db)
        },
        Migration(11, "emergencies that are over apart from those that are not") { db in try ClosedEmergencyStore.create(in: db) },
        Migration(12, "anchors of the audit chain") { db in try AuditAnchorStore.create(in: db) },
        Migration(13, "alerts that passed and were seen") { db in try PromptStore.createSeen(in: db) },
        Migration(14, "what the other dispatcher is still to tell back") { db in try PairTables.createForgotten(in: db) },
        // What they refused is nowhere written (`StatementTests`), and found by the chain where somebody does it to the file.
        Migration(15, "an audit log without triggers") { db in
            try db.execute(
                sql: "DROP TRIGGER IF EXISTS audit_is_never_changed; DROP TRIGGER IF EXISTS audit_is_never_shortened;")
        },
        Migration(16, "one table for all jobs") { db in
            try JobTable.create(in: db)
            try MessageOutbox.moveToJobs(in: db)
        },
        Migration(17, "snapshots page by page") { db in try SnapshotMarks.create(in: db) },
    ]

    private static let chargingColumns = """
        -- Whether it lies in its charger and measures nothing, and whether it ever measures a vital sign.
        ALTER TABLE devices ADD COLUMN charging INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE devices ADD COLUMN vital INTEGER NOT NULL DEFAULT 1;
        """

    private static let subscriptionTables = """
        -- Of whom `sos.subscriptions` has said that they are subscribed.
        CREATE TABLE subscriptions (
            person BLOB PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        -- How many reminders of a pause have been handed over.
        CREATE TABLE pause_reminders (
            person BLOB PRIMARY KEY,
            since INTEGER NOT NULL,
            told INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    private static let integratorTables = """
        -- Who is called, with all secrets, sealed under a key of the service's own.
        CREATE TABLE integrators (
            name TEXT PRIMARY KEY,
            sealed BLOB NOT NULL,
            stream_port INTEGER NOT NULL UNIQUE,
            retired INTEGER NOT NULL DEFAULT 0
        ) STRICT, WITHOUT ROWID;
        -- How far each message is with each integrator.
        CREATE TABLE dispatch_lines (
            emergency BLOB NOT NULL,
            sequence INTEGER NOT NULL,
            integrator TEXT NOT NULL,
            created_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            last_attempt_at INTEGER,
            texts INTEGER NOT NULL DEFAULT 0,
            ended TEXT,
            PRIMARY KEY (emergency, sequence, integrator)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO dispatch_lines (emergency, sequence, integrator, created_at, attempts, last_attempt_at, ended)
            SELECT emergency, sequence, 'default', created_at, attempts, last_attempt_at, ended FROM dispatch_outbox;
        CREATE INDEX unfinished_lines ON dispatch_lines (emergency) WHERE ended IS NULL;
        DROP INDEX unfinished_dispatches;
        ALTER TABLE dispatch_outbox DROP COLUMN attempts;
        ALTER TABLE dispatch_outbox DROP COLUMN last_attempt_at;
        ALTER TABLE dispatch_outbox DROP COLUMN ended;
        -- Test emergencies. Nothing in them is about anybody.
        CREATE TABLE drills (
            emergency BLOB PRIMARY KEY,
            integrator TEXT NOT NULL,
            kind TEXT NOT NULL,
            at INTEGER NOT NULL,
            outcome TEXT,
            after_ms INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX drills_by_time ON drills (at);
        """

    private static let pauseTable = """
        -- Who has paused monitoring: silence of theirs is no signal loss.
        CREATE TABLE monitoring_pauses (
            person BLOB PRIMARY KEY
        ) STRICT, WITHOUT ROWID;
        """

    private static let tables = """
        -- Which boot the steady clock was anchored in, so that a restart does not depend on the wall clock.
        CREATE TABLE steady_clock (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            boot TEXT NOT NULL,
            offset_ms INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE devices (
            device BLOB PRIMARY KEY,
            person BLOB NOT NULL,
            interval_ms INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX devices_by_person ON devices (person);
        -- Bounds, state, places and recent values, sealed under the person's key.
        CREATE TABLE subscribers (
            person BLOB PRIMARY KEY,
            sealed BLOB NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE emergencies (
            emergency BLOB PRIMARY KEY,
            person BLOB NOT NULL,
            state TEXT NOT NULL,
            t0 INTEGER NOT NULL,
            dispatched_at INTEGER,
            acknowledged_at INTEGER,
            closed_at INTEGER
        ) STRICT, WITHOUT ROWID;
        -- At most one open emergency per person (SOS-24).
        CREATE UNIQUE INDEX open_emergency ON emergencies (person) WHERE closed_at IS NULL;
        CREATE INDEX emergencies_by_time ON emergencies (t0);
        -- The canonical bytes of every message, sealed; sent again and again as they are here.
        CREATE TABLE dispatch_outbox (
            emergency BLOB NOT NULL,
            sequence INTEGER NOT NULL,
            person BLOB NOT NULL,
            kind TEXT NOT NULL,
            sealed BLOB NOT NULL,
            created_at INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            last_attempt_at INTEGER,
            ended TEXT,
            PRIMARY KEY (emergency, sequence)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX unfinished_dispatches ON dispatch_outbox (emergency) WHERE ended IS NULL;
        """

    private static let auditTable = """
        CREATE TABLE audit (
            sequence INTEGER PRIMARY KEY,
            entry TEXT NOT NULL,
            previous BLOB NOT NULL,
            hash BLOB NOT NULL,
            -- A copy of what the entry says, to find an emergency's rows by.
            object TEXT NOT NULL
        ) STRICT;
        CREATE INDEX audit_by_object ON audit (object);
        CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
        CREATE TRIGGER audit_is_never_shortened BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
        """
}
