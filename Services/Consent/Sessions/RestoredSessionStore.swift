// What becomes of sessions where consent's store is restored from a copy (docs/decisions/0041).

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// Sessions of the copy go on unless they were ended since, as the list beside the store knows. Without a list that goes back to before the
/// copy nobody knows which were, and all end.
struct RestoredSessionStore: Sendable {
    let list: RevocationList
    /// As it was found at the start; nil where it tells nothing.
    private let found: RevocationList.Contents?
    private let now: @Sendable () -> Timestamp
    private let table = SessionStore()

    /// Before the store is opened.
    init(on runtime: Runtime, now: @escaping @Sendable () -> Timestamp = { .now }) {
        list = RevocationList(beside: runtime.storeFile, logger: runtime.logger)
        // Where a whole folder was restored the mark of its life has to be removed: the list is as old as the copy then.
        found = StoreLife(beside: runtime.storeFile).isRemembered ? list.contents() : nil
        self.now = now
    }

    /// For a migration.
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE sessions ADD COLUMN restored INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE session_revocations (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    -- Name of the list beside the store.
                    list TEXT NOT NULL
                ) STRICT;
                INSERT INTO session_revocations VALUES (1, '');
                """)
    }

    /// The store was restored; in the transaction of its new epoch.
    func apply(_ db: Database) throws {
        let time = now()
        guard let found, try found.name == Self.name(db) else { return try table.endAll(db, at: time) }
        for entry in found.entries {
            try db.cachedStatement(sql: "DELETE FROM sessions WHERE session = ?").execute(arguments: [entry.session])
            // The list keeps no cause. As if by itself: the push endpoints of everybody whose log-in the operator has just ended would go.
            let ended = SessionEnded(session: entry.session, until: SessionLife.lastTokenExpires(lastUsed: entry.at), lapsed: true)
            if ended.until > time { try table.rememberEnded(db, ended) }
        }
        try db.execute(sql: "UPDATE sessions SET restored = 1")
    }

    /// Once the store is open, and before anything is ended.
    /// - Parameter life: the longest that a session has.
    func begin(in store: Store, life: Duration) async throws {
        let known = try await store.read { db in try Self.name(db) }
        let name = list.begin(knownAs: known, keepingFor: life, at: now())
        guard name != known else { return }
        try await store.write { db in try db.execute(sql: "UPDATE session_revocations SET list = ?", arguments: [name]) }
    }

    private static func name(_ db: Database) throws -> String {
        try String.fetchOne(db, sql: "SELECT list FROM session_revocations") ?? ""
    }
}
