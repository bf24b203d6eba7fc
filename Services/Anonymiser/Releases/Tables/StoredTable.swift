// What is kept of one released table: nothing that is not released, no row of anybody, no exact number of people.

/// One type in one bucket. Served to everybody with the same values.
struct StoredTable: Hashable, Sendable {
    /// Entries of records.
    struct Class: Hashable, Sendable {
        /// By attribute of the table.
        let labels: [String]
        /// Ascending by the first component; by entry, then by component, in thousandths of the unit.
        let values: [Int]
    }

    /// One published cell of statistics.
    struct Cell: Hashable, Sendable {
        /// By attribute of the table.
        let labels: [String]
        let count: Int
        /// A standard deviation of the noise, in people.
        let countError: Int
        /// By component, in thousandths of the unit.
        let means: [Int]
        let meanErrors: [Int]
    }

    /// People in one place.
    struct Place: Hashable, Sendable {
        let cell: LocationCell
        /// Whether parts of it stand in the table by themselves.
        let isRest: Bool
        /// Floored to tens.
        let people: Int
    }

    enum Content: Hashable, Sendable {
        case records([Class])
        case statistics([Cell])
        case positions([Place])
    }

    let type: GroupDataType
    let bucket: TimeSpan
    /// Sorted.
    let attributes: [PersonAttribute]
    /// Values of an entry.
    let components: Int
    /// People behind an entry of records, at least.
    let fewest: Int
    let content: Content

    var entryCount: Int {
        switch content {
        case .records(let classes): classes.reduce(0) { $0 + $1.values.count / max(1, components) }
        case .statistics(let cells): cells.count
        case .positions(let places): places.count
        }
    }
}

extension StoredTable {
    init(_ key: TableKey, _ content: Content, _ policy: AnonymityPolicy) {
        self.init(
            type: key.type, bucket: key.bucket, attributes: key.attributes, components: key.type.scales(key.granularity).count,
            fewest: policy.entrySize, content: content)
    }
}

extension StoredTable.Content {
    init(_ table: RecordTable) {
        self = .records(
            table.classes.map { one in
                // There are millions of them: no array for each.
                var values: [Int] = []
                values.reserveCapacity(one.entries.count * (one.entries.first?.second == nil ? 1 : 2))
                for entry in one.entries {
                    values.append(entry.value)
                    if let second = entry.second { values.append(second) }
                }
                return .init(labels: one.labels, values: values)
            })
    }

    init(_ table: LocationTable, _ policy: AnonymityPolicy) {
        self = .positions(table.cells.map { .init(cell: $0.cell, isRest: $0.isRest, people: LocationTable.reported($0.people, policy)) })
    }
}
