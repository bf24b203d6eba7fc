// SQL sentences about subscriptions to groups: how far each is, what its windows came to, and whose days it has charged.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// One that begins.
struct NewSubscription: Sendable {
    /// What it has in common with others of the organisation that differ in their period alone.
    let series: [UInt8]
    let form: GroupRequestForm
    let schedule: WindowSchedule
}

/// One as it is kept.
struct KeptSubscription: Sendable {
    let request: GroupRequestID
    let organisation: OrganisationID
    let form: GroupRequestForm
    let schedule: WindowSchedule
    let isOver: Bool
}

struct GroupSubscriptionStore: Sendable {
    /// Chunks of which one erasure's step clears a row.
    static let step = 64

    /// The service's own.
    let key: SymmetricKey
    let policy: AnonymityPolicy
    private var chunks: ChunkSeal { ChunkSeal(key: key, table: "group_charged_chunks.sealed") }

    /// Needs the tables of `GroupRequestStore`.
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE group_requests ADD COLUMN is_subscription INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE group_subscriptions (
                    request BLOB NOT NULL PRIMARY KEY,
                    organisation BLOB NOT NULL,
                    series BLOB NOT NULL,
                    -- GroupRequestForm.
                    form BLOB NOT NULL,
                    granularity INTEGER NOT NULL,
                    -- Days since 1970.
                    day_from INTEGER NOT NULL,
                    day_to INTEGER NOT NULL,
                    -- Of the last window that was told.
                    sequence INTEGER NOT NULL,
                    -- Quarter hours since 1970.
                    next INTEGER NOT NULL,
                    held_from INTEGER,
                    held_to INTEGER,
                    -- The end of the next window; none once it is over.
                    closes INTEGER,
                    CHECK ((held_from IS NULL) = (held_to IS NULL))
                ) STRICT;
                CREATE UNIQUE INDEX group_subscriptions_running ON group_subscriptions (organisation, series) WHERE closes IS NOT NULL;
                CREATE INDEX group_subscriptions_by_series ON group_subscriptions (organisation, series, next);
                CREATE INDEX group_subscriptions_due ON group_subscriptions (closes) WHERE closes IS NOT NULL;
                CREATE TABLE group_windows (
                    request BLOB NOT NULL,
                    sequence INTEGER NOT NULL,
                    quarter_from INTEGER NOT NULL,
                    quarter_to INTEGER NOT NULL,
                    status TEXT NOT NULL CHECK (status IN ('released', 'withheld')),
                    PRIMARY KEY (request, sequence)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE group_window_tables (
                    request BLOB NOT NULL,
                    sequence INTEGER NOT NULL,
                    place INTEGER NOT NULL,
                    digest BLOB NOT NULL,
                    PRIMARY KEY (request, sequence, place)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE group_charged_days (
                    request BLOB NOT NULL,
                    day INTEGER NOT NULL,
                    extra_micro_rho INTEGER NOT NULL,
                    PRIMARY KEY (request, day)
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE group_charged_chunks (
                    number INTEGER PRIMARY KEY,
                    request BLOB NOT NULL,
                    day INTEGER NOT NULL,
                    chunk INTEGER NOT NULL,
                    sealed BLOB NOT NULL,
                    UNIQUE (request, day, chunk)
                ) STRICT;
                """)
    }

    // MARK: Subscriptions

    private static let columns =
        "request, organisation, form, granularity, day_from, day_to, sequence, next, held_from, held_to, closes IS NULL"

    func add(_ db: Database, _ new: NewSubscription, _ request: GroupRequestID, of organisation: OrganisationID) throws {
        let (schedule, days) = (new.schedule, new.schedule.period.days)
        let form = try Seal.seal(JSONEncoder().encode(new.form), key: key, context: Self.context(request))
        try db.cachedStatement(
            sql: """
                INSERT INTO group_subscriptions
                (request, organisation, series, form, granularity, day_from, day_to, sequence, next, closes)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                request, organisation, Data(new.series), Data(form), Int(schedule.granularity.rawValue), days.lowerBound, days.upperBound,
                schedule.sequence, schedule.next, schedule.window?.end,
            ])
    }

