// SQL sentences about who read which data of whom and when (SHR-24): of the last day each read, before that counts by the hour.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// Where an item stands in its person's list.
enum AccessPlace: Hashable, Sendable, CustomStringConvertible {
    /// Number of a single read.
    case read(Int64)
    /// Counts of an hour, by their key.
    case hour(Int64, grant: Int64, metric: Int64)

    /// From a cursor of this or an earlier version.
    init?(_ text: String) {
        if let number = Int64(text) {
            self = .read(number)
            return
        }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "h", let hour = Int64(parts[1]), let grant = Int64(parts[2]), let metric = Int64(parts[3])
        else {
            return nil
        }
        self = .hour(hour, grant: grant, metric: metric)
    }

    var description: String {
        switch self {
        case .read(let number): "\(number)"
        case .hour(let hour, let grant, let metric): "h.\(hour).\(grant).\(metric)"
        }
    }
}

/// One read, or those of an hour under one grant and of one type, added up.
struct RecordedAccess: Sendable {
    let place: AccessPlace
    let read: DataRead
    /// Of reads by the hour, its beginning.
    let at: Timestamp
    /// How many reads were added up; nil for a single one.
    let reads: Int?
}

/// The tables of `consent-accesses.db`. Nobody who has no account is recorded, and whoever is erased stays so: see `number(_:of:)`.
struct AccessStore: Sendable {
    /// "TMca": tells the store of accesses from any other SQLite file.
    static let applicationID: Int32 = 0x544D_6361

    static let migrations = [
        Migration(1, "reads, and their counts by the hour") { db in
            try ConsumerPositions.create(in: db)
            try create(in: db)
        }
    ]

    /// Single reads are kept for so long.
    static let keepsReads = Duration.seconds(24 * 3600)
    private static let hour: Int64 = 3_600_000

    /// Knows who has an account.
    private let consent: Store
    private let accounts = AccountStore()

    init(beside consent: Store) {
        self.consent = consent
    }

