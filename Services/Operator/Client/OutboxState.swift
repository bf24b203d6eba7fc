// What waits to be sent, in order, per device. Pure: the file that keeps it through a crash is `OutboxQueue`.

/// A run of a lane's entries that is sent as one upload.
struct OutboxBatch: Hashable, Sendable {
    var lane: String
    /// Sequences of the first and the last entry in the lane.
    var first: UInt64
    var last: UInt64
    var entries: [[UInt8]]
}

struct OutboxState: Sendable {
    private struct Lane {
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

    private var lanes: [String: Lane] = [:]
    /// Entries of all lanes that wait.
    private(set) var waiting = 0

    func waiting(in lane: String) -> Int { lanes[lane]?.waiting ?? 0 }

    /// Sequence that the lane's next entry gets.
    func end(of lane: String) -> UInt64 { lanes[lane]?.end ?? 1 }

    mutating func append(_ entry: [UInt8], to lane: String) {
        lanes[lane, default: Lane()].entries.append(entry)
        waiting += 1
    }

    /// Makes the lane begin at a sequence, as a compacted file says.
    mutating func begin(_ lane: String, at sequence: UInt64) {
        guard lanes[lane]?.waiting ?? 0 == 0 else { return }
        lanes[lane, default: Lane()].next = sequence
    }

    /// The oldest entries of the lane: at most `count` and, unless one alone is longer, at most `bytes`. Nil when none waits.
    func next(of lane: String, count: Int, bytes: Int) -> OutboxBatch? {
        guard let line = lanes[lane], line.waiting > 0 else { return nil }
        var size = 0
        var entries: [[UInt8]] = []
        for entry in line.entries[line.start...] {
            if !entries.isEmpty, entries.count == count || size + entry.count + 1 > bytes { break }
            entries.append(entry)
            size += entry.count + 1
        }
        return OutboxBatch(lane: lane, first: line.next, last: line.next + UInt64(entries.count) - 1, entries: entries)
    }

    /// Entries up to `sequence` were acknowledged; those that were already dropped stay so.
    mutating func done(_ lane: String, through sequence: UInt64) {
        guard var line = lanes[lane], sequence >= line.next else { return }
        let count = min(line.waiting, Int(sequence - line.next + 1))
        line.drop(count)
        lanes[lane] = line
        waiting -= count
    }

    /// Every lane with the sequence at which it stands and what waits in it, for a fresh file.
    var snapshot: [(lane: String, next: UInt64, entries: ArraySlice<[UInt8]>)] {
        lanes.keys.sorted().compactMap { name in
            lanes[name].map { (name, $0.next, $0.entries[$0.start...]) }
        }
    }
}
