// Who shares anonymously, as consent says it: rows that are made, changed and cleared.

import Contracts
import GRDB
import Logging
import ServiceKit
import Storage

struct ProfileRepository: Sendable {
    let stores: Population.Stores
    let logger: Logger

    // MARK: What consent says

    /// One fact of `consent.cohort`, in the transaction of its position.
    func apply(_ db: Database, _ event: StreamEvent) throws {
        if let state = try event.fact(CohortProfileState.self, type: CohortProfileState.type) { try apply(db, state) }
    }

    func apply(_ db: Database, _ state: CohortProfileState) throws {
        let profile = state.profile.flatMap { SharedProfile($0) }
        if state.profile != nil, profile == nil { logger.error("a profile holds what no profile can: it is in no group") }
        guard profile != nil else {
            if let known = try stores.people.find(db, state.person) { try change(db, known, to: nil) }
            return
        }
        guard let (row, _) = try stores.people.findOrAdd(db, state.person) else { return }
        try change(db, row, to: profile)
    }

    /// What a snapshot no longer holds shares nothing.
    var snapshot: SnapshotRules {
        SnapshotRules { db, event in
            try apply(db, event)
            return try event.fact(CohortProfileState.self, type: CohortProfileState.type).map { stores.people.snapshotKey($0.person) }
        } known: { db, _, after, limit in
            try stores.people.snapshotKeys(db, after: after, limit: limit)
        } forget: { db, key in
            if let row = try stores.people.find(db, snapshotKey: key) { try change(db, row, to: nil) }
            return nil
        }
    }

    private func change(_ db: Database, _ row: CohortRow, to profile: SharedProfile?) throws {
        let (record, begun) = row.record.following(profile)
        guard record != row.record else { return }
        let changed = CohortRow(row: row.row, record: record, erasedUntil: row.erasedUntil, changedAt: .now, isErased: false)
        try stores.people.update(db, changed)
        let isTaken = record.formerly != row.record.formerly || !begun.isEmpty
        let rights = try isTaken ? stores.hours.raiseRights(db) : stores.hours.state(db).rights
        if profile == nil { _ = try stores.hours.delete(db, row: row.row) }
        for type in begun { try clearBeginning(db, type, of: changed) }
        try renewSquares(db, row, changed)
        db.afterCommit { [changes = stores.changes] in changes.add(.row(changed, rights: rights)) }
    }

    /// Buckets that began before a type was shared anew and end after it: what stands in them is from before, or mixed.
    private func clearBeginning(_ db: Database, _ type: GroupDataType, of row: CohortRow) throws {
        let hour = Int(row.record.counting(type, erasedUntil: row.erasedUntil))
        let (chunk, place) = row.row.quotientAndRemainder(dividingBy: BitmapChunk.rows)
        for (length, granularity) in [(6, Granularity.sixHours), (24, Granularity.day)] {
            let start = hour.flooredQuotient(length) * length
            guard start < hour, type != .position else { continue }
            try overwrite(db, place, at: ChunkPlace(chunk: chunk, kind: .values(type, granularity), start: start))
        }
        let day = hour.flooredQuotient(24)
        guard day * 24 < hour else { return }
        try overwrite(db, place, at: ChunkPlace(chunk: chunk, kind: .data(type), start: day * 24))
    }

    /// Squares of a day that is closed, where the hour from which on they count is another one within it.
    private func renewSquares(_ db: Database, _ before: CohortRow, _ after: CohortRow) throws {
        let hour = after.record.counting(.position, erasedUntil: after.erasedUntil)
        guard hour != before.record.counting(.position, erasedUntil: before.erasedUntil) else { return }
        try stores.squares.renew(db, after.row, from: Int(hour))
    }

    // MARK: What an erasure does

