// Closes hours once ingest has said all of them: columns of values take the place of what single people measured.

import Contracts
import Logging
import ServiceKit
import Storage

/// One hour after the other, 65,536 people at a time, each in a transaction of its own. Whatever it is killed at, the next start does the
/// hour again, with the same result.
struct HourClosing: Sendable {
    private static let look = Duration.seconds(30)
    private static let backoff = Backoff(.milliseconds(250), upTo: look)

    let store: Store
    let stores: Population.Stores
    let population: Population
    let signal: WakeUpSignal
    let metrics: AnonymiserMetrics
    let logger: Logger
    /// Told once an hour is closed.
    var whenClosed: @Sendable () -> Void = {}

    /// Runs until it is cancelled.
    func run() async throws {
        try await WorkLoop(every: Self.look, signal: signal, backoff: Self.backoff) { [logger] error in
            logger.error("an hour could not be closed and is tried again", metadata: ["error": "\(error.logReason)"])
        }.run { try await round() }
    }

    /// Closes at most one hour.
    func round() async throws -> NextRound {
        let (state, firstOpen) = try await store.read { [hours = stores.hours] db in (try hours.state(db), try hours.firstOpen(db)) }
        metrics.isClosed(through: state.closedThrough, at: .now)
        guard let said = state.saidThrough else { return .whenWoken }
        guard let hour = state.closedThrough else {
            try await begin(at: min(firstOpen ?? said, said))
            return .atOnce
        }
        try await deleteClosed(before: hour)
        guard hour < said else { return .whenWoken }
        let count = try await store.read { [people = stores.people] db in try people.count(db) }
        for chunk in 0..<Bitmap.chunkCount(count) { try await close(hour, chunk) }
        try await begin(at: hour + 1)
        metrics.closed()
        whenClosed()
        return .atOnce
    }

    /// What comes before is closed.
    private func begin(at hour: Int) async throws {
        try await store.write { [hours = stores.hours, changes = stores.changes] db in
            try hours.close(db, through: hour)
            db.afterCommit { changes.add(.closed(through: hour)) }
        }
    }

    private func close(_ hour: Int, _ chunk: Int) async throws {
        while true {
            try Task.checkCancellation()
            let (counting, rights) = await population.rightsNow()
            let made = try await store.read { [stores] db in
                HourChunks(
                    hour: hour, chunk: chunk,
                    measured: try stores.hours.measured(db, hour, rows: chunk * BitmapChunk.rows..<(chunk + 1) * BitmapChunk.rows),
                    earlier: try Self.earlier(of: hour) { try stores.chunks.read(db, chunk: chunk, .sums($0), starts: $1) },
                    cells: try Self.cells(of: hour) { try stores.chunks.read(db, chunk: chunk, .cells, starts: $0) },
                    counting: counting, squares: stores.squares)
            }
            let isWritten = try await store.write { [stores] db in
                // What was taken away since it was read is not written: it is read again.
                guard try stores.hours.state(db).rights == rights else { return false }
                for (place, bytes) in made.written { try stores.chunks.write(db, place, bytes) }
                for (type, words) in made.data where words.contains(where: { $0 != 0 }) {
                    let place = ChunkPlace(chunk: chunk, kind: .data(type), start: hour.flooredQuotient(24) * 24)
                    let known = try stores.chunks.read(db, place).map { try BitmapChunk(bytes: $0).words }
                    let all = known.map { zip($0, words).map { $0 | $1 } } ?? words
                    guard all != known else { continue }
                    try stores.chunks.write(db, place, BitmapChunk(words: all[...]).bytes)
                    db.afterCommit { [changes = stores.changes] in
                        changes.add(.data(type, day: place.start / 24, chunk: chunk, words: all))
                    }
                }
                return true
            }
            if isWritten { return }
        }
    }

    /// The sums that a coarser bucket needs which ends with the hour; nothing where none does.
    private static func earlier(
        of hour: Int, read: (GroupDataType, Range<Int>) throws -> [Int: [UInt8]]
    ) throws -> [GroupDataType: [Int: [SumChunk.Entry]]] {
        guard let longest = HourChunks.coarser(endingAt: hour + 1).map(\.length).max() else { return [:] }
        var earlier: [GroupDataType: [Int: [SumChunk.Entry]]] = [:]
        for type in GroupDataType.measuredScalars {
            earlier[type] = try read(type, hour + 1 - longest..<hour).mapValues { try SumChunk.read($0, components: type.components) }
        }
        return earlier
    }

    /// Who was where in the earlier hours of a day that ends with the hour; nothing where none does.
    private static func cells(of hour: Int, read: (Range<Int>) throws -> [Int: [UInt8]]) throws -> [Int: [CellChunk.Entry]] {
        guard (hour + 1).isMultiple(of: 24) else { return [:] }
        return try read(hour - 23..<hour).mapValues { try CellChunk.read($0) }
    }

    /// What stands in columns by now, and sums of days that are closed.
    private func deleteClosed(before hour: Int) async throws {
        while try await store.write({ [hours = stores.hours] db in try hours.deleteClosed(db, before: hour) }) > 0 {}
        guard hour.isMultiple(of: 24) else { return }
        let count = try await store.read { [people = stores.people] db in try people.count(db) }
        for chunk in 0..<Bitmap.chunkCount(count) {
            try await store.write { [chunks = stores.chunks] db in try chunks.deleteSums(db, chunk: chunk, before: hour) }
        }
    }
}
