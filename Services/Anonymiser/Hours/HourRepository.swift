// Sums of hours, as ingest says them: kept until their hour closes, dropped where it is closed.

import Contracts
import GRDB
import ServiceKit
import Storage

struct HourRepository: Sendable {
    let stores: Population.Stores
    /// Hours can be closed.
    let wake: @Sendable () -> Void

    /// One fact of `ingest.cohort`, in the transaction of its position.
    func apply(_ db: Database, _ event: StreamEvent) throws {
        if let closed = try event.fact(CohortHoursClosed.self, type: CohortHoursClosed.type) {
            try apply(db, closed)
        } else if let summed = try event.fact(CohortHourSummed.self, type: CohortHourSummed.type) {
            try apply(db, summed)
        }
    }

    func apply(_ db: Database, _ closed: CohortHoursClosed) throws {
        try stores.hours.say(db, through: Self.hour(of: closed.through))
        db.afterCommit { [wake] in wake() }
    }

    func apply(_ db: Database, _ summed: CohortHourSummed) throws {
        let hour = Self.hour(of: summed.hour)
        if let said = try stores.hours.state(db).saidThrough, hour < said { return }
        guard let (row, isNew) = try stores.people.findOrAdd(db, summed.person) else { return }
        if isNew { db.afterCommit { [changes = stores.changes] in changes.add(.row(row, rights: 0)) } }
        guard hour >= row.erasedUntil else { return }
        let measured = PersonHour(summed)
        guard !measured.sums.isEmpty || !measured.cells.isEmpty else { return }
        try stores.hours.put(db, hour, row: row.row, measured)
    }

    /// Since 1970.
    private static func hour(of time: Timestamp) -> Int {
        Int(time.milliseconds.flooredQuotientAndRemainder(dividingBy: CohortHourSummed.milliseconds).quotient)
    }
}