    /// Nil for what is no subscription.
    func find(_ db: Database, _ request: GroupRequestID) throws -> KeptSubscription? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT \(Self.columns) FROM group_subscriptions WHERE request = ?"), arguments: [request]
        ).map(kept)
    }

    private func kept(_ row: Row) throws -> KeptSubscription {
        let (from, to) = (row[4] as Int, row[5] as Int)
        guard let request: GroupRequestID = row.value(0), let organisation: OrganisationID = row.value(1), let sealed: Data = row.value(2),
            let granularity = Granularity(rawValue: UInt8(clamping: row[3] as Int)), granularity != .window, from < to
        else { throw DamagedRelease(table: "group_subscriptions") }
        var held: TimeSpan?
        if let first: Int = row.value(8), let last: Int = row.value(9), first < last { held = TimeSpan(first, last) }
        let form = try Seal.open(sealed, key: key, context: Self.context(request))
        return KeptSubscription(
            request: request, organisation: organisation, form: try JSONDecoder().decode(GroupRequestForm.self, from: Data(form)),
            schedule: WindowSchedule(granularity, period: DayWindow(from..<to), sequence: row[6], next: row[7], held: held, policy),
            isOver: row[10])
    }

    /// Those whose next window is closed, the ones that wait longest first.
    /// - Parameter closed: buckets that end by then are: quarter hours since 1970.
    func due(_ db: Database, closedUntil closed: Int, limit: Int) throws -> [GroupRequestID] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "SELECT request FROM group_subscriptions WHERE closes IS NOT NULL AND closes <= ? ORDER BY closes LIMIT ?"),
            arguments: [closed, limit]
        ).compactMap { $0.value(0) }
    }

    /// Where an earlier one of the series came to, and whether one still runs; nil where there was none.
    func last(
        _ db: Database, of organisation: OrganisationID, series: [UInt8]
    ) throws -> (next: Int, isRunning: Bool)? {
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    SELECT max(next), max(closes IS NOT NULL) FROM group_subscriptions WHERE organisation = ? AND series = ?
                    """), arguments: [organisation, Data(series)])
        guard let row, let next: Int = row.value(0) else { return nil }
        return (next, row[1])
    }

    /// - Throws: where it is not any more as it was read.
    func advance(_ db: Database, _ old: KeptSubscription, to schedule: WindowSchedule, isOver: Bool) throws {
        try db.cachedStatement(
            sql: """
                UPDATE group_subscriptions SET sequence = ?, next = ?, held_from = ?, held_to = ?, closes = ?
                WHERE request = ? AND sequence = ? AND next = ? AND closes IS NOT NULL
                """
        ).execute(
            arguments: [
                schedule.sequence, schedule.next, schedule.held?.start, schedule.held?.end, isOver ? nil : schedule.window?.end,
                old.request, old.schedule.sequence, old.schedule.next,
            ])
        guard db.changesCount == 1 else { throw DamagedRelease(table: "group_subscriptions") }
    }

    private static func context(_ request: GroupRequestID) -> [UInt8] {
        Array("group_subscriptions.form \(request)".utf8)
    }

    // MARK: Windows

    func add(_ db: Database, _ push: WindowPush, of request: GroupRequestID, tables digests: [[UInt8]]) throws {
        try db.cachedStatement(
            sql: "INSERT INTO group_windows (request, sequence, quarter_from, quarter_to, status) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [request, push.sequence, push.span.start, push.span.end, push.content.status.rawValue])
        let statement = try db.cachedStatement(
            sql: "INSERT INTO group_window_tables (request, sequence, place, digest) VALUES (?, ?, ?, ?)")
        for (place, digest) in digests.enumerated() {
            try statement.execute(arguments: [request, push.sequence, place, Data(digest)])
        }
    }

    func isReleased(_ db: Database, _ request: GroupRequestID, _ sequence: Int) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM group_windows WHERE request = ? AND sequence = ? AND status = 'released')"),
            arguments: [request, sequence]) ?? false
    }

    /// Nil beyond the last one.
    func table(_ db: Database, of request: GroupRequestID, window sequence: Int, at place: Int) throws -> [UInt8]? {
        try Data.fetchOne(
            db.cachedStatement(sql: "SELECT digest FROM group_window_tables WHERE request = ? AND sequence = ? AND place = ?"),
            arguments: [request, sequence, place]
        ).map { Array($0) }
    }

    // MARK: Charges

    /// By day, what its tables tell beyond the one release that the day costs, in millionths of ρ; nothing for a day that it has not
    /// charged.
    func extras(_ db: Database, of request: GroupRequestID, _ days: Range<Int>) throws -> [Int: Int] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT day, extra_micro_rho FROM group_charged_days WHERE request = ? AND day >= ? AND day < ?"),
            arguments: [request, days.lowerBound, days.upperBound])
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0] as Int, $0[1] as Int) })
    }

    /// Whose day it has charged.
    func charged(_ db: Database, of request: GroupRequestID, day: Int, size: Int) throws -> Bitmap {
        var read: [BitmapChunk] = []
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT chunk, sealed FROM group_charged_chunks WHERE request = ? AND day = ? ORDER BY chunk"),
            arguments: [request, day])
        while let row = try rows.next() {
            let chunk = row[0] as Int
            guard chunk >= read.count else { throw DamagedRelease(table: "group_charged_chunks") }
            read += [BitmapChunk](repeating: .absent, count: chunk - read.count)
            read.append(try chunks.open(row[1] as Data, at: Self.place(request, day, chunk)))
        }
        return try Bitmap(size: read.count * BitmapChunk.rows, chunks: read).resized(to: size)
    }

    func keep(_ db: Database, _ charge: WindowCharge, of request: GroupRequestID) throws {
        for (day, extra) in charge.extras {
            try db.cachedStatement(
                sql: """
                    INSERT INTO group_charged_days (request, day, extra_micro_rho) VALUES (?, ?, ?)
                    ON CONFLICT (request, day) DO UPDATE SET extra_micro_rho = excluded.extra_micro_rho
                    """
            ).execute(arguments: [request, day, extra])
        }
        for (day, people) in charge.charged {
            for (chunk, content) in people.chunks.enumerated() where content != .absent {
                let sealed = try chunks.seal(content, at: Self.place(request, day, chunk))
                try db.cachedStatement(
                    sql: """
                        INSERT INTO group_charged_chunks (request, day, chunk, sealed) VALUES (?, ?, ?, ?)
                        ON CONFLICT (request, day, chunk) DO UPDATE SET sealed = excluded.sealed
                        """
                ).execute(arguments: [request, day, chunk, Data(sealed)])
            }
        }
    }

    /// Days of which no window can come any more.
    func forgetCharges(_ db: Database, of request: GroupRequestID, before day: Int) throws {
        for table in ["group_charged_days", "group_charged_chunks"] {
            try db.cachedStatement(sql: "DELETE FROM \(table) WHERE request = ? AND day < ?").execute(arguments: [request, day])
        }
    }

    private static func place(_ request: GroupRequestID, _ day: Int, _ chunk: Int) -> String { "\(request) \(day) \(chunk)" }

    /// Clears an erased person's row in some chunks after one.
    /// - Returns: the last one that was looked at; nil where no more are left.
    func erase(_ db: Database, row: Int, after number: Int64) throws -> Int64? {
        let place = row / BitmapChunk.rows
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT number, request, day, sealed FROM group_charged_chunks WHERE number > ? AND chunk = ?
                    ORDER BY number LIMIT \(Self.step)
                    """), arguments: [number, place])
        for found in rows {
            guard let request: GroupRequestID = found.value(1) else { throw DamagedRelease(table: "group_charged_chunks") }
            let chunk = try chunks.open(found[3] as Data, at: Self.place(request, found[2], place))
            guard chunk.contains(row: row) else { continue }
            let sealed = try chunks.seal(chunk.without(row: row), at: Self.place(request, found[2], place))
            try db.cachedStatement(sql: "UPDATE group_charged_chunks SET sealed = ? WHERE number = ?")
                .execute(arguments: [Data(sealed), found[0] as Int64])
        }
        return rows.count == Self.step ? rows.last.map { $0[0] as Int64 } : nil
    }
}

extension GroupSubscriptionStore {
    /// One for every table of `create`.
    static let notes: [TableNote] = [
        TableNote(
            "group_subscriptions", "group_windows", "group_window_tables",
            holds: "subscriptions to groups: forms sealed, how far each is, what each window came to, and its tables",
            kept: "for ever, since no window is told twice", erasure: .impersonal),
        TableNote(
            "group_charged_days", holds: "what the windows of a day of a subscription tell beyond one release",
            kept: "until no window of the day is left", erasure: .impersonal),
        TableNote(
            "group_charged_chunks", holds: "whose day a subscription to statistics has charged, by row numbers, sealed",
            kept: "until no window of the day is left", erasure: .emptied),
    ]
}

extension WindowPush.Content {
    var status: GroupWindowStatus {
        switch self {
        case .release: .released
        case .withheld: .withheld
        }
    }
}

extension GroupWindowClosed {
    init(_ push: WindowPush, of request: GroupRequestID) {
        self.init(
            request: request, sequence: push.sequence, from: Timestamp(quarter: push.span.start), to: Timestamp(quarter: push.span.end),
            status: push.content.status)
    }
}