    /// Nothing of the person's is shown or taken from here on: of what was collected, or of anything at all.
    /// - Returns: the row, in which what was measured still stands; nil where there is none, or nothing is left of it.
    func shut(_ db: Database, _ order: PersonErased) throws -> CohortRow? {
        let hour = Int(order.orderedAt.milliseconds.flooredQuotientAndRemainder(dividingBy: CohortHourSummed.milliseconds).quotient) + 1
        let until = order.scope == .account ? CohortRow.erasedWhole : hour
        // Also for whoever has no row: a fact that is under way makes one.
        try stores.people.noteErased(db, order.person, at: order.orderedAt, until: until)
        guard let row = try stores.people.find(db, order.person) else { return nil }
        let record = order.scope == .account ? CohortRecord(formerly: Set(GroupDataType.measured)) : row.record
        let changed = CohortRow(
            row: row.row, record: record, erasedUntil: max(row.erasedUntil, until), changedAt: .now, isErased: order.scope == .account)
        guard record != row.record || changed.erasedUntil != row.erasedUntil else { return row }
        try stores.people.update(db, changed)
        try renewSquares(db, row, changed)
        let rights = try stores.hours.raiseRights(db)
        db.afterCommit { [changes = stores.changes] in changes.add(.row(changed, rights: rights)) }
        return changed
    }

    /// What a chunk holds of one row, in the caller's transaction; nothing where it holds nothing.
    /// - Parameter row: relative to the chunk.
    func overwrite(_ db: Database, _ row: Int, at place: ChunkPlace) throws {
        guard try stores.chunks.remove(db, row, at: place), case .data(let type) = place.kind else { return }
        let words = try stores.chunks.read(db, place).map { try BitmapChunk(bytes: $0).words } ?? BitmapChunk.absent.words
        db.afterCommit { [changes = stores.changes] in
            changes.add(.data(type, day: place.start.flooredQuotient(24), chunk: place.chunk, words: words))
        }
    }

    /// After everything that was measured is overwritten.
    /// - Returns: rows deleted or emptied; to be called again until it is none.
    func erase(_ db: Database, _ order: PersonErased) throws -> Int {
        guard let row = try stores.people.find(db, order.person) else { return 0 }
        let deleted = try stores.hours.delete(db, row: row.row, before: row.erasedUntil)
        guard order.scope == .account else { return deleted }
        try stores.people.forget(db, row.row)
        return deleted + 1
    }

    // MARK: What a restore does

    /// Nothing of somebody's counts from here on who is in a restored copy and shares nothing.
    /// - Returns: the row, of which everything is to be overwritten; nil for whoever shares again.
    func end(_ db: Database, row number: Int) throws -> CohortRow? {
        guard let row = try sharingNothing(db, number) else { return nil }
        let record = CohortRecord(formerly: Set(GroupDataType.measured))
        try put(db, CohortRow(row: number, record: record, erasedUntil: row.erasedUntil, changedAt: .now, isErased: false))
        return CohortRow(row: number, record: record, erasedUntil: CohortRow.erasedWhole, changedAt: .now, isErased: false)
    }

    /// After that: nothing leads from the person to the row any more. Whoever shares again keeps it, without what was overwritten.
    func forget(_ db: Database, row number: Int) throws {
        guard let row = try sharingNothing(db, number) else { return }
        _ = try stores.hours.delete(db, row: number)
        try put(db, CohortRow(row: number, record: row.record, erasedUntil: CohortRow.erasedWhole, changedAt: .now, isErased: true))
        try stores.people.forget(db, number)
    }

    private func sharingNothing(_ db: Database, _ number: Int) throws -> CohortRow? {
        try stores.people.page(db, after: number - 1, limit: 1).first { $0.row == number && $0.record.profile == nil && !$0.isErased }
    }

    private func put(_ db: Database, _ row: CohortRow) throws {
        try stores.people.update(db, row)
        let rights = try stores.hours.raiseRights(db)
        db.afterCommit { [changes = stores.changes] in changes.add(.row(row, rights: rights)) }
    }
}
