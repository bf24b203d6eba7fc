// What waits to be sent, in order, per device. Pure: the file that keeps it through a crash is `OutboxQueue`.

/// A run of a partition's entries that is sent as one upload.
struct OutboxBatch: Hashable, Sendable {
    var partition: String
    /// Sequences of the first and the last entry in the partition.
    var first: UInt64
    var last: UInt64
    var entries: [[UInt8]]
}

struct OutboxState: Sendable {
    private struct Partition {
        var entries: [[UInt8]] = []
        /// Index of the first entry that still waits; what is before it is given back now and then.
        var start = 0
        /// Sequence of `entries[start]`.
        var next: UInt64 = 1

        var waiting: Int { entries.count - start }
        var end: UInt64 { next + UInt64(waiting) }

        mutating func drop(_ count: Int) {
            for index in start..<start + count { entries[index] = [] }
            start += count
            next += UInt64(count)
            if start > 1024, start * 2 > entries.count {
                entries.removeFirst(start)
                start = 0
            }
        }
    }

    private var partitions: [String: Partition] = [:]
    /// Entries of all partitions that wait.
    private(set) var waiting = 0

    func waiting(in partition: String) -> Int { partitions[partition]?.waiting ?? 0 }

    /// Sequence that the partition's next entry gets.
    func end(of partition: String) -> UInt64 { partitions[partition]?.end ?? 1 }

    mutating func append(_ entry: [UInt8], to partition: String) {
        partitions[partition, default: Partition()].entries.append(entry)
        waiting += 1
    }

    /// Makes the partition begin at a sequence, as a compacted file has it.
    mutating func begin(_ partition: String, at sequence: UInt64) {
        guard partitions[partition]?.waiting ?? 0 == 0 else { return }
        partitions[partition, default: Partition()].next = sequence
    }

    /// The oldest entries of the partition: at most `count` and, unless one alone is longer, at most `bytes`. Nil when none waits.
    func next(of partition: String, count: Int, bytes: Int) -> OutboxBatch? {
        guard let line = partitions[partition], line.waiting > 0 else { return nil }
        var size = 0
        var entries: [[UInt8]] = []
        for entry in line.entries[line.start...] {
            if !entries.isEmpty, entries.count == count || size + entry.count + 1 > bytes { break }
            entries.append(entry)
            size += entry.count + 1
        }
        return OutboxBatch(partition: partition, first: line.next, last: line.next + UInt64(entries.count) - 1, entries: entries)
    }

    /// Entries up to `sequence` were acknowledged; those that were already dropped stay so.
    mutating func done(_ partition: String, through sequence: UInt64) {
        guard var line = partitions[partition], sequence >= line.next else { return }
        let count = min(line.waiting, Int(sequence - line.next + 1))
        line.drop(count)
        partitions[partition] = line
        waiting -= count
    }

    /// Every partition with the sequence at which it stands and what waits in it, for a fresh file.
    var snapshot: [(partition: String, next: UInt64, entries: ArraySlice<[UInt8]>)] {
        partitions.keys.sorted().compactMap { name in
            partitions[name].map { (name, $0.next, $0.entries[$0.start...]) }
        }
    }
}
