// SQL sentences about people and their devices. A token is only here as a keyed look-up, names and models only sealed.

import Contracts
import Foundation
import GRDB
import Storage

/// One device as the store has it.
struct DeviceRow: Hashable, Sendable {
    let number: Int64
    let device: DeviceID
    let person: PersonID
    let personNumber: Int64
    let tokenLookup: [UInt8]
    let intervalMs: Int64?
    let isActive: Bool
    let kind: DeviceKind
    let origin: DeviceOrigin
    let measures: MetricSet
    let tracking: Tracking
    let condition: DeviceCondition
    let addedAt: Timestamp

    /// Whether it measures nothing because it lies in its charger (ING-19).
    var isStoppedByCharging: Bool { kind.stopsWhileCharging && condition.charging == true }

    /// Whether a vital sign may come from it; from a phone, which is there for places, only where the person chose it for one.
    var mayDeliverVital: Bool {
        let set =
            switch (kind, tracking) {
            case (.phone, .rest): MetricSet()
            case (.phone, .chosen(let chosen)): chosen
            default: measures
            }
        return set.metrics.contains(where: \.definition.vital)
    }

    /// As the tracking plan sees it.
    var source: TrackedSource {
        TrackedSource(
            device: device, kind: kind, measures: measures, tracking: tracking, isCharging: condition.charging ?? false)
    }
}

/// A device that is to be stored.
struct NewDevice: Sendable {
    var device: DeviceID
    var tokenLookup: [UInt8]
    /// Sealed under the person's key, as `model` is.
    var name: [UInt8]
    var model: [UInt8]?
    var publicKey: [UInt8]?
    var intervalMs: Int64?
    var kind = DeviceKind.wearable
    var origin = DeviceOrigin.enrolled
    var measures = MetricSet.everything
    var tracking = Tracking.rest
}

/// What only a list of devices needs.
struct DeviceLabels: Sendable {
    let name: [UInt8]
    let model: [UInt8]?
    let publicKey: [UInt8]?
    let addedAt: Timestamp
}

struct DeviceStore: Sendable {
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

