// SQL sentences about announcements. They are for everybody, and nothing in them is personal.

import Contracts
import Foundation
import GRDB

/// A time of maintenance, or whatever else an operator has to tell everybody (ACC-35).
struct Announcement: Hashable, Sendable {
    let number: Int64
    var from: Timestamp
    var to: Timestamp
    /// In the order of `Language.allCases`, each with title and text.
    var texts: [Language: Text]
    /// Whether the service may be away; such times do not count against availability (CON-52).
    var isMaintenance: Bool
    /// Whether personal data may have come into wrong hands: each person is written to as well (GDPR, article 34).
    var isBreach: Bool
    var madeAt: Timestamp

    struct Text: Hashable, Codable, Sendable {
        var title: String
        var text: String
    }
}

/// `announcements`.
struct AnnouncementStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE announcements (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    from_at INTEGER NOT NULL,
                    to_at INTEGER NOT NULL,
                    maintenance INTEGER NOT NULL,
                    italian_title TEXT NOT NULL,
                    italian_text TEXT NOT NULL,
                    english_title TEXT NOT NULL,
                    english_text TEXT NOT NULL,
                    made_by BLOB NOT NULL,
                    made_at INTEGER NOT NULL,
                    withdrawn_by BLOB,
                    withdrawn_at INTEGER,
                    CHECK (from_at < to_at)
                ) STRICT;
                CREATE INDEX announcements_by_end ON announcements (to_at);
                """)
    }

    /// `written_through`: up to which account's number everybody has been written to; null where nobody is, or everybody has been.
    static func addBreaches(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE announcements ADD COLUMN breach INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE announcements ADD COLUMN written_through INTEGER;
                """)
    }

    func add(_ db: Database, _ form: AnnouncementForm, by maker: OperatorID, at: Timestamp) throws -> Int64 {
        try db.execute(
            sql: """
                INSERT INTO announcements
                (from_at, to_at, maintenance, italian_title, italian_text, english_title, english_text, made_by, made_at, breach,
                written_through) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                form.from, form.to, form.isMaintenance, form.italian.title, form.italian.text,
                form.english.title, form.english.text, maker, at, form.isBreach, form.isBreach ? 0 : nil,
            ])
        return db.lastInsertedRowID
    }

    /// False where there is none, or it was withdrawn before.
    func withdraw(_ db: Database, _ number: Int64, by maker: OperatorID, at: Timestamp) throws -> Bool {
        try db.execute(
            sql: "UPDATE announcements SET withdrawn_by = ?, withdrawn_at = ? WHERE number = ? AND withdrawn_at IS NULL",
            arguments: [maker, at, number])
        return db.changesCount == 1
    }

    private static let columns = """
        SELECT number, from_at, to_at, maintenance, italian_title, italian_text, english_title, english_text, made_at, breach
        FROM announcements WHERE withdrawn_at IS NULL
        """

    func find(_ db: Database, _ number: Int64) throws -> Announcement? {
        try Row.fetchOne(db, sql: "\(Self.columns) AND number = ?", arguments: [number]).map(Announcement.init)
    }

    /// One about which somebody has not been written to yet, and up to which account everybody has.
    func unwritten(_ db: Database) throws -> (announcement: Announcement, through: AccountNumber)? {
        guard
            let row = try Row.fetchOne(
                db.cachedStatement(
                    sql: "SELECT number, written_through FROM announcements WHERE written_through IS NOT NULL ORDER BY number LIMIT 1")),
            let announcement = try Row.fetchOne(
                db.cachedStatement(sql: Self.columns.replacing("WHERE withdrawn_at IS NULL", with: "WHERE number = ?")),
                arguments: [row[0] as Int64]
            ).map(Announcement.init)
        else { return nil }
        return (announcement, row[1])
    }

    /// - Parameter through: nil once everybody has been written to.
    func write(_ db: Database, _ number: Int64, through: AccountNumber?) throws {
        try db.cachedStatement(sql: "UPDATE announcements SET written_through = ? WHERE number = ?").execute(arguments: [through, number])
    }

    /// Those that are not over at `now`, the one that begins first first.
    func current(_ db: Database, now: Timestamp, limit: Int) throws -> [Announcement] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) AND to_at > ? ORDER BY from_at, number LIMIT ?"),
            arguments: [now, limit]
        ).map(Announcement.init)
    }
}

extension Announcement {
    fileprivate init(_ row: Row) {
        self.init(
            number: row[0], from: row[1], to: row[2],
            texts: [.italian: Text(title: row[4], text: row[5]), .english: Text(title: row[6], text: row[7])], isMaintenance: row[3],
            isBreach: row[9], madeAt: row[8])
    }
}
