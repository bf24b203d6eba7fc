// SQL sentences about people and their devices. A token is only here as a keyed look-up, a device's name only sealed.

import Contracts
import Foundation
import GRDB

/// One device as the store has it.
struct DeviceRow: Sendable {
    let number: Int64
    let device: DeviceID
    let person: PersonID
    let personNumber: Int64
    let tokenLookup: [UInt8]
    let intervalMs: Int64?
    let isActive: Bool
}

struct DeviceTable: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE people (
                    number INTEGER PRIMARY KEY,
                    person BLOB NOT NULL UNIQUE,
                    added_at INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE devices (
                    number INTEGER PRIMARY KEY,
                    device BLOB NOT NULL UNIQUE,
                    person INTEGER NOT NULL REFERENCES people (number),
                    token_lookup BLOB NOT NULL UNIQUE,
                    name BLOB NOT NULL,
                    interval_ms INTEGER,
                    added_at INTEGER NOT NULL,
                    revoked_at INTEGER
                ) STRICT;
                CREATE INDEX devices_by_person ON devices (person);
                """)
    }

    func personNumber(_ db: Database, _ person: PersonID) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT number FROM people WHERE person = ?"), arguments: [Data(person.bytes)])
    }

    func person(_ db: Database, _ number: Int64) throws -> PersonID? {
        try Data.fetchOne(db.cachedStatement(sql: "SELECT person FROM people WHERE number = ?"), arguments: [number])
            .flatMap { PersonID(bytes: $0) }
    }

    /// The person's number; given here where there was none.
    func addPerson(_ db: Database, _ person: PersonID, at: Timestamp) throws -> Int64 {
        if let number = try personNumber(db, person) { return number }
        try db.execute(
            sql: "INSERT INTO people (person, added_at) VALUES (?, ?)", arguments: [Data(person.bytes), at.milliseconds])
        return db.lastInsertedRowID
    }

    func countActive(_ db: Database, of person: Int64) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM devices WHERE person = ? AND revoked_at IS NULL"), arguments: [person]) ?? 0
    }

    /// - Parameter name: sealed under the person's key.
    func addDevice(
        _ db: Database, _ device: DeviceID, of person: Int64, tokenLookup: [UInt8], name: [UInt8], intervalMs: Int64?, at: Timestamp
    ) throws -> Int64 {
        try db.execute(
            sql: "INSERT INTO devices (device, person, token_lookup, name, interval_ms, added_at) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [Data(device.bytes), person, Data(tokenLookup), Data(name), intervalMs, at.milliseconds])
        return db.lastInsertedRowID
    }

    /// False where it was revoked before or never existed.
    func revoke(_ db: Database, _ device: DeviceID, at: Timestamp) throws -> Bool {
        try db.execute(
            sql: "UPDATE devices SET revoked_at = ? WHERE device = ? AND revoked_at IS NULL",
            arguments: [at.milliseconds, Data(device.bytes)])
        return db.changesCount == 1
    }

    private static let columns = """
        SELECT devices.number, device, people.person, people.number, token_lookup, interval_ms, revoked_at IS NULL
        FROM devices JOIN people ON people.number = devices.person
        """

    func device(_ db: Database, _ device: DeviceID) throws -> DeviceRow? {
        try Row.fetchOne(db, sql: "\(Self.columns) WHERE device = ?", arguments: [Data(device.bytes)]).flatMap(DeviceRow.init)
    }

    /// Every device, revoked ones included: their entries stay.
    func all(_ db: Database) throws -> [DeviceRow] {
        try Row.fetchAll(db, sql: Self.columns).compactMap(DeviceRow.init)
    }

    /// Active devices in the order in which they were added.
    func active(_ db: Database, after number: Int64, limit: Int) throws -> [DeviceRow] {
        try Row.fetchAll(
            db, sql: "\(Self.columns) WHERE revoked_at IS NULL AND devices.number > ? ORDER BY devices.number LIMIT ?",
            arguments: [number, limit]
        ).compactMap(DeviceRow.init)
    }
}

extension DeviceRow {
    fileprivate init?(_ row: Row) {
        guard let device = DeviceID(bytes: row[1] as Data), let person = PersonID(bytes: row[2] as Data) else { return nil }
        self.init(
            number: row[0], device: device, person: person, personNumber: row[3], tokenLookup: [UInt8](row[4] as Data), intervalMs: row[5],
            isActive: row[6])
    }
}
