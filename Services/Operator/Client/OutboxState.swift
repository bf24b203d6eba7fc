// What waits to be sent, in order, per device. Pure: the file that keeps it through a crash is `OutboxQueue`.

/// Consecutive entries of a partition that are sent as one upload.
struct OutboxBatch: Hashable, Sendable {
    var partition: String
    /// Sequences of the first and the last entry in the partition.
    var first: UInt64
    var last: UInt64
    /// In the order in which they came.
    var entries: [[UInt8]]

    var places: ClosedRange<UInt64> { first...last }
}

/// What a fresh file says of a partition at one place: the entry with sequence `first` comes next.
struct OutboxStretch: Hashable, Sendable {
    var partition: String
    var first: UInt64
    /// Empty at the partition's end.
    var entries: [[UInt8]] = []
}

struct OutboxState: Sendable {
    /// Entries of consecutive sequences that wait. What came later may be acknowledged before them.
    private struct Run {
        /// Sequence of the first that waits.
        private(set) var first: UInt64
        private var kept: [[UInt8]]
        /// Index of the first entry that waits; what is before it is given back now and then.
        private var start = 0

        init(first: UInt64, _ entries: [[UInt8]]) {
            (self.first, kept) = (first, entries)
        }

        var entries: ArraySlice<[UInt8]> { kept[start...] }
        var count: Int { kept.count - start }
        var end: UInt64 { first + UInt64(count) }

        mutating func append(_ entry: [UInt8]) { kept.append(entry) }

        mutating func dropFirst(_ count: Int) {
            for index in start..<start + count { kept[index] = [] }
            start += count
            first += UInt64(count)
            if start > 1024, start * 2 > kept.count {
                kept.removeFirst(start)
                start = 0
            }
        }

        mutating func dropLast(_ count: Int) { kept.removeLast(count) }
    }

    private struct Partition {
        /// In order, with a gap before each but the first.
        var runs: [Run] = []
        /// Sequence that the next entry gets.
        var end: UInt64 = 1

        var waiting: Int { runs.reduce(0) { $0 + $1.count } }

        mutating func append(_ entry: [UInt8]) {
            if let last = runs.indices.last, runs[last].end == end {
                runs[last].append(entry)
            } else {
                runs.append(Run(first: end, [entry]))
            }
            end += 1
        }

        /// Takes out those with such sequences, and returns how many there were.
        mutating func remove(_ places: ClosedRange<UInt64>) -> Int {
            var removed = 0
            // From the last on, so that the indices that are still to come stay right.
            for index in runs.indices.reversed() {
                let (first, end) = (runs[index].first, runs[index].end)
                let (lower, upper) = (max(places.lowerBound, first), min(places.upperBound, end - 1))
                guard lower <= upper else { continue }
                removed += Int(upper - lower) + 1
                let behind = Int(end - 1 - upper)
                if lower == first {
                    runs[index].dropFirst(Int(upper - first) + 1)
                    if behind == 0 { runs.remove(at: index) }
                } else {
                    let rest = Array(runs[index].entries.suffix(behind))
                    runs[index].dropLast(Int(end - lower))
                    if behind > 0 { runs.insert(Run(first: upper + 1, rest), at: index + 1) }
                }
            }
            return removed
        }
    }

    private var partitions: [String: Partition] = [:]
    /// Entries of all partitions that wait.
    private(set) var waiting = 0

    func waiting(in partition: String) -> Int { partitions[partition]?.waiting ?? 0 }

    /// Sequence that the partition's next entry gets.
    func end(of partition: String) -> UInt64 { partitions[partition]?.end ?? 1 }

    mutating func append(_ entry: [UInt8], to partition: String) {
        partitions[partition, default: Partition()].append(entry)
        waiting += 1
    }

    /// The partition's next entry gets this sequence, as a compacted file has it, unless it has come further.
    mutating func begin(_ partition: String, at sequence: UInt64) {
        let reached = end(of: partition)
        partitions[partition, default: Partition()].end = max(reached, sequence)
    }

    /// The oldest entries of the partition: at most `count` and, unless one alone is longer, at most `bytes`. Nil when none waits.
    func oldest(of partition: String, count: Int, bytes: Int) -> OutboxBatch? {
        guard let run = partitions[partition]?.runs.first else { return nil }
        let fitting = Self.fitting(run.entries, count: count, bytes: bytes)
        return OutboxBatch(
            partition: partition, first: run.first, last: run.first + UInt64(fitting) - 1, entries: Array(run.entries.prefix(fitting)))
    }

    /// As `oldest`, of the newest. They too are in the order in which they came.
    func newest(of partition: String, count: Int, bytes: Int) -> OutboxBatch? {
        guard let run = partitions[partition]?.runs.last else { return nil }
        let fitting = Self.fitting(run.entries.reversed(), count: count, bytes: bytes)
        return OutboxBatch(
            partition: partition, first: run.end - UInt64(fitting), last: run.end - 1, entries: Array(run.entries.suffix(fitting)))
    }

    private static func fitting(_ entries: some Sequence<[UInt8]>, count: Int, bytes: Int) -> Int {
        var (fitting, size) = (0, 0)
        for entry in entries {
            if fitting > 0, fitting >= count || size + entry.count + 1 > bytes { break }
            fitting += 1
            size += entry.count + 1
        }
        return fitting
    }

    /// Entries with these sequences were acknowledged; those that were already dropped stay so.
    mutating func done(_ partition: String, _ places: ClosedRange<UInt64>) {
        let removed = partitions[partition]?.remove(places) ?? 0
        waiting -= removed
    }

    /// All that waits, for a fresh file, in pieces of at most so many bytes unless one entry is longer.
    func stretches(of bytes: Int) -> [OutboxStretch] {
        partitions.sorted { $0.key < $1.key }.flatMap { name, partition -> [OutboxStretch] in
            var stretches: [OutboxStretch] = []
            for run in partition.runs {
                var (first, rest) = (run.first, run.entries)
                while !rest.isEmpty {
                    let fitting = Self.fitting(rest, count: .max, bytes: bytes)
                    stretches.append(OutboxStretch(partition: name, first: first, entries: Array(rest.prefix(fitting))))
                    first += UInt64(fitting)
                    rest = rest.dropFirst(fitting)
                }
            }
            return stretches + [OutboxStretch(partition: name, first: partition.end)]
        }
    }
}
