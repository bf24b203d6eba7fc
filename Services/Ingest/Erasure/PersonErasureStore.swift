// SQL sentences that take a person out of ingest's tables, a short transaction at a time.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

struct PersonErasureStore: Sendable {
    /// Rows that one transaction deletes of one table at most: uploads of others must not wait for long.
    static let slice = 200

    let chunks: ChunkStore
    let days: DayStore
    let outbox: MessageOutbox
    let files: SealedFiles

    init(vault: ChunkVault, outbox: MessageOutbox, files: SealedFiles) {
        (chunks, days, self.outbox, self.files) = (vault.chunks, vault.days, outbox, files)
    }

    /// What was collected, and with the account everything else too.
    /// - Returns: how many rows; to be called again until it is none.
    func erase(_ db: Database, _ person: PersonID, scope: ErasureScope) throws -> Int {
        var count = scope == .account ? try eraseWithoutNumber(db, person) : 0
        guard let number = try DeviceStore().personNumber(db, person) else { return count }
        let erased = try chunks.erase(db, of: number, limit: Self.slice)
        // Everything else is less, and comes when the chunks are gone.
        guard erased < Self.slice else { return count + erased }
        count += erased
        for job in try TransferStore().deleteAll(db, of: number) {
            files.remove(job)
            count += 1
        }
        let noted = try days.erase(db, of: number, limit: Self.slice)
        guard noted < Self.slice else { return count + noted }
        count += noted
        for table in ["quarantine", "activities"] {
            let some = try run(
                db, "DELETE FROM \(table) WHERE rowid IN (SELECT rowid FROM \(table) WHERE person = ? LIMIT \(Self.slice))", number)
            count += some
            guard some < Self.slice else { return count }
        }
        // A device that sends each second leaves 86,400 in a day.
        var keys = DeletionSlice()
        try keys.delete(
            db, from: "idempotency_keys", key: "scope, key", where: "scope IN (SELECT device FROM devices WHERE person = ?)", [number])
        count += keys.deleted
        guard keys.deleted < DeletionSlice.rows else { return count }
        return scope == .account ? count + (try eraseAccount(db, number)) : count
    }

    private func eraseWithoutNumber(_ db: Database, _ person: PersonID) throws -> Int {
        let grants = try GrantProjection().erase(db, person, scope: .account)
        let messages = try outbox.forget(db, person)
        let shares = try CohortPeopleStore.delete(db, person)
        try db.execute(sql: "DELETE FROM alerted_people WHERE person = ?", arguments: [person])
        try db.execute(sql: "DELETE FROM known_accounts WHERE person = ?", arguments: [person])
        return grants + messages + shares + db.changesCount
    }

    private func eraseAccount(_ db: Database, _ number: Int64) throws -> Int {
        var count = try run(
            db, "DELETE FROM pairings WHERE device IN (SELECT device FROM devices WHERE person = ?)", number)
        for table in ["pauses", "devices"] { count += try run(db, "DELETE FROM \(table) WHERE person = ?", number) }
        return count + (try run(db, "DELETE FROM people WHERE number = ?", number))
    }

    private func run(_ db: Database, _ sql: String, _ number: Int64) throws -> Int {
        try db.cachedStatement(sql: sql).execute(arguments: [number])
        return db.changesCount
    }

    /// What people called their devices was sealed under the old key: under the new one each is called what it is.
    func rename(_ db: Database, _ person: PersonID, seal: (_ text: String, _ place: String) throws -> [UInt8]) throws {
        guard let number = try DeviceStore().personNumber(db, person) else { return }
        for row in try Row.fetchAll(db, sql: "SELECT device, kind FROM devices WHERE person = ?", arguments: [number]) {
            guard let device: DeviceID = row.value(0) else { continue }
            try db.execute(
                sql: "UPDATE devices SET name = ?, model = NULL WHERE device = ?",
                arguments: [Data(try seal(row[1], "devices.name \(device)")), row[0] as Data])
        }
    }
}
