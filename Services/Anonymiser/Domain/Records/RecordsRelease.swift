// All tables of one release of records, at one common level of classes.

/// A table that is to be made. `members` are S(t, b): who has no value in the bucket is not among them.
struct PlannedTable: Sendable {
    let values: ValueColumn
    let members: Bitmap
}

extension RecordTables {
    /// Chooses the level for all of them, then makes each; nil for those that are withheld.
    /// - Parameter kept: the level at which another table of these filters was kept already, if one was: it is not chosen anew.
    func release(_ planned: [PlannedTable], kept: Int? = nil) -> [RecordTable?] {
        let first = kept ?? column.step(for: planned.map(\.members), policy)
        return planned.map { table($0.values, members: $0.members, from: first) }
    }
}
