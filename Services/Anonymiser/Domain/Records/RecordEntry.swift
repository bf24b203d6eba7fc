// Entries as they leave: shuffled, under handles that are new in every release.

/// A row of product R. It describes at least `minIndividuals` people, never one, and nothing in it links it to a row of another bucket.
struct RecordEntry: Hashable, Sendable {
    /// A row handle, random, kept nowhere and derived from nobody.
    let id: UInt128
    let type: GroupDataType
    let bucket: TimeSpan
    let granularity: Granularity
    /// By attribute, sorted.
    let classLabels: [String]
    /// By component, in thousandths of the unit.
    let values: [Int]
    /// Constant: the real number is not released.
    let minIndividuals: Int
}

extension RecordTable {
    /// - Parameter generator: the system's in production.
    func entries(
        _ key: TableKey, _ policy: AnonymityPolicy, using generator: inout some RandomNumberGenerator
    ) -> [RecordEntry] {
        classes.flatMap { one in
            var mixed = one.entries
            mixed.shuffle(using: &generator)
            return mixed.map { entry in
                RecordEntry(
                    id: UInt128(generator.next()) << 64 | UInt128(generator.next()), type: key.type, bucket: key.bucket,
                    granularity: key.granularity, classLabels: one.labels, values: entry.values, minIndividuals: policy.entrySize)
            }
        }
    }
}
