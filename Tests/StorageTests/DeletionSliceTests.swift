// What is deleted of a person a few rows at a time.

import Contracts
import Foundation
import GRDB
import Testing

@testable import Storage

@Suite("Slices of a deletion")
struct DeletionSliceTests {
    private func delete(_ store: Store) async throws -> Int {
        try await store.write { db in
            var slice = DeletionSlice()
            // The lines before what they are found by.
            try slice.delete(db, from: "lines", key: "sheet, number", where: "sheet IN (SELECT sheet FROM sheets WHERE owner = ?)", [1])
            try slice.delete(db, from: "sheets", key: "sheet", where: "owner = ?", [1])
            return slice.deleted
        }
    }

    @Test("S8: an erasure deleted all rows of a person in one transaction: it deletes 500 at most, in their order, and of nobody else")
    func slices() async throws {
        try await withNotes { store in
            try await store.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE sheets (sheet BLOB PRIMARY KEY, owner INTEGER NOT NULL) STRICT, WITHOUT ROWID;
                        CREATE TABLE lines (sheet BLOB NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (sheet, number)) STRICT, WITHOUT ROWID;
                        """)
                for owner in 1...2 {
                    for sheet in 0..<300 {
                        let name = Data("\(owner) \(sheet)".utf8)
                        try db.execute(sql: "INSERT INTO sheets VALUES (?, ?)", arguments: [name, owner])
                        for line in 0..<2 { try db.execute(sql: "INSERT INTO lines VALUES (?, ?)", arguments: [name, line]) }
                    }
                }
            }
            #expect(try await delete(store) == 500)
            #expect(
                try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sheets") } == 600,
                "lines are left by which sheets are needed")
            #expect(try await delete(store) == 400)
            #expect(try await delete(store) == 0)
            let left = try await store.read { db in
                try ["sheets", "lines"].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") }
            }
            #expect(left == [300, 600])
        }
    }
}
