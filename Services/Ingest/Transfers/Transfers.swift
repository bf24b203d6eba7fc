// What exports and imports have in common: their rows, sealed, their files, their progress while they are worked on.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage
import Synchronization

/// What was asked for.
struct TransferRequest: Codable, Hashable, Sendable {
    var format: ExchangeFormat
    /// Codes of metrics; nil for all.
    var types: [String]?
    var from: Int64?
    var to: Int64?
}

/// Entries that are through, and about how many there are.
struct TransferProgress: Hashable, Sendable {
    var done: Int
    var total: Int
}

/// One job, opened; `Result` is what comes of its kind.
struct Transfer<Result: Codable & Sendable>: Sendable {
    let row: TransferRow
    let request: TransferRequest
    let result: Result?
}

struct Transfers: Sendable {
    let store: Store
    let vault: ChunkVault
    let files: SealedFiles
    let table = TransferStore()
    private let meter = TransferMeter()
    private let exporting = WakeUpSignal()
    private let importing = WakeUpSignal()

    init(store: Store, vault: ChunkVault, files: SealedFiles) {
        (self.store, self.vault, self.files) = (store, vault, files)
    }

    // MARK: Sealing

    private static func place(_ job: JobID, _ part: String) -> String { "transfers \(part) \(job)" }

    func seal(_ value: some Encodable, _ part: String, of job: JobID, _ person: PersonID) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try vault.seal(
            text: Array(try encoder.encode(value)), at: Self.place(job, part), of: person, key: vault.key(of: person))
    }

    private func open<Value: Decodable>(_ sealed: [UInt8], _ part: String, of job: JobID, _ person: PersonID) throws -> Value {
        let text = try vault.open(text: sealed, at: Self.place(job, part), of: person, key: vault.key(of: person))
        return try JSONDecoder().decode(Value.self, from: Data(text))
    }

    func open<Result>(_ row: TransferRow, of person: PersonID) throws -> Transfer<Result> {
        Transfer(
            row: row, request: try open(row.request, "request", of: row.job, person),
            result: try row.result.map { try open($0, "result", of: row.job, person) })
    }

    // MARK: Looking

    func find<Result>(_ job: JobID, of reader: Reader, _ kind: TransferKind) async throws -> Transfer<Result>? {
        let row = try await store.readBriefly { [table] db in try table.find(db, job, of: reader.number, kind) }
        return try row.map { try open($0, of: reader.person) }
    }

    /// The newest first.
    func list<Result>(of reader: Reader, _ kind: TransferKind, limit: Int) async throws -> [Transfer<Result>] {
        let rows = try await store.read { [table] db in try table.list(db, of: reader.number, kind, limit: limit) }
        return try rows.map { try open($0, of: reader.person) }
    }

    // MARK: Working

    func began(_ job: JobID, total: Int) {
        meter.set(job, TransferProgress(done: 0, total: total))
    }

    func advanced(_ job: JobID, to done: Int) {
        meter.advance(job, to: done)
    }

    func ended(_ job: JobID) {
        meter.set(job, nil)
    }

    /// Nil where nobody is working on it.
    func progress(of job: JobID) -> TransferProgress? {
        meter.progress(of: job)
    }

    /// There is something to do.
    func wake(_ kind: TransferKind) {
        signal(of: kind).notify()
    }

    func signal(of kind: TransferKind) -> WakeUpSignal {
        switch kind {
        case .export: exporting
        case .imported: importing
        }
    }
}

/// How far the jobs are that are being worked on; in memory, since a restart starts them over.
final class TransferMeter: Sendable {
    private let state = Mutex<[JobID: TransferProgress]>([:])

    func set(_ job: JobID, _ progress: TransferProgress?) {
        state.withLock { $0[job] = progress }
    }

    func advance(_ job: JobID, to done: Int) {
        state.withLock { state in
            guard let known = state[job] else { return }
            state[job] = TransferProgress(done: done, total: max(done, known.total))
        }
    }

    func progress(of job: JobID) -> TransferProgress? {
        state.withLock { $0[job] }
    }
}
