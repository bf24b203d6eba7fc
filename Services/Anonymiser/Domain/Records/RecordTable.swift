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
        for step in first...column.path.last {
            guard let table = table(values, members: members, at: step) else { continue }
            if table.classes.allSatisfy({ MicroCohorts.isDiverse($0.entries, policy) }) { return table }
            if step == column.path.last {
                let classes = table.classes.map {
                    RecordTable.Class(labels: $0.labels, entries: MicroCohorts.single($0.entries, values.scales))
                }
                return RecordTable(classes: classes, step: step)
            }
        }
        return nil
    }

    /// At exactly one step, whatever values it shows; nil where too few are represented.
    private func table(_ values: ValueColumn, members: Bitmap, at step: Int) -> RecordTable? {
        let classes = column.classes(at: step)
        let made = values.scales.count == 1 ? single(values, members, classes) : double(values, members, classes)
        let table = RecordTable(classes: made.sorted { $0.labels.lexicographicallyPrecedes($1.labels) }, step: step)
        return table.represented >= policy.fewestIndividuals ? table : nil
    }

    private func single(_ values: ValueColumn, _ members: Bitmap, _ classes: RecodedClasses) -> [RecordTable.Class] {
        let codes = values.scales[0].codes
        let histogram = ClassHistogram(members, ids: column.ids, classes, values.columns[0], codes: codes)
        return classes.labels.indices.compactMap { number in
            histogram.withRow(number) { row in
                guard row.reduce(0, { $0 + Int($1) }) >= policy.fewestPerClass else { return nil }
                return RecordTable.Class(labels: classes.labels[number], entries: MicroCohorts.make(row, values.scales[0], policy))
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
    private let cells: [UInt32]

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

    /// People of one class by code.
    func withRow<Result>(_ number: Int, _ body: (UnsafeBufferPointer<UInt32>) -> Result) -> Result {
        cells.withUnsafeBufferPointer { cells in
            let start = number * (codes + 1) + 1
            return body(UnsafeBufferPointer(rebasing: cells[start..<start + codes]))
        }
    }
}
