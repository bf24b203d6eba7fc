// What the close of an hour leaves of 65,536 people: values, sums, squares, and who has data.

import Contracts

/// Made of what was measured in the hour, and of the sums of the day's earlier hours where a coarser bucket ends with it.
struct HourChunks: Sendable {
    /// What stands anew; nil where nobody is in it.
    private(set) var written: [(place: ChunkPlace, bytes: [UInt8]?)] = []
    /// Who has data of a type that the day did not have before, perhaps: words of a chunk.
    private(set) var data: [GroupDataType: [UInt64]] = [:]

    /// The coarser buckets that end with an hour, with their lengths in hours.
    static func coarser(endingAt end: Int) -> [(length: Int, granularity: Granularity)] {
        let all: [(length: Int, granularity: Granularity)] = [(6, .sixHours), (24, .day)]
        return all.filter { end.isMultiple(of: $0.length) }
    }

    /// - Parameters:
    ///   - measured: by row, ascending.
    ///   - earlier: sums of the day's earlier hours, by type and hour.
    ///   - cells: who was where in the day's earlier hours, where the day ends with this one.
    ///   - counting: hours before a person's own do not count.
    init(
        hour: Int, chunk: Int, measured: [(row: Int, measured: PersonHour)], earlier: [GroupDataType: [Int: [SumChunk.Entry]]],
        cells: [Int: [CellChunk.Entry]], counting: CountingHours, squares: SquareStore
    ) {
        let first = chunk * BitmapChunk.rows
        let isDayOver = (hour + 1).isMultiple(of: 24)
        for type in GroupDataType.measuredScalars {
            let entries = measured.compactMap { row, measured -> SumChunk.Entry? in
                guard let sums = measured.sums[type], CountingHours.isKept(hour: hour, from: counting[type, row]) else { return nil }
                return SumChunk.Entry(row: row - first, sums: sums)
            }
            add(type, .hour, [entries], ChunkPlace(chunk: chunk, kind: .values(type, .hour), start: hour))
            for (length, granularity) in Self.coarser(endingAt: hour + 1) {
                let start = hour + 1 - length
                let hours = (start..<hour).map { earlierHour in
                    (earlier[type]?[earlierHour] ?? []).filter {
                        CountingHours.isKept(hour: earlierHour, from: counting[type, first + $0.row])
                    }
                }
                add(type, granularity, hours + [entries], ChunkPlace(chunk: chunk, kind: .values(type, granularity), start: start))
            }
            if !isDayOver { written.append((ChunkPlace(chunk: chunk, kind: .sums(type), start: hour), SumChunk.bytes(entries))) }
        }
        let entries = addCells(hour: hour, chunk: chunk, measured, counting)
        guard isDayOver else { return }
        let day = hour.flooredQuotient(24)
        written += squares.closed(day: day, chunk: chunk, cells.merging([hour: entries]) { $1 }, counting)
    }

    /// The values of one bucket, of sums of its hours.
    private mutating func add(
        _ type: GroupDataType, _ granularity: Granularity, _ hours: [[SumChunk.Entry]], _ place: ChunkPlace
    ) {
        let scales = type.scales(granularity)
        var totals: [Int: [SampleSum]] = [:]
        for entry in hours.joined() {
            if let known = totals[entry.row] {
                totals[entry.row] = zip(known, entry.sums).map { sum, more in
                    var sum = sum
                    sum.add(more)
                    return sum
                }
            } else {
                totals[entry.row] = entry.sums
            }
        }
        var columns = scales.map { _ in [UInt16](repeating: 0, count: BitmapChunk.rows) }
        var words = data[type] ?? BitmapChunk.absent.words
        for (row, sums) in totals {
            guard let codes = type.codes(sums, scales) else { continue }
            for component in codes.indices { columns[component][row] = UInt16(codes[component] + 1) }
            words[row >> 6] |= 1 << UInt64(row & 63)
        }
        data[type] = words
        written.append((place, CodeChunk.bytes(columns, scales)))
    }

    /// - Returns: who was where in the hour.
    private mutating func addCells(
        hour: Int, chunk: Int, _ measured: [(row: Int, measured: PersonHour)], _ counting: CountingHours
    ) -> [CellChunk.Entry] {
        let first = chunk * BitmapChunk.rows
        let entries = measured.compactMap { row, measured -> CellChunk.Entry? in
            guard !measured.cells.isEmpty, CountingHours.isKept(hour: hour, from: counting[.position, row]) else { return nil }
            return CellChunk.Entry(row: row - first, cells: measured.cells)
        }
        var words = BitmapChunk.absent.words
        for entry in entries { words[entry.row >> 6] |= 1 << UInt64(entry.row & 63) }
        data[.position] = words
        written.append((ChunkPlace(chunk: chunk, kind: .cells, start: hour), CellChunk.bytes(entries)))
        return entries
    }
}
