// What columns give back of identifiers and times, also from a damaged file.

import Contracts
import Foundation
import GRDB
import Testing

@testable import Storage

@Suite("Columns")
struct ColumnTests {
    private static let person = PersonID(bits: 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)
    private static let at = Timestamp(milliseconds: 1_700_000_000_123)

    private func fetched(_ sql: String, _ arguments: StatementArguments) throws -> Row {
        try DatabaseQueue().read { db in try #require(try Row.fetchOne(db, sql: sql, arguments: arguments)) }
    }

    @Test("an identifier is a BLOB of its 16 bytes and a time an INTEGER of milliseconds, as stores have always held them")
    func stored() throws {
        let row = try fetched("SELECT ?, ?, typeof(?), typeof(?)", [Self.person, Self.at, Self.person, Self.at])
        #expect(row[0] as Data == Data(Self.person.bytes))
        #expect(row[1] as Int64 == Self.at.milliseconds)
        #expect(row[2] as String == "blob" && row[3] as String == "integer")
        #expect(row.value(0, as: PersonID.self) == Self.person && row.value(1, as: Timestamp.self) == Self.at)
        #expect(try row.decode(PersonID.self, atIndex: 0) == Self.person)
    }

    @Test("NULL is nil, of arguments too")
    func null() throws {
        let row = try fetched("SELECT ? AS person, ? AS at", [nil as PersonID?, nil as Timestamp?])
        #expect(row.value("person", as: PersonID.self) == nil)
        #expect(row["at"] as Timestamp? == nil)
        #expect(try row.decode(PersonID?.self, atIndex: 0) == nil)
    }

    @Test(
        "a damaged identifier is nil or an error whose text for operators names no value, and never ends the process",
        arguments: ["x''", "x'0102'", "zeroblob(17)", "7", "1.5", "'0123'"])
    func damaged(column: String) throws {
        let row = try fetched("SELECT \(column) AS person", [])
        #expect(row.value(0, as: PersonID.self) == nil)
        #expect(row.value("person", as: PersonID.self) == nil)
        let error = #expect(throws: RowDecodingError.self) { try row.decode(PersonID.self, atIndex: 0) }
        #expect(error?.databaseFault == "a row of it is not as it was written")
        #expect(throws: RowDecodingError.self) { try row.decode(PersonID?.self, atIndex: 0) }
    }

    @Test("a time that is no number is nil or an error")
    func damagedTime() throws {
        let row = try fetched("SELECT x'0102'", [])
        #expect(row.value(0, as: Timestamp.self) == nil)
        #expect(throws: RowDecodingError.self) { try row.decode(Timestamp?.self, atIndex: 0) }
    }

    @Test("a time of a row that is being read is the same as of a copied one")
    func read() throws {
        try DatabaseQueue().read { db in
            let times = try Timestamp.fetchAll(db, sql: "SELECT 1 UNION SELECT 2")
            #expect(times == [Timestamp(milliseconds: 1), Timestamp(milliseconds: 2)])
            #expect(try Timestamp.fetchOne(db, sql: "SELECT max(a) FROM (SELECT 1 AS a WHERE 0)") == nil)
            let rows = try Row.fetchCursor(db, sql: "SELECT 3, ?", arguments: [Self.person])
            while let row = try rows.next() {
                #expect(row[0] as Timestamp == Timestamp(milliseconds: 3))
                #expect(row.value(1, as: PersonID.self) == Self.person)
            }
        }
    }
}
