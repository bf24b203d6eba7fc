// Columns of another type than was written, as a flipped byte of the file makes them: told, and the process goes on.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Anonymiser

@Suite("Damaged columns of the anonymiser")
struct DamagedColumnTests {
    private static let midnight = CohortStage.midnight

    /// Makes a table anew without types, as only a damaged file can be.
    private static func loosen(_ stage: CohortStage, _ table: String, _ columns: [String], set damaged: String) async throws {
        try await stage.store.write { db in
            try db.execute(
                sql: """
                    ALTER TABLE \(table) RENAME TO before;
                    CREATE TABLE \(table) (\(columns.joined(separator: ", ")));
                    INSERT INTO \(table) SELECT \(columns.joined(separator: ", ")) FROM before;
                    DROP TABLE before;
                    UPDATE \(table) SET \(damaged);
                    """)
        }
    }

    @Test(
        "a chunk or an open hour in which another type stands than was written is an error, and ends no process",
        arguments: ["sealed = NULL", "sealed = 7", "sealed = 'text'", "sealed = 0.5"])
    func damaged(_ damaged: String) async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            let person = PersonID.random()
            try await stage.say(person, CohortStage.profile(since: Self.midnight, [.heartRate, .position]))
            try await stage.say(CohortStage.rate(person, Self.midnight, 60))
            try await stage.close(through: Self.midnight + 24)
            try await stage.say(CohortStage.rate(person, Self.midnight + 24, 60))
            let data = await stage.population.current()
            try await Self.loosen(stage, "cohort_chunks", ["chunk", "kind", "start", "sealed"], set: damaged)
            #expect(throws: (any Error).self) { try data.rate(of: 0, from: Self.midnight) }
            await #expect(throws: (any Error).self) { try await stage.erase(person, .data, at: Self.midnight + 24) }
            try await Self.loosen(stage, "cohort_open_hours", ["hour", "row", "sealed"], set: damaged)
            await #expect(throws: (any Error).self) { try await stage.close(through: Self.midnight + 25) }
            await stage.store.close()
        }
    }

    @Test(
        "a chunk whose kind or hour is no number is an error to whoever erases, and ends no process",
        arguments: ["kind = 'x'", "start = NULL"])
    func damagedPlace(_ damaged: String) async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            let person = PersonID.random()
            try await stage.say(person, CohortStage.profile(since: Self.midnight))
            try await stage.say(CohortStage.rate(person, Self.midnight, 60))
            try await stage.close(through: Self.midnight + 1)
            try await Self.loosen(stage, "cohort_chunks", ["chunk", "kind", "start", "sealed"], set: damaged)
            await #expect(throws: (any Error).self) { try await stage.erase(person, .account, at: Self.midnight) }
            await stage.store.close()
        }
    }
}
