// What is read of closed buckets for releases: whole columns, as far as they count.

import Contracts
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage

/// Reads the store on the calling thread, chunk by chunk.
struct BucketStore: Sendable {
    let store: Store
    let chunks: ChunkStore
    let policy: AnonymityPolicy
    /// Of the choice of squares: nobody can guess by it which squares count.
    let choice: SymmetricKey
    let logger: Logger

    private static func chunkCount(_ size: Int) -> Range<Int> { 0..<Bitmap.chunkCount(size) }

    // MARK: Who has data

    /// Nobody where the store cannot be read.
    func hasData(_ type: GroupDataType, day: Int, _ counting: CountingHours, size: Int) -> Bitmap {
        do {
            return try store.readNow { db in
                var bitmap = Bitmap(size: size)
                for chunk in Self.chunkCount(size) {
                    guard let bytes = try chunks.read(db, ChunkPlace(chunk: chunk, kind: .data(type), start: day * 24)) else { continue }
                    let start = chunk * BitmapChunk.wordCount
                    let words = try BitmapChunk(bytes: bytes).words
                    bitmap.replaceWords(from: start, with: Array(words.prefix(bitmap.words.count - start)))
                }
                let hours = counting.column(type)
                let (end, whole) = (Int32(clamping: (day + 1) * 24), bitmap)
                whole.forEach { row in
                    if row >= hours.count || hours[row] >= end { bitmap[row] = false }
                }
                return bitmap
            }
        } catch {
            logger.error("who has data on a day cannot be read", metadata: ["error": "\(error.logReason)"])
            return Bitmap(size: size)
        }
    }

    // MARK: Values

    /// Up to a day they stand in the store; of several days they are means of the days' codes.
    func values(
        _ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity, _ counting: CountingHours, size: Int
    ) throws -> ValueColumn {
        let scales = type.scales(granularity)
        guard !scales.isEmpty, granularity != .quarterHour else { return ValueColumn(scales: scales, size: size) }
        return try store.readNow { db in
            if granularity <= .day {
                return ValueColumn(scales: scales, columns: try kept(db, type, granularity, bucket, scales, counting, size))
            }
            var sums = scales.map { _ in [Int32](repeating: 0, count: size) }
            var counts = [Int32](repeating: 0, count: size)
            for day in bucket.days {
                let span = TimeSpan(day * TimeSpan.perDay, (day + 1) * TimeSpan.perDay)
                let columns = try kept(db, type, .day, span, scales, counting, size)
                for (component, codes) in columns.enumerated() { Self.add(codes, to: &sums[component]) }
                // Whoever has one component has all of them.
                for row in 0..<size where columns[0][row] > 0 { counts[row] += 1 }
            }
            let columns = sums.map { sums in
                zip(sums, counts).map { sum, count in count == 0 ? 0 : UInt16(Int(sum).roundedQuotient(Int(count)) + 1) }
            }
            return ValueColumn(scales: scales, columns: columns)
        }
    }

    /// Sums of codes, which columns hold plus 1.
    private static func add(_ codes: [UInt16], to sums: inout [Int32]) {
        for row in 0..<min(codes.count, sums.count) where codes[row] > 0 { sums[row] += Int32(codes[row]) - 1 }
    }

    /// Codes plus 1, by component.
    private func kept(
        _ db: Database, _ type: GroupDataType, _ granularity: Granularity, _ bucket: TimeSpan, _ scales: [ValueScale],
        _ counting: CountingHours, _ size: Int
    ) throws -> [[UInt16]] {
        let start = bucket.start.flooredQuotient(TimeSpan.perHour)
        var columns = scales.map { _ in [UInt16](repeating: 0, count: size) }
        for chunk in Self.chunkCount(size) {
            let place = ChunkPlace(chunk: chunk, kind: .values(type, granularity), start: start)
            guard let bytes = try chunks.read(db, place) else { continue }
            let first = chunk * BitmapChunk.rows
            for (component, codes) in try CodeChunk.read(bytes, scales).enumerated() {
                let known = codes.prefix(size - first)
                columns[component].replaceSubrange(first..<first + known.count, with: known)
            }
        }
        let (hours, end) = (counting.column(type), Int32(clamping: bucket.end.flooredQuotient(TimeSpan.perHour)))
        for component in columns.indices { Self.clear(&columns[component], where: hours, reach: end) }
        return columns
    }

    /// Values of whoever counts from `end` or later, or has no hour.
    private static func clear(_ column: inout [UInt16], where hours: [Int32], reach end: Int32) {
        let known = min(column.count, hours.count)
        for row in 0..<known where hours[row] >= end { column[row] = 0 }
        for row in known..<column.count { column[row] = 0 }
    }

    // MARK: Squares

    /// A person's squares of a day are admitted hour by hour, those of one hour by a keyed hash, until there are enough: what counts in an
    /// hour never depends on a later one, and is the same for everybody who asks.
    func visits(_ bucket: TimeSpan, _ counting: CountingHours, rows: Int) throws -> [CellVisit] {
        let asked = bucket.start.flooredQuotient(TimeSpan.perHour)..<(bucket.end - 1).flooredQuotient(TimeSpan.perHour) + 1
        return try store.readNow { db in
            var visits: [CellVisit] = []
            for day in bucket.days {
                for chunk in Self.chunkCount(rows) {
                    let hours = day * 24..<min((day + 1) * 24, asked.upperBound)
                    let kept = try chunks.read(db, chunk: chunk, .cells, starts: hours)
                    var admitted: [Int: [GridCell]] = [:]
                    for hour in hours {
                        guard let bytes = kept[hour] else { continue }
                        for entry in try CellChunk.read(bytes) {
                            let row = chunk * BitmapChunk.rows + entry.row
                            guard row < rows, hour >= Int(counting[.position, row]) else { continue }
                            var known = admitted[row] ?? []
                            let new = entry.cells.filter { !known.contains($0) }
                            if !new.isEmpty, known.count < policy.cellsPerPersonDay {
                                known += chosen(new, row: row, day: day, most: policy.cellsPerPersonDay - known.count)
                                admitted[row] = known
                            }
                            guard asked.contains(hour) else { continue }
                            for cell in entry.cells where known.contains(cell) { visits.append(CellVisit(row: UInt32(row), cell: cell)) }
                        }
                    }
                }
            }
            return visits
        }
    }

    private func chosen(_ cells: [GridCell], row: Int, day: Int, most: Int) -> [GridCell] {
        guard cells.count > most else { return cells }
        var bounded = policy
        bounded.cellsPerPersonDay = most
        return CellChoice.chosen(cells, bounded) { cell in
            let bytes = Digest.hmacSHA256(Array("\(row) \(day) \(cell.x) \(cell.y)".utf8), key: choice)
            return bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }.sorted()
    }
}
