// A person's data on their way out (MYD-13, ACC-32): asked for, written in the background, downloaded, expired.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage

/// What an export came to.
struct ExportResult: Codable, Hashable, Sendable {
    var files: [ExportedFile] = []
    /// What is not in the files because it could not be read.
    var damaged: [DamagedItem]?
    /// Why there is none, for people.
    var fault: String?
}

typealias Export = Transfer<ExportResult>

struct Exports: Sendable {
    /// Jobs that a list shows.
    static let listed = 100
    /// Entries that one read of the store gives.
    private static let block = 5000

    let transfers: Transfers
    let registry: DeviceRegistry
    let activities: Activities
    /// Exports that a person may begin in 24 hours.
    let perDay: Int
    /// How long the files are kept.
    let kept: Duration
    /// Where a file is cut, in bytes.
    let cutAt: Int

    static let day: Duration = .seconds(24 * 3600)

    enum Beginning: Sendable {
        case begun(Export)
        /// The same export is being written already.
        case known(Export)
        /// So many were begun today; another one may be after that long.
        case exhausted(until: Duration)
    }

    // MARK: Asking

    func begin(_ request: TransferRequest, of reader: Reader, now: Timestamp) async throws -> Beginning {
        let open: [Export] = try await transfers.list(of: reader, .export, limit: Self.listed).filter { $0.row.state == .open }
        if let same = open.first(where: { $0.request == request }) { return .known(same) }
        let job = JobID.random()
        let sealed = try transfers.seal(request, "request", of: job, reader.person)
        let (table, perDay) = (transfers.table, perDay)
        let begun = try await transfers.store.write { db in
            let begun = try table.begun(db, of: reader.number, .export, since: now - Self.day, at: now)
            if begun.count < perDay { try table.add(db, job, of: reader.number, .export, request: sealed, at: now) }
            return begun
        }
        if begun.count >= perDay {
            return .exhausted(until: begun[begun.count - perDay] + Self.day - now)
        }
        transfers.wake(.export)
        guard let export: Export = try await transfers.find(job, of: reader, .export) else { throw KeyDestroyed() }
        return .begun(export)
    }

    /// When the files will be gone; nil where there are none.
    func expiry(of export: Export) -> Timestamp? {
        guard export.row.state == .done, let endedAt = export.row.endedAt else { return nil }
        return endedAt + kept
    }

    /// Removes the files, or the job that is still being written.
    func remove(_ job: JobID, of reader: Reader) async throws -> Bool {
        let table = transfers.table
        let isThere = try await transfers.store.write { db in
            guard let row = try table.find(db, job, of: reader.number, .export), row.state != .removed else { return false }
            try table.remove(db, job, at: .now)
            return true
        }
        if isThere { transfers.files.remove(job) }
        return isThere
    }

    /// The file's blocks, opened one after the other.
    func file(_ number: Int, of export: Export, _ reader: Reader) throws -> SealedFileReader {
        try transfers.files.read(export.row.job, file: number, key: transfers.vault.key(of: reader.person))
    }

    // MARK: Writing

    /// Writes the export from its beginning; what an earlier try left is written over.
    func write(_ export: Export, of reader: Reader) async throws -> ExportResult {
        let job = export.row.job
        let key = try transfers.vault.key(of: reader.person)
        let readStore = ReadStore(vault: transfers.vault, person: reader.person, number: reader.number, key: key, damaged: reader.damaged)
        let request = export.request
        let chosen = request.types.map { Set($0) }
        let metrics = try await transfers.store.read { db in try readStore.metrics(db) }
            .filter { request.format.holds($0) && chosen?.contains($0.code) ?? true }
        let from = request.from ?? 0
        // What comes after the person asked is another export's.
        let asked = export.row.createdAt + UploadLimits.furthestFuture
        let range = from..<max(from, request.to ?? asked.milliseconds)
        let total = try await transfers.store.read { db in try metrics.reduce(0) { try $0 + readStore.count(db, $1, in: range) } }
        transfers.began(job, total: total)
        defer { transfers.ended(job) }
        let files = transfers.files
        // The same in every export of this person, and of nobody else; gone with the key.
        let subject = FHIRSubject(pseudonym: LookupKey(key, purpose: "export-subject").lookup(""))
        let writer = ExportFileWriter(request.format, of: subject, cutAt: cutAt) { try files.write(job, file: $0, key: key) }
        var done = 0
        for group in Self.groups(metrics) {
            var sources = group.map { EntryPages(metric: $0, range: range, readStore: readStore, store: transfers.store) }
            while let entry = try await Self.next(&sources) {
                try writer.add(ExportedEntry(sample: entry.sample, source: registry.source(number: entry.device)))
                done += 1
                guard done.isMultiple(of: Self.block) else { continue }
                transfers.advanced(job, to: done)
                try Task.checkCancellation()
                try await requireOpen(job, of: reader)
            }
        }
        try writer.finish()
        if chosen == nil, request.format != .gpx { try await writeActivities(range, of: reader, to: writer) }
        try files.settle(job)
        return ExportResult(files: writer.files, damaged: DamagedItem.all(of: reader.damaged))
    }

