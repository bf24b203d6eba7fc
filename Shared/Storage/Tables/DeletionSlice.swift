// Rows that are deleted a few at a time, so that nobody's write waits for all of them.

package import GRDB

/// What one short transaction deletes at most, of several tables one after the other: ask again, with a new one, until nothing was deleted.
package struct DeletionSlice {
    /// Rows of one slice.
    package static let rows = 500

    /// How many were deleted.
    package private(set) var deleted = 0

    package init() {}

    /// Deletes as many of the rows as there is room for.
    /// - Parameters:
    ///   - key: what tells the table's rows apart: the columns of its primary key where it has no row ids.
    ///   - condition: one that an index answers, for it is asked of each slice.
    package mutating func delete(
        _ db: Database, from table: String, key: String = "rowid", where condition: String, _ arguments: StatementArguments
    ) throws {
        guard deleted < Self.rows else { return }
        try db.cachedStatement(
            sql: "DELETE FROM \(table) WHERE (\(key)) IN (SELECT \(key) FROM \(table) WHERE \(condition) LIMIT \(Self.rows - deleted))"
        ).execute(arguments: arguments)
        deleted += db.changesCount
    }
}
