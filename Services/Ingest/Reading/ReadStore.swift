// Sentences that read a person's entries back: pages, charts, newest values, times.

import Contracts
import GRDB
import Sealing
import Storage

/// One stored entry and the device that brought it, by its number.
struct StoredSample: Sendable {
    let sample: Sample
    let device: Int64
}

/// One person's entries, with the key that opens them. Lives as long as one reading.
struct ReadStore: Sendable {
    let vault: ChunkVault
    let person: PersonID
    let number: Int64
    let key: SymmetricKey
    /// What could not be read.
    let damaged: DamagedPeriods
    /// The number of the one device whose entries are read; nil reads all.
    let only: Int64?
    private var days: DayStore { vault.days }
    /// Days whose minutes are fetched together.
    private static let daysAtOnce = 16
    /// How far before the newest chunk of all the newest entry is searched where that one cannot be read.
    private static let stepBack: Int64 = 7 * Granularity.dayWidth

    init(
        vault: ChunkVault, person: PersonID, number: Int64, key: SymmetricKey, damaged: DamagedPeriods = DamagedPeriods(),
        only: Int64? = nil
    ) {
        (self.vault, self.person, self.number, self.key) = (vault, person, number, key)
        (self.damaged, self.only) = (damaged, only)
    }

    private var chunks: ChunkStore { vault.chunks }

    private func series(_ metric: Metric) -> Series {
        Series(person: number, metric: metric)
    }

    /// Nothing of a damaged chunk.
    private func open(_ chunk: ChunkRow) throws -> [Sample] {
        try undamaged(chunk) { try vault.open($0, of: person, key: key) } ?? []
    }

    /// Nil too where it is another device's than the one that is read.
    private func undamaged<Value>(_ chunk: ChunkRow, _ open: (ChunkRow) throws -> Value) throws -> Value? {
        guard only == nil || only == chunk.device else { return nil }
        return try vault.undamaged(chunk, noting: damaged, open)
    }

    // MARK: Entries

    /// The first `limit` entries of `period`, in order of time. Fewer means that there are no more.
    func page(_ db: Database, _ metric: Metric, in period: Range<Int64>, limit: Int) throws -> [StoredSample] {
        var found: [StoredSample] = []
        try eachNeeded(db, metric, in: period, limit: limit) { chunk in
            for sample in try vault.open(chunk, of: person, key: key, in: period, limit: limit) {
                found.append(StoredSample(sample: sample, device: chunk.device))
            }
        } isEnough: { next in
            found.count >= limit && found.count(where: { $0.sample.at.milliseconds < next }) >= limit
        }
        found.sort { $0.sample.at < $1.sample.at }
        return Array(found.prefix(limit))
    }

    /// As `page`, without the devices, nor the places of anything but positions.
    func columns(_ db: Database, _ metric: Metric, in period: Range<Int64>, limit: Int) throws -> EntryColumns {
        var found = EntryColumns()
        try eachNeeded(db, metric, in: period, limit: limit) { chunk in
            found.append(contentsOf: try vault.openColumns(chunk, of: person, key: key, in: period, limit: limit))
        } isEnough: { next in
            found.count >= limit && found.times.count(where: { $0 < next }) >= limit
        }
        found.sort()
        found.cut(to: limit)
        return found
    }

    /// Gives `open` the chunks that have the first `limit` entries of `period`, by their beginnings.
    /// - Parameter isEnough: whether what was opened has so many entries before this time. Those before the next chunk's beginning are
    ///   complete; once there are enough of them, the rest is not needed.
    private func eachNeeded(
        _ db: Database, _ metric: Metric, in period: Range<Int64>, limit: Int, open: (ChunkRow) throws -> Void, isEnough: (Int64) -> Bool
    ) throws {
        guard !period.isEmpty else { return }
        var seen: Set<Int64> = []
        var skipped = 0
        while true {
            // A damaged chunk, or another device's, does not give the entry that it was counted for: another one is taken in its place.
            let needed = try chunks.needed(db, of: series(metric), in: period, limit: limit + skipped)
            let before = skipped
            for (place, next) in needed.enumerated() where !seen.contains(next.id) {
                if place > 0, isEnough(next.first) { return }
                guard let chunk = try chunks.chunk(db, id: next.id) else { continue }
                if try undamaged(chunk, open) == nil { skipped += 1 }
            }
            guard skipped > before else { return }
            seen.formUnion(needed.map(\.id))
        }
    }

    /// The newest entry of a metric.
    func newest(_ db: Database, _ metric: Metric) throws -> StoredSample? {
        let series = series(metric)
        guard let time = try chunks.newest(db, of: series) else { return nil }
        var found: StoredSample?
        try chunks.each(db, of: series, in: time..<time + 1, where: { $0.last == time }) { chunk in
            if let sample = try open(chunk).first(where: { $0.at.milliseconds == time }) {
                found = StoredSample(sample: sample, device: chunk.device)
            }
        }
        return try found ?? newestBefore(time, db, series)
    }

