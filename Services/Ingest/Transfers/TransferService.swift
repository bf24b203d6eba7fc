// Works off exports and imports, one of each kind at a time, from the start of the service to its end.

import Contracts
import Logging
import Sealing
import ServiceKit
import Storage

struct TransferService: Sendable {
    /// Polls in case a wake-up was lost; what is kept for hours expires soon enough.
    private static let pollInterval = Duration.seconds(60)
    /// After a fault of the store or the disk.
    private static let backoff = Backoff(.seconds(2), upTo: .seconds(2))

    let transfers: Transfers
    let exports: Exports
    let imports: Imports
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async throws {
        let known = try await transfers.store.read { [transfers] db in try transfers.table.withFiles(db) }
        transfers.files.sweep(keeping: Set(known))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work(.export) }
            group.addTask { try await work(.imported) }
            group.addTask { try await expire() }
            try await group.waitForAll()
        }
    }

    private func work(_ kind: TransferKind) async throws {
        let loop = WorkLoop(every: Self.pollInterval, signal: transfers.signal(of: kind), backoff: Self.backoff) { [logger] error in
            // The disk or the store has no room; the job stays where it is.
            logger.warning("a transfer failed; retrying", metadata: ["kind": "\(kind)", "reason": "\(type(of: error))"])
        }
        try await loop.run { try await workOff(kind) ? .atOnce : .whenWoken }
    }

    /// One job; false where there was none.
    func workOff(_ kind: TransferKind) async throws -> Bool {
        let found = try await transfers.store.read { [transfers] db in
            // Whose key is damaged has to wait until it is restored, and holds up nobody else.
            try transfers.table.next(db, kind) { number in
                try DeviceStore().person(db, number).map { try transfers.vault.isReachable($0) } ?? true
            }.map { row in (row, try DeviceStore().person(db, row.person)) }
        }
        guard let (row, owner) = found else { return false }
        guard let owner else { throw KeyDestroyed() }
        let reader = Reader(person: owner, number: row.person)
        do {
            switch kind {
            case .export: try await write(row, of: reader)
            case .imported: try await take(row, of: reader)
            }
        } catch is KeyDestroyed {
            // Erased: nobody can read it any more.
            try await drop(row)
        } catch is TransferRemoved {
            transfers.files.remove(row.job)
        }
        return true
    }

    private func write(_ row: TransferRow, of reader: Reader) async throws {
        var state = TransferState.done
        var result: ExportResult
        do {
            result = try await exports.write(transfers.open(row, of: reader.person), of: reader)
        } catch SealedFiles.Fault.noRoom {
            (state, result) = (.failed, ExportResult(fault: "There is no room to write the export; whoever runs the suite must make some."))
        } catch let error where error is CorruptBytes || error is SealingError || error is SealedFiles.Fault {
            logger.error("an export failed", metadata: ["job": "\(row.job)", "error": "\(type(of: error))"])
            (state, result) = (.failed, ExportResult(fault: "What is stored could not be read or written; the operator has been told."))
        }
        if state == .failed { transfers.files.remove(row.job) }
        try await end(row, state, try transfers.seal(result, "result", of: row.job, reader.person))
        try await forgetUnlessKept(row, of: reader)
    }

    /// Removed between the last entry and the end: then its files must not stay.
    private func forgetUnlessKept(_ row: TransferRow, of reader: Reader) async throws {
        let after = try await transfers.store.read { [transfers] db in try transfers.table.find(db, row.job, of: row.person, row.kind) }
        if after?.state != .done { transfers.files.remove(row.job) }
    }

    private func take(_ row: TransferRow, of reader: Reader) async throws {
        var result: ImportResult
        do {
            result = try await imports.work(transfers.open(row, of: reader.person), of: reader)
        } catch let error where error is SealedFiles.Fault || error is SealingError {
            logger.error("an import failed", metadata: ["job": "\(row.job)", "error": "\(type(of: error))"])
            result = ImportResult(fault: "The file could not be read back; send it again.")
        }
        try await end(
            row, result.fault == nil ? .done : .failed, try transfers.seal(result, "result", of: row.job, reader.person))
        transfers.files.remove(row.job)
    }

    private func end(_ row: TransferRow, _ state: TransferState, _ result: [UInt8]) async throws {
        try await transfers.store.write { [transfers] db in
            try transfers.table.end(db, row.job, state, result: result, at: .now)
        }
    }

    private func drop(_ row: TransferRow) async throws {
        transfers.files.remove(row.job)
        try await transfers.store.write { [transfers] db in try transfers.table.remove(db, row.job, at: .now) }
    }

    // MARK: Expiring

    private func expire() async throws {
        let loop = WorkLoop(every: Self.pollInterval) { [logger] error in
            logger.warning("expired transfers could not be removed; retrying", metadata: ["reason": "\(type(of: error))"])
        }
        try await loop.poll { try await expire(now: .now) }
    }

    func expire(now: Timestamp) async throws {
        let jobs = try await transfers.store.write { [transfers, exports] db in
            // How many were begun in a day must still be known when the files are gone.
            try transfers.table.forget(db, begunBefore: now - exports.kept - Exports.day)
            return try transfers.table.expire(db, before: now - exports.kept, now: now)
        }
        for job in jobs { transfers.files.remove(job) }
    }
}