    /// The person may have thought better of it.
    private func requireOpen(_ job: JobID, of reader: Reader) async throws {
        let table = transfers.table
        let row = try await transfers.store.read { db in try table.find(db, job, of: reader.number, .export) }
        guard row?.state == .open else { throw TransferRemoved() }
    }

    /// Maximum and minimum of blood pressure come together, so that they can be written together.
    static func groups(_ metrics: [Metric]) -> [[Metric]] {
        let pair = metrics.filter { $0 == .bloodPressureMax || $0 == .bloodPressureMin }
        return (pair.isEmpty ? [] : [pair]) + metrics.filter { !pair.contains($0) }.map { [$0] }
    }

    /// The earliest of several series' next entries.
    private static func next(_ sources: inout [EntryPages]) async throws -> StoredSample? {
        for place in sources.indices { try await sources[place].fill() }
        let first = sources.indices.filter { sources[$0].first != nil }.min { one, other in
            guard let a = sources[one].first?.sample, let b = sources[other].first?.sample else { return false }
            return (a.at, a.type.number) < (b.at, b.type.number)
        }
        return first.flatMap { sources[$0].take() }
    }

    private func writeActivities(_ range: Range<Int64>, of reader: Reader, to writer: ExportFileWriter) async throws {
        var found: [NewActivity] = []
        var cursor: String?
        repeat {
            let (items, next) = try await activities.list(of: reader, after: cursor, limit: 1000)
            found += items.filter { range.contains($0.start.milliseconds) }.map {
                NewActivity(kind: $0.kind, name: $0.name, start: $0.start.rfc3339, end: $0.end.rfc3339)
            }
            cursor = next
        } while cursor != nil
        guard !found.isEmpty else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = Array(try encoder.encode(ActivityFile(activities: found.reversed())))
        try writer.add(file: bytes, named: ActivityFile.name, mediaType: "application/json", entries: found.count)
    }
}

/// Activities as they are exported and imported.
struct ActivityFile: Codable, Sendable {
    static let name = "activities.json"

    var activities: [NewActivity]
}

/// The job was removed while it was worked on.
struct TransferRemoved: Error {}

/// One series of a person, a page at a time, in order of time.
private struct EntryPages {
    private static let page = 5000

    let metric: Metric
    var range: Range<Int64>
    let readStore: ReadStore
    let store: Store
    /// The page in reverse, so that taking the first is cheap.
    private var waiting: [StoredSample] = []
    private var isOver = false

    init(metric: Metric, range: Range<Int64>, readStore: ReadStore, store: Store) {
        (self.metric, self.range, self.readStore, self.store) = (metric, range, readStore, store)
    }

    var first: StoredSample? { waiting.last }

    mutating func take() -> StoredSample? { waiting.popLast() }

    mutating func fill() async throws {
        guard waiting.isEmpty, !isOver else { return }
        let found = try await store.read { [readStore, metric, range] db in
            try readStore.page(db, metric, in: range, limit: Self.page)
        }
        isOver = found.count < Self.page
        if let last = found.last { range = min(last.sample.at.milliseconds + 1, range.upperBound)..<range.upperBound }
        waiting = found.reversed()
    }
}
