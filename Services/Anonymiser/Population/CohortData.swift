// What releases read: the population, and who has which values when.

import Contracts

/// Everything that releases are made of, valid at one moment: a value that the next fact does not change. Only an erasure reaches into it:
/// of somebody who is erased meanwhile the store gives nothing any more. What reads the store blocks its thread for that time, and must not
/// be called within a read of the store.
struct CohortData: Sendable {
    let columns: PopulationColumns
    /// Buckets that end by then are closed: quarter hours since 1970; nil while nothing is.
    let closedUntil: Int?
    /// From which hour on values count, by type and row.
    let counting: CountingHours
    /// How often anything was taken away from somebody's values before this moment.
    let rights: Int
    let dataDays: DataDays
    /// ms since 1970, by row.
    let changedAt: [Int64]
    let buckets: BucketStore

    /// Who has at least one value of the type on that UTC day (since 1970) that counts; of `bitmapSize`. Days that are not in memory are
    /// read from the store; nobody where they cannot be.
    func hasData(_ type: GroupDataType, day: Int) -> Bitmap {
        if dataDays.holds(day) { return dataDays[type, day] ?? Bitmap(size: columns.bitmapSize) }
        return buckets.hasData(type, day: day, counting, size: columns.bitmapSize)
    }

    /// Values of a closed bucket of the grid, hours and coarser; nobody where nothing is kept. Reads the store, blocking.
    /// - Throws: where the store cannot be read, or is damaged.
    func values(_ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity) throws -> ValueColumn {
        try buckets.values(type, bucket, granularity, counting, size: columns.bitmapSize)
    }

    /// As `values` of a bucket of a day or less, counted by finest class. - Precondition: the type has one component.
    func counted(
        _ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity, of members: Bitmap, in column: ClassColumn
    ) throws -> ClassHistogram {
        try buckets.counted(type, bucket, granularity, counting, of: members, in: column)
    }

    /// Who was in which squares within the bucket, bounded by `CellChoice`: of each person and day at most a few squares, the same ones
    /// whatever bucket of the day is asked for.
    func visits(_ bucket: TimeSpan) throws -> [CellVisit] {
        try buckets.visits(bucket, counting, rows: columns.count, closedUntil: closedUntil)
    }

    /// Who was in the square on that day, within the same bounds.
    func presence(in cell: GridCell, day: Int) throws -> Bitmap {
        let rows = try buckets.presence(in: cell, day: day, counting, rows: columns.count, closedUntil: closedUntil)
        return Bitmap(size: columns.bitmapSize, members: rows)
    }

    /// Rows whose profile or opt-ins changed after a moment, or who were erased since.
    func changed(since moment: Timestamp) -> Bitmap {
        Bitmap(size: columns.bitmapSize, members: changedAt.indices.lazy.filter { changedAt[$0] > moment.milliseconds })
    }
}

/// Who has data on the days that are in memory.
struct DataDays: Sendable {
    /// So many days before today are in memory.
    static let kept = 90

    /// By type, and by days after `first`; all of one size.
    private var bitmaps = [[Bitmap?]](repeating: [], count: GroupDataType.allCases.count + 1)
    private(set) var size = 0
    /// Days before it are in the store alone.
    private(set) var first: Int

    init(first: Int) {
        self.first = first
    }

    func holds(_ day: Int) -> Bool { day >= first }

    /// Nil where nobody has data.
    subscript(type: GroupDataType, day: Int) -> Bitmap? {
        let days = bitmaps[Int(type.rawValue)]
        return days.indices.contains(day - first) ? days[day - first] : nil
    }

    /// All of one chunk anew. - Precondition: nobody beyond `size`.
    mutating func replace(_ type: GroupDataType, day: Int, chunk: Int, words: [UInt64]) {
        guard holds(day) else { return }
        let (number, index) = (Int(type.rawValue), day - first)
        let missing = index + 1 - bitmaps[number].count
        if missing > 0 { bitmaps[number].append(contentsOf: repeatElement(nil, count: missing)) }
        if bitmaps[number][index] == nil { bitmaps[number][index] = Bitmap(size: size) }
        let start = chunk * BitmapChunk.wordCount
        let room = Bitmap.wordCount(size) - start
        bitmaps[number][index]?.replaceWords(from: start, with: Array(words.prefix(max(0, room))))
    }

    /// - Precondition: it does not shrink.
    mutating func grow(to size: Int) {
        guard size > self.size else { return }
        self.size = size
        for number in bitmaps.indices {
            for index in bitmaps[number].indices { bitmaps[number][index]?.grow(to: size) }
        }
    }

    mutating func clear(_ type: GroupDataType, _ row: Int, before day: Int) {
        let number = Int(type.rawValue)
        for index in 0..<max(0, min(day - first, bitmaps[number].count)) where bitmaps[number][index]?[row] == true {
            bitmaps[number][index]?[row] = false
        }
    }

    mutating func forget(before day: Int) {
        guard day > first else { return }
        for number in bitmaps.indices { bitmaps[number].removeFirst(min(day - first, bitmaps[number].count)) }
        first = day
    }
}
