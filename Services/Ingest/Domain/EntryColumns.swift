// Entries of one metric on their way out of chunks, column by column: a page makes no value of a type of its own for each.

import Contracts

/// Values, or of `Metric.position` the places; the place where something was measured is a type of its own and never comes along with
/// another (SHR-11).
struct EntryColumns: Hashable, Sendable {
    /// In ms.
    var times: [Int64] = []
    /// As many, or none of `Metric.position`.
    var values: [Double] = []
    /// None, or as many of `Metric.position`.
    var positions: [Position] = []

    var count: Int { times.count }
    var isEmpty: Bool { times.isEmpty }

    /// For as many more.
    mutating func makeRoom(for other: EntryColumns) {
        times.reserveCapacity(times.count + other.times.count)
        values.reserveCapacity(values.count + other.values.count)
        positions.reserveCapacity(positions.count + other.positions.count)
    }

    mutating func append(contentsOf other: EntryColumns) {
        times += other.times
        values += other.values
        positions += other.positions
    }

    mutating func append(_ time: Int64, value: Double) {
        times.append(time)
        values.append(value)
    }

    mutating func append(_ time: Int64, position: Position) {
        times.append(time)
        positions.append(position)
    }

    /// At most so many, from the first.
    mutating func cut(to limit: Int) {
        let excess = max(0, count - limit)
        times.removeLast(excess)
        if !values.isEmpty { values.removeLast(excess) }
        if !positions.isEmpty { positions.removeLast(excess) }
    }

    /// Only those of the period. Of a page mostly all are.
    mutating func keep(_ period: Range<Int64>) {
        guard !times.allSatisfy(period.contains) else { return }
        self = taking(times.indices.filter { period.contains(times[$0]) })
    }

    /// In order of time. Chunks mostly follow one another and nothing is to be done.
    mutating func sort() {
        guard zip(times, times.dropFirst()).contains(where: { $0 > $1 }) else { return }
        self = taking(times.indices.sorted { times[$0] < times[$1] })
    }

    private func taking(_ places: some Collection<Int>) -> EntryColumns {
        EntryColumns(
            times: places.map { times[$0] }, values: values.isEmpty ? [] : places.map { values[$0] },
            positions: positions.isEmpty ? [] : places.map { positions[$0] })
    }
}
