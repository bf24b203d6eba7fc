// A person's data on their way in: a file taken sealed, then its entries through the ordinary rules, a piece at a time.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage

/// What has come of an import so far; stored with every piece, so that a restart goes on where it was.
struct ImportResult: Codable, Hashable, Sendable {
    /// Entries of the file that are through.
    var done = 0
    var accepted = 0
    /// Stored before, word for word.
    var duplicates = 0
    var rejectedCount = 0
    /// The first refusals.
    var rejected: [EntryFile.Refused] = []
    /// Why nothing could be taken of the file, for people.
    var fault: String?

    fileprivate mutating func refuse(_ refused: EntryFile.Refused) {
        rejectedCount += 1
        if rejected.count < ImportLimits.named { rejected.append(refused) }
    }
}

typealias Import = Transfer<ImportResult>

struct Imports: Sendable {
    static let listed = 100
    /// Files of one person that may wait.
    static let waiting = 20

    let transfers: Transfers
    let uploads: Uploads
    let people: People
    let registry: DeviceRegistry
    let activities: Activities

    /// Takes a file that was sealed under this job.
    func begin(_ job: JobID, _ format: ExchangeFormat, of reader: Reader, now: Timestamp) async throws -> Import? {
        try transfers.files.settle(job)
        let sealed = try transfers.seal(TransferRequest(format: format), "request", of: job, reader.person)
        let table = transfers.table
        let isTaken = try await transfers.store.write { db in
            guard try table.countOpen(db, of: reader.number, .imported) < Self.waiting else { return false }
            try table.add(db, job, of: reader.number, .imported, request: sealed, at: now)
            return true
        }
        guard isTaken else { return nil }
        transfers.wake(.imported)
        return try await transfers.find(job, of: reader, .imported)
    }

    // MARK: Working

    /// Goes on with an import where it was.
    func work(_ job: Import, of reader: Reader) async throws -> ImportResult {
        var result = job.result ?? ImportResult()
        if let bar = registry.bar(of: reader.person) {
            result.fault = bar.detail
            return result
        }
        let bytes = try read(job, of: reader)
        let id = job.row.job
        defer { transfers.ended(id) }
        if job.request.format == .json, let file = Self.activities(bytes) {
            transfers.began(id, total: file.activities.count)
            return try await take(file, of: reader, now: job.row.createdAt)
        }
        // Judged by the clock of the day on which it came, so that a restart judges alike.
        let fileReader = EntryFileReader(rules: EntryRules(now: job.row.createdAt, clockSkew: uploads.settings.clockSkew))
        let file: EntryFile
        do {
            file = try fileReader.read(bytes, job.request.format)
        } catch {
            result.fault = error.detail
            return result
        }
        transfers.began(id, total: file.samples.count)
        if result.done == 0, result.rejectedCount == 0 { for refused in file.refused { result.refuse(refused) } }
        while result.done < file.samples.count {
            try Task.checkCancellation()
            result = try await take(reader, id, after: result, of: file)
            transfers.advanced(id, to: result.done)
        }
        return result
    }

    private func read(_ job: Import, of reader: Reader) throws -> [UInt8] {
        let file = try transfers.files.read(job.row.job, file: 0, key: transfers.vault.key(of: reader.person))
        var bytes: [UInt8] = []
        while let block = try file.next() { bytes.append(contentsOf: block) }
        return bytes
    }

    /// Stores one piece together with what has come of the import by then.
    private func take(_ reader: Reader, _ job: JobID, after before: ImportResult, of file: EntryFile) async throws -> ImportResult {
        let piece = before.done..<min(file.samples.count, before.done + ImportLimits.piece)
        var scanned = ScannedUpload()
        scanned.samples = Array(file.samples[piece])
        scanned.indexes = Array(file.indexes[piece])
        scanned.count = piece.count
        let source = try await people.ownSource(of: reader.person, .imported)
        scanned.admit(by: source.admission)
        let barred = scanned.refused
        let origin = UploadOrigin(device: source, receivedAt: .now, trace: "import", idempotencyKey: nil)
        let outcome: @Sendable (Repetitions, Int) -> ImportResult = { repetitions, accepted in
            var result = before
            result.done = piece.upperBound
            result.accepted += accepted
            result.duplicates += repetitions.duplicates.count
            for refused in barred {
                result.refuse(.init(index: refused.index, name: refused.fault.name, detail: refused.fault.detail))
            }
            for index in repetitions.conflicts {
                result.refuse(.init(index: Int(index), name: EntryFault.conflict.name, detail: EntryFault.conflict.detail))
            }
            return result
        }
        scanned.refused = []
        let kept = Kept<ImportResult>()
        let (transfers, person) = (transfers, reader.person)
        let effect = UploadEffect(run: { db, repetitions, accepted in
            let result = outcome(repetitions, accepted)
            try transfers.table.note(db, job, result: transfers.seal(result, "result", of: job, person))
            kept.put(result)
        })
        _ = try await uploads.take(ReceivedUpload(scanned: scanned), origin, alongside: effect)
        guard let result = kept.value else { throw StoreError.undone(code: 0) }
        return result
    }

    // MARK: Activities

    /// The activities of an export; nil for any other JSON.
    private static func activities(_ bytes: [UInt8]) -> ActivityFile? {
        guard bytes.count <= 8 << 20, String(decoding: bytes.prefix(64), as: UTF8.self).contains("\"activities\"") else { return nil }
        return try? CheckedJSON.decode(ActivityFile.self, from: bytes)
    }

    private func take(_ file: ActivityFile, of reader: Reader, now: Timestamp) async throws -> ImportResult {
        var result = ImportResult()
        for (index, activity) in file.activities.enumerated() {
            try Task.checkCancellation()
            do {
                let draft = try activity.draft(now: now, clockSkew: uploads.settings.clockSkew)
                switch try await activities.create(draft, of: reader, device: nil) {
                case .created: result.accepted += 1
                case .known: result.duplicates += 1
                case .contradicted:
                    result.refuse(
                        .init(
                            index: index, name: Problem.conflictingActivity.name,
                            detail: "There is another activity with the same start and end."))
                case .tooMany:
                    result.refuse(
                        .init(index: index, name: Problem.tooManyActivities.name, detail: "There are too many activities."))
                }
            } catch let problem as Problem {
                let detail = (problem.errors ?? []).map { "\($0.pointer) \($0.detail)" }.joined(separator: "; ")
                result.refuse(.init(index: index, name: "invalid-body", detail: detail))
            }
            result.done = index + 1
        }
        return result
    }
}