    private static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE access_people (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    person BLOB NOT NULL UNIQUE
                ) STRICT;
                CREATE TABLE access_grants (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    -- Of access_people, here and below.
                    person INTEGER NOT NULL,
                    grant_id BLOB NOT NULL,
                    organisation BLOB NOT NULL,
                    UNIQUE (person, grant_id, organisation)
                ) STRICT;
                CREATE TABLE accesses (
                    -- In the order in which they were recorded; never given again, since it is a cursor's place.
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    person INTEGER NOT NULL,
                    access_grant INTEGER NOT NULL,
                    metric INTEGER NOT NULL,
                    from_at INTEGER NOT NULL,
                    to_at INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX accesses_by_person ON accesses (person, number);
                CREATE TABLE access_hours (
                    person INTEGER NOT NULL,
                    -- Its beginning.
                    hour INTEGER NOT NULL,
                    access_grant INTEGER NOT NULL,
                    metric INTEGER NOT NULL,
                    from_at INTEGER NOT NULL,
                    to_at INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    reads INTEGER NOT NULL,
                    PRIMARY KEY (person, hour, access_grant, metric)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX access_hours_by_time ON access_hours (hour);
                -- Up to which number the rows of consent.db have been moved here.
                CREATE TABLE access_moves (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    through INTEGER NOT NULL
                ) STRICT;
                INSERT INTO access_moves VALUES (1, 0);
                """)
    }

    // MARK: Recording

    /// In the transaction of the position.
    func apply(_ db: Database, _ event: StreamEvent) throws {
        guard let read = try event.fact(DataRead.self, type: DataRead.type), let person = PersonID(event.header.subject) else { return }
        try add(db, read, of: person, at: event.header.at)
    }

    /// - Parameter number: of a row that is moved; else the next one.
    func add(_ db: Database, _ read: DataRead, of person: PersonID, at: Timestamp, number: Int64? = nil) throws {
        guard let owner = try self.number(db, of: person) else { return }
        let grant = try self.number(db, of: read, by: owner)
        try db.run(
            """
            INSERT INTO accesses (number, person, access_grant, metric, from_at, to_at, count, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        ) { row in
            if let number { row.integer(number) } else { row.null() }
            row.integer(owner)
            row.integer(grant)
            row.integer(Int64(read.metric.number))
            row.integer(read.from.milliseconds)
            row.integer(read.to.milliseconds)
            row.integer(read.count)
            row.integer(at.milliseconds)
        }
    }

    /// Nil where there is no such account. Who is not known here is looked up there, in the transaction of the row: an erasure deletes the
    /// account first and these rows after it, so that a read that is received late is either deleted with them or finds no account.
    private func number(_ db: Database, of person: PersonID) throws -> Int64? {
        if let known = try known(db, person) { return known }
        guard try consent.readNow({ try accounts.find($0, person: person) }) != nil else { return nil }
        try db.run("INSERT INTO access_people (person) VALUES (?)") { $0.bytes(person.bytes) }
        return db.lastInsertedRowID
    }

    private func known(_ db: Database, _ person: PersonID) throws -> Int64? {
        try db.first("SELECT number FROM access_people WHERE person = ?", { $0.bytes(person.bytes) }, read: { $0.integer(0) })
    }

    private func number(_ db: Database, of read: DataRead, by owner: Int64) throws -> Int64 {
        func bind(_ row: inout QuickBindings) {
            row.integer(owner)
            row.bytes(read.grant.bytes)
            row.bytes(read.organisation.bytes)
        }
        let known = try db.first(
            "SELECT number FROM access_grants WHERE person = ? AND grant_id = ? AND organisation = ?", bind, read: { $0.integer(0) })
        if let known { return known }
        try db.run("INSERT INTO access_grants (person, grant_id, organisation) VALUES (?, ?, ?)", bind)
        return db.lastInsertedRowID
    }

    /// People of whom rows are kept and who have no account, from behind `last` on: they were erased after a copy was made that has been
    /// restored since.
    /// - Returns: them, and the last number that was looked at; nil at the end.
    func strangers(_ db: Database, after last: Int64) throws -> (people: [PersonID], last: Int64?) {
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT number, person FROM access_people WHERE number > ? ORDER BY number LIMIT \(DeletionSlice.rows)"),
            arguments: [last])
        let people = rows.compactMap { $0.value(1, as: PersonID.self) }
        let strangers = try consent.readNow { consent in try people.filter { try accounts.find(consent, person: $0) == nil } }
        return (strangers, rows.last?[0])
    }

    // MARK: Folding and pruning, a slice at a time

    /// Adds the oldest reads up by the hour where they are of more than a day ago. Looks at no more than one slice of them: they are
    /// numbered as they happened. What a wrong clock put into the future would stop those behind it, and is added up as well.
    /// - Returns: how many reads; to be called again until it is none.
    func fold(_ db: Database, at now: Timestamp) throws -> Int {
        let due = "at < ?1 OR at > ?2"
        let bounds: StatementArguments = [now - Self.keepsReads, now.milliseconds + Self.hour]
        try db.cachedStatement(
            sql: """
                INSERT INTO access_hours (person, hour, access_grant, metric, from_at, to_at, count, reads)
                SELECT person, at - at % \(Self.hour), access_grant, metric, min(from_at), max(to_at), sum(count), count(*)
                FROM (SELECT * FROM accesses ORDER BY number LIMIT \(DeletionSlice.rows)) WHERE \(due) GROUP BY 1, 2, 3, 4
                ON CONFLICT (person, hour, access_grant, metric) DO UPDATE SET
                    from_at = min(access_hours.from_at, excluded.from_at), to_at = max(access_hours.to_at, excluded.to_at),
                    count = access_hours.count + excluded.count, reads = access_hours.reads + excluded.reads
                """
        ).execute(arguments: bounds)
        try db.cachedStatement(
            sql: """
                DELETE FROM accesses WHERE number IN (
                    SELECT number FROM (SELECT number, at FROM accesses ORDER BY number LIMIT \(DeletionSlice.rows)) WHERE \(due))
                """
        ).execute(arguments: bounds)
        return db.changesCount
    }

