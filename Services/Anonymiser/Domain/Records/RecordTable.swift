// One table of records: a type in a bucket, by class.

/// What identifies nobody: the content of one table, to be kept and served again with the same values.
struct RecordTable: Hashable, Sendable {
    struct Class: Hashable, Sendable {
        /// By attribute, sorted.
        let labels: [String]
        /// Ascending by value; shuffled when they are served.
        let entries: [MicroCohort]
    }

    let classes: [Class]
    /// Of the recoding path.
    let step: Int
    /// Distinct people in its entries.
    var represented: Int { classes.reduce(0) { $0 + $1.entries.reduce(0) { $0 + $1.people } } }
}

/// Makes tables out of columns. Everything is exact; nothing depends on the order of rows.
struct RecordTables: Sendable {
    let policy: AnonymityPolicy
    let column: ClassColumn

    /// - Parameters:
    ///   - members: S(t, b). Who has no value in the column does not count.
    ///   - first: the release's step; the table goes further along the path by itself while one of its classes shows too few values.
    /// - Returns: nil where fewer people than the policy asks for are represented: the table is withheld.
    func table(_ values: ValueColumn, members: Bitmap, from first: Int) -> RecordTable? {
        let scales = values.scales
        return table(from: first, scales) { classes in
            guard scales.count == 1 else { return double(values, members, classes) }
            let histogram = ClassHistogram(members, ids: column.ids, classes, values.columns[0], codes: scales[0].codes)
            return single(histogram, scales[0], classes)
        }
    }

    /// Of a type of one value, of which it is counted how many of each finest class have each code.
    func table(_ counted: ClassHistogram, _ scale: ValueScale, from first: Int) -> RecordTable? {
        table(from: first, [scale]) { classes in single(counted.joined(classes), scale, classes) }
    }

    private func table(from first: Int, _ scales: [ValueScale], _ classes: (RecodedClasses) -> [RecordTable.Class]) -> RecordTable? {
        for step in first...column.path.last {
            let made = classes(column.classes(at: step))
            let table = RecordTable(classes: made.sorted { $0.labels.lexicographicallyPrecedes($1.labels) }, step: step)
            // Whatever values it shows.
            guard table.represented >= policy.fewestIndividuals else { continue }
            if table.classes.allSatisfy({ MicroCohorts.isDiverse($0.entries, policy) }) { return table }
            if step == column.path.last {
                let classes = table.classes.map {
                    RecordTable.Class(labels: $0.labels, entries: MicroCohorts.single($0.entries, scales))
                }
                return RecordTable(classes: classes, step: step)
            }
        }
        return nil
    }

    private func single(_ histogram: ClassHistogram, _ scale: ValueScale, _ classes: RecodedClasses) -> [RecordTable.Class] {
        classes.labels.indices.compactMap { number in
            histogram.withRow(number) { row in
                guard row.reduce(0, { $0 + Int($1) }) >= policy.fewestPerClass else { return nil }
                return RecordTable.Class(labels: classes.labels[number], entries: MicroCohorts.make(row, scale, policy))
            }
        }
    }

    private func double(_ values: ValueColumn, _ members: Bitmap, _ classes: RecodedClasses) -> [RecordTable.Class] {
        var pairs = [[SIMD2<UInt16>]](repeating: [], count: classes.labels.count)
        members.forEach { row in
            let pair = SIMD2(values.columns[0][row], values.columns[1][row])
            if pair.x > 0, pair.y > 0 { pairs[classes.ofID[Int(column.ids[row])]].append(pair &- 1) }
        }
        return pairs.indices.compactMap { number in
            guard pairs[number].count >= policy.fewestPerClass else { return nil }
            return RecordTable.Class(labels: classes.labels[number], entries: MicroCohorts.make(pairs[number], values.scales, policy))
        }
    }
}

/// People by class and code: one masked pass over a bucket.
struct ClassHistogram: Sendable {
    private let codes: Int
    private var cells: [UInt32]

    init(_ members: Bitmap, ids: [UInt32], _ classes: RecodedClasses, _ values: [UInt16], codes: Int) {
        // One cell more in front of each row takes those without a value.
        let width = codes + 1
        var cells = [UInt32](repeating: 0, count: classes.labels.count * width)
        let rows = classes.ofID.map { UInt32($0 * width) }
        cells.withUnsafeMutableBufferPointer { cells in
            values.withUnsafeBufferPointer { values in
                ids.withUnsafeBufferPointer { ids in
                    rows.withUnsafeBufferPointer { rows in
                        members.forEach { cells[Int(rows[Int(ids[$0])]) &+ Int(values[$0])] &+= 1 }
                    }
                }
            }
        }
        (self.codes, self.cells) = (codes, cells)
    }

    /// Of nobody, by finest class.
    init(_ column: ClassColumn, codes: Int) {
        (self.codes, cells) = (codes, [UInt32](repeating: 0, count: column.codes.count * (codes + 1)))
    }

    /// Adds the members among the rows that begin at `first`, whose codes plus 1 these are; of a histogram by finest class.
    /// - Parameter hours: whoever counts from `end` or later, or has no hour, is left out.
    mutating func add(
        _ values: ArraySlice<some FixedWidthInteger & UnsignedInteger>, of members: Bitmap, at first: Int, ids: [UInt32], hours: [Int32],
        before end: Int32
    ) {
        let (limit, width) = (min(values.count, ids.count - first, hours.count - first), codes + 1)
        cells.withUnsafeMutableBufferPointer { cells in
            values.withUnsafeBufferPointer { values in
                ids.withUnsafeBufferPointer { ids in
                    hours.withUnsafeBufferPointer { hours in
                        members.forEach(from: first, count: limit) { row in
                            let number = first &+ row
                            if hours[number] < end { cells[Int(ids[number]) &* width &+ Int(values[row])] &+= 1 }
                        }
                    }
                }
            }
        }
    }

    /// Adds what was counted of other people, by the same classes and codes.
    mutating func add(_ other: ClassHistogram) {
        precondition(cells.count == other.cells.count && codes == other.codes, "histograms of the same table")
        for index in cells.indices { cells[index] &+= other.cells[index] }
    }

    /// Bytes of one by finest class.
    static func byteCount(_ column: ClassColumn, codes: Int) -> Int {
        column.codes.count * (codes + 1) * MemoryLayout<UInt32>.size
    }

    /// Of one by finest class: by coarser ones.
    func joined(_ classes: RecodedClasses) -> ClassHistogram {
        let width = codes + 1
        var joined = self
        joined.cells = [UInt32](repeating: 0, count: classes.labels.count * width)
        for (id, number) in classes.ofID.enumerated() {
            for code in 0..<width { joined.cells[number * width + code] += cells[id * width + code] }
        }
        return joined
    }

    /// People of each class who have a value.
    var counts: [Int] {
        stride(from: 0, to: cells.count, by: codes + 1).map { start in
            cells[start + 1..<start + codes + 1].reduce(0) { $0 + Int($1) }
        }
    }

    var people: Int { counts.reduce(0, +) }

    /// People of one class by code.
    func withRow<Result>(_ number: Int, _ body: (UnsafeBufferPointer<UInt32>) -> Result) -> Result {
        cells.withUnsafeBufferPointer { cells in
            let start = number * (codes + 1) + 1
            return body(UnsafeBufferPointer(rebasing: cells[start..<start + codes]))
        }
    }
}
