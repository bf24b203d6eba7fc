// Statements through SQLite's own interface: what is bound is what is stored.

import GRDB
import TestKit
import Testing

@testable import Storage

@Suite struct QuickStatementTests {
    private static func bytes(_ count: Int, _ seed: UInt8) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) &+ seed } }

    @Test("Texts and bytes come back as they were bound, few and small or many and large, with one statement again and again")
    func sizes() throws {
        let database = try DatabaseQueue()
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE pairs (id INTEGER PRIMARY KEY, word TEXT NOT NULL, first BLOB, second BLOB) STRICT")
            let sizes = [0, 1, 15, 16, 300, 511, 512, 1000, 1023, 1024, 1025, 5000]
            var id: Int64 = 0
            for first in sizes {
                for second in sizes {
                    id += 1
                    let word = String(repeating: "é", count: first / 2)
                    try db.run("INSERT INTO pairs VALUES (?, ?, ?, ?)") { row in
                        row.integer(id)
                        row.text(word)
                        row.bytes(Self.bytes(first, 1))
                        row.bytes(Self.bytes(second, 2))
                    }
                    let found = try #require(
                        try db.first("SELECT first, second FROM pairs WHERE word = ? AND id = ?") { row in
                            row.text(word)
                            row.integer(id)
                        } read: {
                            ($0.bytes(0), $0.bytes(1))
                        })
                    #expect(found.0 == Self.bytes(first, 1) && found.1 == Self.bytes(second, 2), "\(first) and \(second) bytes")
                }
            }
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM pairs WHERE first IS NULL OR second IS NULL") == 0)
        }
    }

    @Test("A statement that failed leaves nothing bound for its next use")
    func failed() throws {
        let database = try DatabaseQueue()
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE words (word TEXT UNIQUE, note TEXT) STRICT")
            func insert(_ word: String, note: String?) throws {
                try db.run("INSERT INTO words VALUES (?, ?)") { row in
                    row.text(word)
                    if let note { row.text(note) } else { row.null() }
                }
            }
            try insert("one", note: "first")
            #expect(throws: DatabaseError.self) { try insert("one", note: "again") }
            try insert("two", note: nil)
            #expect(try String.fetchAll(db, sql: "SELECT word || coalesce(note, '') FROM words ORDER BY 1") == ["onefirst", "two"])
        }
    }
}