    /// Where the newest chunk is damaged, or another device's.
    private func newestBefore(_ time: Int64, _ db: Database, _ series: Series) throws -> StoredSample? {
        var outlines: [(id: Int64, last: Int64)] = []
        try chunks.eachOutline(db, of: series, in: time - Self.stepBack..<time + 1) { id, outline, _ in outlines.append((id, outline.last))
        }
        for (id, _) in outlines.sorted(by: { $0.last > $1.last }) {
            guard let chunk = try chunks.chunk(db, id: id) else { continue }
            if let sample = try open(chunk).max(by: { $0.at < $1.at }) { return StoredSample(sample: sample, device: chunk.device) }
        }
        return nil
    }

    func metrics(_ db: Database) throws -> [Metric] {
        try chunks.metrics(db, of: number)
    }

    /// About how many entries the period has: those of chunks that reach across its ends are counted too.
    func count(_ db: Database, _ metric: Metric, in period: Range<Int64>) throws -> Int {
        var count = 0
        try chunks.eachOutline(db, of: series(metric), in: period) { _, outline, _ in count += outline.count }
        return count
    }

    // MARK: Charts

    /// The sums over the first stretches of the period that have entries: at least `limit` of them unless there are fewer.
    /// `period` holds whole stretches. The sealed minutes of a day give most of it; only chunks that came later are opened.
    func stretches(
        _ db: Database, _ metric: Metric, in period: Range<Int64>, width: Int64, limit: Int
    ) throws -> [(start: Int64, aggregate: Aggregate)] {
        guard !period.isEmpty else { return [] }
        let wanted = UTCDay.number(of: period.lowerBound)...UTCDay.number(of: period.upperBound - 1)
        var found: [(start: Int64, aggregate: Aggregate)] = []
        var next = wanted.lowerBound
        while found.count < limit, next <= wanted.upperBound {
            // Every one of these days has an entry and so at least one stretch, most have many.
            let states = try days.states(db, of: series(metric), next...wanted.upperBound, limit: min(limit, Self.daysAtOnce))
            for state in states where found.count < limit {
                let range = UTCDay.range(state.day).clamped(to: period)
                found += try sum(db, state, series(metric), in: range, width: width).sorted
            }
            guard let last = states.last else { break }
            next = last.day + 1
        }
        return found
    }

    /// The first day that has entries and does not end before `time`; nil where there is none.
    func nextDay(_ db: Database, _ metric: Metric, from time: Int64) throws -> Int64? {
        try days.states(db, of: series(metric), UTCDay.number(of: time)...(.max), limit: 1).first?.day
    }

    private func sum(_ db: Database, _ state: DayState, _ series: Series, in range: Range<Int64>, width: Int64) throws -> RollUp {
        var sum = RollUp(width: width)
        // Minutes are of all devices together.
        let day = only == nil ? try vault.minutes(of: state, series, of: person, under: key) : nil
        if let day {
            for (start, aggregate) in day.stretches where range.contains(start) { sum.add(aggregate, from: start) }
        }
        guard state.isDirty || day == nil else { return sum }
        try chunks.each(db, of: series, in: range, after: day == nil ? 0 : state.rolledThrough) { chunk in
            sum.add(try open(chunk).filter { range.contains($0.at.milliseconds) })
        }
        return sum
    }

    // MARK: Coverage

    /// The stretches that entries cover, joined; `reach` is how long an entry of a device covers, by the device's number.
    func covered(
        _ db: Database, _ metric: Metric, in period: Range<Int64>, reach: (_ device: Int64) -> Int64
    ) throws -> [Range<Int64>] {
        let series = series(metric)
        var joined: [Range<Int64>] = []
        try chunks.eachOutline(db, of: series, in: period) { id, outline, device in
            guard only == nil || only == device else { return }
            let times: [Int64]
            if outline.first == outline.last {
                times = [outline.first]
            } else if let chunk = try chunks.chunk(db, id: id),
                let opened = try undamaged(chunk, { try vault.openTimes($0, of: person, key: key) })
            {
                times = opened
            } else {
                return
            }
            joined.join(Coverage.stretches(of: times, reach: reach(device)))
        }
        return joined
    }
}

extension [Range<Int64>] {
    /// Appends stretches; the first is joined to the last one where they touch, as those of one class of chunks mostly do.
    fileprivate mutating func join(_ stretches: [Range<Int64>]) {
        for stretch in stretches {
            if let last, stretch.lowerBound >= last.lowerBound, stretch.lowerBound <= last.upperBound {
                self[count - 1] = last.lowerBound..<Swift.max(last.upperBound, stretch.upperBound)
            } else {
                append(stretch)
            }
        }
    }
}
