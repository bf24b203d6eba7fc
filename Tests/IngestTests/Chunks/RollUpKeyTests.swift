// The step that gave the table of sums its key, against a table that is not as it was made.

import Foundation
import GRDB
import Logging
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("The key of sums")
struct RollUpKeyTests {
    /// The table with this constraint after the step.
    private static func declared(_ constraint: String, in folder: URL) async throws -> String? {
        let migrations = [
            Migration(1, "sums") { db in
                let columns = ["person", "metric", "day"].map { "\($0) INTEGER NOT NULL" } + [constraint]
                try db.execute(sql: "CREATE TABLE roll_ups (\(columns.joined(separator: ", "))) STRICT")
            },
            Migration(2, "a primary key") { db in try DayStore.declareKey(in: db) },
        ]
        let store = try Store.open(
            folder.appendingPathComponent("sums.db"), applicationID: IngestSchema.applicationID, migrations: migrations,
            logger: Running.quiet)
        let sql = try await store.read { db in try String.fetchOne(db, sql: "SELECT sql FROM sqlite_schema WHERE name = 'roll_ups'") }
        await store.close()
        return sql
    }

    @Test("A table of sums that is declared otherwise stayed without its key, and nobody knew: the start is refused and names it")
    func otherwise() async throws {
        try await withTemporaryFolder { folder in
            let sql = try await Self.declared("UNIQUE (person, metric, day)", in: folder.appendingPathComponent("usual"))
            #expect(sql?.contains("PRIMARY KEY (person, metric, day)") == true)
            await #expect(throws: StoreError.tableNotStrict("roll_ups")) {
                try await Self.declared("UNIQUE (person, day, metric)", in: folder.appendingPathComponent("other"))
            }
        }
    }
}
