// Days that are known to have news, against what the store says.

import Contracts
import Foundation
import GRDB
import Logging
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite struct NotedDaysTests {
    private static let key = DayKey(series: Series(person: 1, metric: .heartRate), day: 20_000)

    private static func withDays(_ body: (Store, DayStore) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = try Store.open(
                folder.appendingPathComponent("store.db"), applicationID: IngestSchema.applicationID, migrations: IngestSchema.migrations,
                settings: StoreSettings(), logger: Running.quiet)
            try await store.write { db in
                try db.execute(sql: "INSERT INTO people (number, person, added_at) VALUES (1, x'01', 0), (2, x'02', 0)")
            }
            try await body(store, DayStore())
            await store.close()
        }
    }

    private static func isDirty(_ store: Store, _ days: DayStore) async throws -> Bool? {
        try await store.read { db in try days.state(db, key)?.isDirty }
    }

    private static func touch(_ store: Store, _ days: DayStore) async throws -> Bool {
        try await store.write { db in try days.touch(db, key) != nil }
    }

    @Test("A day whose note was undone is noted again")
    func undone() async throws {
        struct Undone: Error {}
        try await Self.withDays { store, days in
            await #expect(throws: Undone.self) {
                try await store.write { db in
                    _ = try days.touch(db, Self.key)
                    throw Undone()
                }
            }
            let undone = try await Self.isDirty(store, days)
            #expect(undone == nil)
            #expect(try await Self.touch(store, days))
            #expect(try await Self.isDirty(store, days) == true)
        }
    }

    @Test("A noted day is not written again until upkeep, a merge or an erasure has taken its note away")
    func taken() async throws {
        let takers: [@Sendable (Database, DayStore) throws -> Void] = [
            { try $1.keep($0, Self.key, minutes: [1], through: 7, isDirty: false) },
            { try $1.noteCompacted($0, Self.key, through: 8) },
            { try $1.giveUp($0, Self.key) },
            { try $1.forget($0, of: 1, before: Self.key.day + 1) },
            { _ = try $1.erase($0, of: 1, limit: 10) },
        ]
        try await Self.withDays { store, days in
            for take in takers {
                let written = try #require(try await store.write { db in try days.touch(db, Self.key) })
                days.noted.add(written)
                #expect(try await Self.touch(store, days) == false)
                try await store.write { db in try take(db, days) }
                #expect(try await Self.touch(store, days))
                #expect(try await Self.isDirty(store, days) == true)
            }
        }
    }

    @Test("A note that was taken away in the commit that wrote it is not known")
    func takenAtOnce() {
        let noted = NotedDays()
        let written = noted.written(Self.key)
        noted.forget(Self.key.series)
        noted.add(written)
        #expect(!noted.has(Self.key))
    }

    @Test("What is known of one person's day says nothing of another day, metric or person")
    func others() {
        let noted = NotedDays()
        noted.add(noted.written(Self.key))
        #expect(noted.has(Self.key))
        let series = Self.key.series
        #expect(!noted.has(DayKey(series: series, day: Self.key.day + 1)))
        #expect(!noted.has(DayKey(series: Series(person: 2, metric: .heartRate), day: Self.key.day)))
        #expect(!noted.has(DayKey(series: Series(person: 1, metric: .oxygenSaturation), day: Self.key.day)))
        noted.forget(person: 2)
        #expect(noted.has(Self.key))
    }
}