    /// Second step: what people enter about their devices. Whoever was there before was enrolled by an operator.
    static func extend(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE people ADD COLUMN enrolled INTEGER NOT NULL DEFAULT 1;
                ALTER TABLE people ADD COLUMN source_order TEXT;
                ALTER TABLE devices ADD COLUMN kind TEXT NOT NULL DEFAULT 'wearable';
                ALTER TABLE devices ADD COLUMN origin TEXT NOT NULL DEFAULT 'operator';
                ALTER TABLE devices ADD COLUMN model BLOB;
                ALTER TABLE devices ADD COLUMN public_key BLOB;
                ALTER TABLE devices ADD COLUMN measures BLOB;
                ALTER TABLE devices ADD COLUMN tracks BLOB;
                ALTER TABLE devices ADD COLUMN charging INTEGER;
                ALTER TABLE devices ADD COLUMN worn INTEGER;
                ALTER TABLE devices ADD COLUMN battery INTEGER;
                ALTER TABLE devices ADD COLUMN condition_at INTEGER;
                """)
    }

    /// Third step: the shortest interval that a device can measure at.
    static func extendByFastest(in db: Database) throws {
        try db.execute(sql: "ALTER TABLE devices ADD COLUMN fastest_ms INTEGER")
    }

    // MARK: People

    func personNumber(_ db: Database, _ person: PersonID) throws -> Int64? {
        try db.first("SELECT number FROM people WHERE person = ?") {
            $0.bytes(person.bytes)
        } read: {
            $0.integer(0)
        }
    }

    func person(_ db: Database, _ number: Int64) throws -> PersonID? {
        try Data.fetchOne(db.cachedStatement(sql: "SELECT person FROM people WHERE number = ?"), arguments: [number])
            .flatMap { PersonID(bytes: $0) }
    }

    /// The person's number; given here where there was none.
    /// - Parameter enrolled: made by an operator, without an account: nobody needs to be asked whether entries may be taken.
    func addPerson(_ db: Database, _ person: PersonID, enrolled: Bool, at: Timestamp) throws -> Int64 {
        if let number = try personNumber(db, person) { return number }
        try db.execute(
            sql: "INSERT INTO people (person, enrolled, added_at) VALUES (?, ?, ?)",
            arguments: [person, enrolled, at])
        return db.lastInsertedRowID
    }

    func setPriority(_ db: Database, of person: Int64, _ priority: SourcePriority) throws {
        try db.execute(sql: "UPDATE people SET source_order = ? WHERE number = ?", arguments: [priority.text, person])
    }

    // MARK: Changing devices

    func add(_ db: Database, _ new: NewDevice, of person: Int64, at: Timestamp) throws {
        try db.execute(
            sql: """
                INSERT INTO devices (device, person, token_lookup, name, model, public_key, interval_ms, kind, origin, measures, tracks, added_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                new.device, person, Data(new.tokenLookup), Data(new.name), new.model.map { Data($0) },
                new.publicKey.map { Data($0) }, new.intervalMs, new.kind.rawValue, new.origin.rawValue,
                new.measures.isEverything ? nil : Data(new.measures.bytes), new.tracking.data, at,
            ])
    }

    /// False where it was revoked before or never existed.
    func revoke(_ db: Database, _ device: DeviceID, at: Timestamp) throws -> Bool {
        try db.execute(
            sql: "UPDATE devices SET revoked_at = ? WHERE device = ? AND revoked_at IS NULL",
            arguments: [at, device])
        return db.changesCount == 1
    }

    /// - Parameter name: sealed under the person's key.
    func rename(_ db: Database, _ device: DeviceID, name: [UInt8]) throws {
        try db.execute(sql: "UPDATE devices SET name = ? WHERE device = ?", arguments: [Data(name), device])
    }

    func setKind(_ db: Database, _ device: DeviceID, _ kind: DeviceKind) throws {
        try db.execute(sql: "UPDATE devices SET kind = ? WHERE device = ?", arguments: [kind.rawValue, device])
    }

    func setInterval(_ db: Database, _ device: DeviceID, _ milliseconds: Int64) throws {
        try db.execute(sql: "UPDATE devices SET interval_ms = ? WHERE device = ?", arguments: [milliseconds, device])
    }

    func setTracking(_ db: Database, _ device: DeviceID, _ tracking: Tracking) throws {
        try db.execute(sql: "UPDATE devices SET tracks = ? WHERE device = ?", arguments: [tracking.data, device])
    }

    func setCondition(_ db: Database, _ device: DeviceID, _ condition: DeviceCondition) throws {
        try db.execute(
            sql: "UPDATE devices SET charging = ?, worn = ?, battery = ?, condition_at = ?, fastest_ms = ? WHERE device = ?",
            arguments: [condition.charging, condition.worn, condition.battery, condition.at, condition.fastestIntervalMs, device])
    }

    // MARK: Reading devices

    private static let columns = """
        SELECT devices.number, device, people.person, people.number, token_lookup, interval_ms, revoked_at IS NULL, kind, origin,
        measures, tracks, charging, worn, battery, condition_at, fastest_ms, devices.added_at
        FROM devices JOIN people ON people.number = devices.person
        """

    func device(_ db: Database, _ device: DeviceID) throws -> DeviceRow? {
        try Row.fetchOne(db, sql: "\(Self.columns) WHERE device = ?", arguments: [device]).flatMap(DeviceRow.init)
    }

    /// Active devices in the order in which they were added.
    func active(_ db: Database, after number: Int64, limit: Int) throws -> [DeviceRow] {
        try Row.fetchAll(
            db,
            sql: """
                \(Self.columns) WHERE revoked_at IS NULL AND origin IN ('operator', 'paired') AND devices.number > ?
                ORDER BY devices.number LIMIT ?
                """,
            arguments: [number, limit]
        ).compactMap(DeviceRow.init)
    }

    /// By the devices' numbers.
    func labels(_ db: Database, of person: Int64) throws -> [Int64: DeviceLabels] {
        let rows = try Row.fetchAll(
            db, sql: "SELECT number, name, model, public_key, added_at FROM devices WHERE person = ?", arguments: [person])
        return Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (
                    row[0],
                    DeviceLabels(
                        name: [UInt8](row[1] as Data), model: (row[2] as Data?).map { [UInt8]($0) },
                        publicKey: (row[3] as Data?).map { [UInt8]($0) }, addedAt: row[4])
                )
            })
    }

    // MARK: HouseholdRepository

    /// One person with everything that decides about uploads.
    func household(_ db: Database, of person: Int64) throws -> Household? {
        let devices = try Row.fetchAll(
            db, sql: "\(Self.columns) WHERE devices.person = ? ORDER BY devices.number", arguments: [person]
        ).compactMap(DeviceRow.init)
        let pauses = try PauseStore().newest(db, of: person)
        return try Row.fetchOne(
            db, sql: "SELECT person, number, enrolled, source_order FROM people WHERE number = ?", arguments: [person]
        ).flatMap { Household($0, devices: devices, pauses: pauses) }
    }

    /// Everybody; revoked devices included: their entries stay.
    func households(_ db: Database) throws -> [Household] {
        let rows = try Row.fetchAll(db, sql: "\(Self.columns) ORDER BY devices.number").compactMap(DeviceRow.init)
        let devices = Dictionary(grouping: rows, by: \.personNumber)
        let pauses = try PauseStore().newest(db)
        return try Row.fetchAll(db, sql: "SELECT person, number, enrolled, source_order FROM people").compactMap { row in
            Household(row, devices: devices[row[1]] ?? [], pauses: pauses[row[1]] ?? [])
        }
    }
}

extension Tracking {
    fileprivate var data: Data? {
        switch self {
        case .rest: nil
        case .chosen(let set): Data(set.bytes)
        }
    }
}

extension Household {
    fileprivate init?(_ row: Row, devices: [DeviceRow], pauses: [Pause]) {
        guard let person: PersonID = row.value(0) else { return nil }
        self.init(
            person: person, number: row[1], isEnrolled: row[2],
            priority: (row[3] as String?).flatMap(SourcePriority.init(text:)) ?? .usual, devices: devices, pauses: pauses)
    }
}

extension DeviceRow {
    fileprivate init?(_ row: Row) {
        guard let device: DeviceID = row.value(1), let person: PersonID = row.value(2),
            let kind = DeviceKind(rawValue: row[7]), let origin = DeviceOrigin(rawValue: row[8])
        else { return nil }
        let tracks = (row[10] as Data?).flatMap { MetricSet(bytes: $0) }
        self.init(
            number: row[0], device: device, person: person, personNumber: row[3], tokenLookup: [UInt8](row[4] as Data), intervalMs: row[5],
            isActive: row[6], kind: kind, origin: origin,
            measures: (row[9] as Data?).flatMap { MetricSet(bytes: $0) } ?? .everything, tracking: tracks.map(Tracking.chosen) ?? .rest,
            condition: DeviceCondition(charging: row[11], worn: row[12], battery: row[13], at: row[14], fastestIntervalMs: row[15]),
            addedAt: row[16])
    }
}
