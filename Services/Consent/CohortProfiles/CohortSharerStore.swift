// SQL sentences about who is said to share anonymously, and of whom that is still to be said.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// `cohort_profiles`: everybody whose account is active and who shares something anonymously, and who did, until that is said.
struct CohortSharerStore: Sendable {
    struct Sharer: Sendable {
        let person: PersonID
        /// Whether the last that was said of them is a profile.
        let isSaid: Bool
        /// Whether their `PersonState` is due, too.
        let isStateDue: Bool
    }

    /// After `anonymous_sharing`: who shares already is due.
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE cohort_profiles (
                    person BLOB PRIMARY KEY,
                    -- Whether the last that was said is a profile.
                    said INTEGER NOT NULL DEFAULT 0,
                    -- Whether something has changed that is not said yet.
                    due INTEGER NOT NULL DEFAULT 1,
                    -- Whether ingest is to be told, too: of who shared before this table was.
                    state_due INTEGER NOT NULL DEFAULT 0
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX cohort_profiles_due ON cohort_profiles (due) WHERE due = 1;
                INSERT INTO cohort_profiles (person, state_due)
                SELECT subject, 1 FROM accounts
                WHERE kind = 'person' AND state = 'active'
                AND EXISTS (SELECT 1 FROM anonymous_sharing WHERE account = number AND shared = 1);
                """)
    }

    /// The account or what it shares has changed, in the same transaction. Of who shares nothing, and was not said to, nothing is kept.
    func note(_ db: Database, _ person: PersonID, shares: Bool) throws {
        guard shares else { return try note(db, profileOf: person) }
        try db.cachedStatement(sql: "INSERT INTO cohort_profiles (person) VALUES (?) ON CONFLICT (person) DO UPDATE SET due = 1")
            .execute(arguments: [person])
    }

    /// The profile has changed, in the same transaction.
    func note(_ db: Database, profileOf person: PersonID) throws {
        try db.cachedStatement(sql: "UPDATE cohort_profiles SET due = 1 WHERE person = ?").execute(arguments: [person])
    }

    /// - Parameter after: nil for the first ones.
    func due(_ db: Database, after: PersonID?, limit: Int) throws -> [Sharer] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT person, said, state_due FROM cohort_profiles WHERE due = 1 AND person > ? ORDER BY person LIMIT ?"),
            arguments: [Data(after?.bytes ?? []), limit]
        ).compactMap { row in
            row.value(0, as: PersonID.self).map { Sharer(person: $0, isSaid: row[1], isStateDue: row[2]) }
        }
    }

    /// Everybody, in order.
    func page(_ db: Database, after: PersonID, limit: Int) throws -> [PersonID] {
        try Data.fetchAll(
            db.cachedStatement(sql: "SELECT person FROM cohort_profiles WHERE person > ? ORDER BY person LIMIT ?"),
            arguments: [after, limit]
        ).compactMap { PersonID(bytes: $0) }
    }

    /// It is said; of who shares nothing any more nothing is kept.
    func settle(_ db: Database, _ person: PersonID, shares: Bool) throws {
        try db.cachedStatement(
            sql: shares
                ? "UPDATE cohort_profiles SET said = 1, due = 0, state_due = 0 WHERE person = ?"
                : "DELETE FROM cohort_profiles WHERE person = ?"
        ).execute(arguments: [person])
    }

    func forget(_ db: Database, _ person: PersonID) throws -> Int {
        try settle(db, person, shares: false)
        return db.changesCount
    }
}

extension StateStream<CohortProfileState> {
    /// `consent.cohort`: its rows are sealed under each person's own key.
    init(epoch: String, vault: ProfileVault) {
        let stream = StreamFamily.cohortProfiles.streams[0]
        self.init(CohortProfileState.type, stream: stream, epoch: epoch, seal: vault.factSeal(of: stream))
    }
}
