// SQL sentences about the data types that a person shares anonymously (ANO-09): off unless the person said otherwise.

import Contracts
import Foundation
import GRDB

/// One choice and since when it stands.
struct AnonymousChoice: Hashable, Sendable {
    let metric: Metric
    let isShared: Bool
    let changedAt: Timestamp
}

/// `anonymous_sharing`: rows only for types that the person has ever chosen.
struct AnonymousSharingStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE anonymous_sharing (
                    account INTEGER NOT NULL REFERENCES accounts (number),
                    metric INTEGER NOT NULL,
                    shared INTEGER NOT NULL CHECK (shared IN (0, 1)),
                    changed_at INTEGER NOT NULL,
                    PRIMARY KEY (account, metric)
                ) STRICT, WITHOUT ROWID;
                """)
    }

    /// Also for registration, whose form holds these choices (ACC-06). The same choice again keeps its time.
    /// - Returns: the choice as it stands now.
    @discardableResult
    func choose(_ db: Database, _ account: AccountNumber, _ metric: Metric, shared: Bool, at: Timestamp) throws -> AnonymousChoice {
        try db.cachedStatement(
            sql: """
                INSERT INTO anonymous_sharing (account, metric, shared, changed_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (account, metric) DO UPDATE SET shared = excluded.shared, changed_at = excluded.changed_at
                WHERE shared <> excluded.shared
                """
        ).execute(arguments: [account, Int(metric.number), shared, at])
        let choice = try choices(db, of: account).first { $0.metric == metric }
        return choice ?? AnonymousChoice(metric: metric, isShared: shared, changedAt: at)
    }

    /// What the person has ever chosen; every other type is not shared.
    func choices(_ db: Database, of account: AccountNumber) throws -> [AnonymousChoice] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT metric, shared, changed_at FROM anonymous_sharing WHERE account = ? ORDER BY metric"),
            arguments: [account]
        ).compactMap { row in
            Metric(number: row[0]).map { AnonymousChoice(metric: $0, isShared: row[1], changedAt: row[2]) }
        }
    }

    /// What the person shares now, by the types' numbers.
    func optIns(_ db: Database, of account: AccountNumber) throws -> [CohortOptIn] {
        try choices(db, of: account).filter(\.isShared).map { CohortOptIn(metric: $0.metric, since: $0.changedAt) }
    }

    /// What the accounts between two numbers share now, by the types' numbers; without those that share nothing.
    /// - Parameters:
    ///   - first: not included.
    ///   - last: included.
    func optIns(_ db: Database, after first: AccountNumber, through last: AccountNumber) throws -> [AccountNumber: [CohortOptIn]] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT account, metric, changed_at FROM anonymous_sharing WHERE account > ? AND account <= ? AND shared = 1
                    ORDER BY account, metric
                    """), arguments: [first, last])
        return rows.reduce(into: [:]) { shared, row in
            let account: AccountNumber = row[0]
            guard let metric = Metric(number: row[1]) else { return }
            shared[account, default: []].append(CohortOptIn(metric: metric, since: row[2]))
        }
    }

    /// Part of erasing the person.
    /// - Returns: how many.
    func delete(_ db: Database, of account: AccountNumber) throws -> Int {
        try db.cachedStatement(sql: "DELETE FROM anonymous_sharing WHERE account = ?").execute(arguments: [account])
        return db.changesCount
    }
}
