// What is read of closed buckets for releases: whole columns, as far as they count.

import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage

/// Reads the store on the calling thread, chunk by chunk.
struct BucketStore: Sendable {
    let store: Store
    let chunks: ChunkStore
    let squares: SquareStore
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

    /// How many of the members have which code of a bucket of a day or less, by finest class: one pass over what is kept, without columns.
    /// Chunks are read and unsealed on several threads: that takes longer than to count what is in them.
    /// - Precondition: the type has one component.
    func counted(
        _ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity, _ counting: CountingHours, of members: Bitmap,
        in column: ClassColumn
    ) throws -> ClassHistogram {
        let (scale, start) = (type.scales(granularity)[0], bucket.start.flooredQuotient(TimeSpan.perHour))
        let (hours, end) = (counting.column(type), Int32(clamping: bucket.end.flooredQuotient(TimeSpan.perHour)))
        let chunks = Self.chunkCount(members.size)
        let parts = try ConcurrentWork.map(min(ConcurrentWork.width, chunks.count)) { part in
            try store.readNow { db in
                var histogram = ClassHistogram(column, codes: scale.codes)
                for chunk in stride(from: part, to: chunks.upperBound, by: ConcurrentWork.width) {
                    let place = ChunkPlace(chunk: chunk, kind: .values(type, granularity), start: start)
                    guard let bytes = try self.chunks.read(db, place) else { continue }
                    try CodeChunk.count(
                        bytes, scale, of: members, into: &histogram, at: chunk * BitmapChunk.rows, ids: column.ids, hours: hours,
                        before: end)
                }
                return histogram
            }
        }
        var histogram = ClassHistogram(column, codes: scale.codes)
        for part in parts { histogram.add(part) }
        return histogram
    }

    /// Codes plus 1, by component.
    private func kept(
        _ db: Database, _ type: GroupDataType, _ granularity: Granularity, _ bucket: TimeSpan, _ scales: [ValueScale],
        _ counting: CountingHours, _ size: Int
    ) throws -> [[UInt16]] {
        let start = bucket.start.flooredQuotient(TimeSpan.perHour)
        let (hours, end) = (counting.column(type), Int32(clamping: bucket.end.flooredQuotient(TimeSpan.perHour)))
        var columns = scales.map { _ in [UInt16](repeating: 0, count: size) }
        for chunk in Self.chunkCount(size) {
            let place = ChunkPlace(chunk: chunk, kind: .values(type, granularity), start: start)
            guard let bytes = try chunks.read(db, place) else { continue }
            try CodeChunk.read(bytes, scales, into: &columns, at: chunk * BitmapChunk.rows, hours: hours, before: end)
        }
        return columns
    }

    // MARK: Squares

    /// Hours of a closed day count as far as their squares were chosen at its end; of a day that is not closed they are chosen here.
    /// - Parameter closedUntil: quarter hours since 1970; days that end by then are closed.
    func visits(_ bucket: TimeSpan, _ counting: CountingHours, rows: Int, closedUntil: Int?) throws -> [CellVisit] {
        let asked = bucket.start.flooredQuotient(TimeSpan.perHour)..<(bucket.end - 1).flooredQuotient(TimeSpan.perHour) + 1
        let from = counting.column(.position)
        return try store.readNow { db in
            var visits: [CellVisit] = []
            for day in bucket.days {
                for chunk in Self.chunkCount(rows) {
                    guard Self.isClosed(day, closedUntil) else {
                        try addOpen(db, &visits, chunk, day, asked, from, rows)
                        continue
                    }
                    let kept = try squares.entries(db, chunk: chunk, day: day)
                    let hours = asked.clamped(to: day * 24..<(day + 1) * 24)
                    if hours.count == 24 {
                        Self.add(kept, to: &visits, chunk, from, rows, reach: (day + 1) * 24)
                    } else {
                        try addHours(db, &visits, chunk, hours, kept, from, rows)
                    }
                }
            }
            return visits
        }
    }

    /// Rows of those who were in the square on the day; repeated ones are one.
    func presence(in cell: GridCell, day: Int, _ counting: CountingHours, rows: Int, closedUntil: Int?) throws -> [Int] {
        guard Self.isClosed(day, closedUntil) else {
            let span = TimeSpan(day * TimeSpan.perDay, (day + 1) * TimeSpan.perDay)
            return try visits(span, counting, rows: rows, closedUntil: closedUntil).filter { $0.cell == cell }.map { Int($0.row) }
        }
        let from = counting.column(.position)
        return try store.readNow { db in
            try Self.chunkCount(rows).flatMap { chunk in
                try squares.rows(db, in: cell, chunk: chunk, day: day).map { chunk * BitmapChunk.rows + $0 }
                    .filter { Self.counts($0, in: (day + 1) * 24 - 1, from, rows) }
            }
        }
    }

    private static func isClosed(_ day: Int, _ closedUntil: Int?) -> Bool {
        closedUntil.map { (day + 1) * TimeSpan.perDay <= $0 } ?? false
    }

    private static func counts(_ row: Int, in hour: Int, _ from: [Int32], _ rows: Int) -> Bool {
        row < min(rows, from.count) && hour >= Int(from[row])
    }

    /// A whole closed day. - Parameter reach: whoever counts from then on or later has no hour of it.
    private static func add(
        _ kept: [SquareChunk.Entry], to visits: inout [CellVisit], _ chunk: Int, _ from: [Int32], _ rows: Int, reach: Int
    ) {
        for entry in kept {
            for row in entry.rows.map({ chunk * BitmapChunk.rows + $0 }) where counts(row, in: reach - 1, from, rows) {
                visits.append(CellVisit(row: UInt32(row), cell: entry.cell))
            }
        }
    }

    /// Some hours of a closed day.
    private func addHours(
        _ db: Database, _ visits: inout [CellVisit], _ chunk: Int, _ hours: Range<Int>, _ kept: [SquareChunk.Entry], _ from: [Int32],
        _ rows: Int
    ) throws {
        var admitted = [[GridCell]](repeating: [], count: BitmapChunk.rows)
        for entry in kept {
            for row in entry.rows { admitted[row].append(entry.cell) }
        }
        for (hour, bytes) in try chunks.read(db, chunk: chunk, .cells, starts: hours) {
            for entry in try CellChunk.read(bytes) {
                let row = chunk * BitmapChunk.rows + entry.row
                guard Self.counts(row, in: hour, from, rows) else { continue }
                for cell in entry.cells where admitted[entry.row].contains(cell) {
                    visits.append(CellVisit(row: UInt32(row), cell: cell))
                }
            }
        }
    }

    /// What is asked of a day that is not closed: its earlier hours decide with.
    private func addOpen(
        _ db: Database, _ visits: inout [CellVisit], _ chunk: Int, _ day: Int, _ asked: Range<Int>, _ from: [Int32], _ rows: Int
    ) throws {
        let hours = day * 24..<min((day + 1) * 24, asked.upperBound)
        var admitted: [Int: [GridCell]] = [:]
        for (hour, bytes) in try chunks.read(db, chunk: chunk, .cells, starts: hours).sorted(by: { $0.key < $1.key }) {
            for entry in try CellChunk.read(bytes) {
                let row = chunk * BitmapChunk.rows + entry.row
                guard Self.counts(row, in: hour, from, rows) else { continue }
                squares.admit(entry.cells, row: row, day: day, to: &admitted[row, default: []])
                guard asked.contains(hour), let known = admitted[row] else { continue }
                for cell in entry.cells where known.contains(cell) { visits.append(CellVisit(row: UInt32(row), cell: cell)) }
            }
        }
    }
}