    /// A slice of the counts of hours that were over by then.
    /// - Returns: how many; to be called again until it is none.
    func prune(_ db: Database, before oldest: Timestamp) throws -> Int {
        var slice = DeletionSlice()
        try slice.delete(
            db, from: "access_hours", key: "person, hour, access_grant, metric", where: "hour <= ?", [oldest.milliseconds - Self.hour])
        return slice.deleted
    }

    /// A slice of all that is known of the person, themselves last.
    /// - Returns: how many rows; to be called again until it is none.
    func erase(_ db: Database, _ person: PersonID) throws -> Int {
        guard let owner = try known(db, person) else { return 0 }
        var slice = DeletionSlice()
        try slice.delete(db, from: "accesses", where: "person = ?", [owner])
        try slice.delete(db, from: "access_hours", key: "person, hour, access_grant, metric", where: "person = ?", [owner])
        try slice.delete(db, from: "access_grants", where: "person = ?", [owner])
        try slice.delete(db, from: "access_people", where: "number = ?", [owner])
        return slice.deleted
    }

    // MARK: Listing

    /// Newest first: single reads, and behind them the hours.
    func page(_ db: Database, of person: PersonID, after place: AccessPlace?, limit: Int) throws -> [RecordedAccess] {
        guard let owner = try known(db, person) else { return [] }
        var found: [RecordedAccess] = []
        var last: (hour: Int64, grant: Int64, metric: Int64) = (.max, .max, .max)
        switch place {
        case .hour(let hour, let grant, let metric): last = (hour, grant, metric)
        case .read(let number): found = try reads(db, of: owner, before: number, limit: limit)
        case nil: found = try reads(db, of: owner, before: .max, limit: limit)
        }
        guard found.count < limit else { return found }
        return try found
            + Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT hour, access_grant, metric, grant_id, organisation, from_at, to_at, count, reads
                        FROM access_hours JOIN access_grants ON access_grants.number = access_grant
                        WHERE access_hours.person = ? AND (hour, access_grant, metric) < (?, ?, ?)
                        ORDER BY hour DESC, access_grant DESC, metric DESC LIMIT ?
                        """), arguments: [owner, last.hour, last.grant, last.metric, limit - found.count]
            ).compactMap(RecordedAccess.init(hour:))
    }

    private func reads(_ db: Database, of owner: Int64, before number: Int64, limit: Int) throws -> [RecordedAccess] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT accesses.number, at, metric, grant_id, organisation, from_at, to_at, count
                    FROM accesses JOIN access_grants ON access_grants.number = access_grant
                    WHERE accesses.person = ? AND accesses.number < ? ORDER BY accesses.number DESC LIMIT ?
                    """), arguments: [owner, number, limit]
        ).compactMap(RecordedAccess.init(read:))
    }
}

extension RecordedAccess {
    fileprivate init?(read row: Row) {
        guard let read = DataRead(row) else { return nil }
        self.init(place: .read(row[0]), read: read, at: row[1], reads: nil)
    }

    fileprivate init?(hour row: Row) {
        guard let read = DataRead(row) else { return nil }
        self.init(place: .hour(row[0], grant: row[1], metric: row[2]), read: read, at: row[0], reads: row[8])
    }
}

extension DataRead {
    /// Columns 2 to 7 of both lists.
    fileprivate init?(_ row: Row) {
        guard let grant: GrantID = row.value(3), let organisation: OrganisationID = row.value(4),
            let metric = Metric(number: row[2])
        else { return nil }
        self.init(grant: grant, organisation: organisation, metric: metric, from: row[5], to: row[6], count: row[7])
    }
}
