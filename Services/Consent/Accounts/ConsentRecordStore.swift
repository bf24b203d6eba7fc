// SQL sentences about the record of consents given and withdrawn (ACC-32). Rows are only ever added, and end with the account.

import Contracts
import Foundation
import GRDB

/// One consent, given or withdrawn.
struct ConsentRecord: Hashable, Codable, Sendable {
    enum What: String, Codable, Sendable, CaseIterable {
        case terms
        case privacy
        case anonymousSharing = "anonymous-sharing"
        case automatedSOS = "automated-sos"
    }

    enum Giver: String, Codable, Sendable {
        case person
        /// An adult, for a child (ACC-36).
        case guardian
    }

    var what: What
    var given: Bool
    /// Of the text that was shown.
    var version: String
    /// Which types may be shared anonymously from then on.
    var types: [Metric]?
    var by: Giver
    /// Name and address of a guardian.
    var guardian: String?
}

/// `consent_records`: sealed under the person's key.
struct ConsentRecordStore: Sendable {
    let vault: ProfileVault

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE consent_records (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    account INTEGER NOT NULL REFERENCES accounts (number) ON DELETE CASCADE,
                    at INTEGER NOT NULL,
                    record BLOB NOT NULL
                ) STRICT;
                CREATE INDEX consent_records_by_account ON consent_records (account);
                """)
    }

    func add(_ db: Database, _ record: ConsentRecord, account: AccountNumber, of subject: AccountSubject, at: Timestamp) throws {
        let sealed = try vault.seal(JSONEncoder().encode(record), at: Self.place, of: subject)
        try db.cachedStatement(sql: "INSERT INTO consent_records (account, at, record) VALUES (?, ?, ?)")
            .execute(arguments: [account, at, Data(sealed)])
    }

    struct Entry: Hashable, Sendable {
        let number: Int64
        let at: Timestamp
        let record: ConsentRecord
    }

    /// Newest first, those before `before`.
    func page(_ db: Database, account: AccountNumber, of subject: AccountSubject, before: Int64?, limit: Int) throws -> [Entry] {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT number, at, record FROM consent_records WHERE account = ? AND number < ? ORDER BY number DESC LIMIT ?"),
            arguments: [account, before ?? .max, limit])
        return try rows.map { row in
            let plain = try vault.open([UInt8](row[2] as Data), at: Self.place, of: subject)
            return Entry(
                number: row[0], at: row[1], record: try JSONDecoder().decode(ConsentRecord.self, from: Data(plain))
            )
        }
    }

    private static let place = "consent_records.record"
}
