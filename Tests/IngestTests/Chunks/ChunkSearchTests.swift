// Searching chunks gives the same whether the index of times has them, has some of them, or none.

import Contracts
import Foundation
import GRDB
import Logging
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("Searching chunks")
struct ChunkSearchTests {
    private static let metrics: [Metric] = [.heartRate, .bodyTemperature]

    /// A store with chunks, and a list of what must be in it.
    private final class Shelf {
        let store: Store
        private(set) var table: ChunkStore
        private(set) var chunks: [Int64: SealedChunk] = [:]
        private var nextID: Int64 = 1

        init(in folder: URL) async throws {
            store = try Store.open(
                folder.appendingPathComponent("store.db"), applicationID: IngestSchema.applicationID, migrations: IngestSchema.migrations,
                settings: StoreSettings(), logger: Running.quiet)
            table = try await store.read { db in try ChunkStore(db) }
        }

        func insert(_ chunk: SealedChunk, undone: Bool) async throws {
            struct Undone: Error {}
            let (table, id) = (table, nextID)
            nextID += 1
            do {
                try await store.write { db in
                    try table.insert(db, chunk, id: id, sequence: 0)
                    if undone { throw Undone() }
                }
                chunks[id] = chunk
            } catch is Undone {}
        }

        func delete(_ id: Int64) async throws {
            let table = table
            _ = try await store.write { db in try table.delete(db, ids: [id]) }
            chunks[id] = nil
        }

        /// As upkeep does it; half of it where somebody stops it.
        func settle(wholly: Bool) async throws {
            let table = table
            let through = try await store.read { db in try table.highestID(db) }
            let waiting = table.fresh.waiting(through: through)
            try await store.write { db in
                try table.settle(db, ids: wholly ? waiting[...] : waiting.prefix(waiting.count / 2))
                if wholly { try table.noteSettled(db, through: through) }
            }
            if wholly { table.fresh.settled(through: through) }
        }

        func restart() async throws {
            table = try await store.read { db in try ChunkStore(db) }
        }

        /// As if what is read were older than the memory.
        func forget() {
            table.fresh.settled(through: nextID)
            table.fresh.settled(through: nextID + 1)
        }
    }

    private static func chunk(_ random: inout some RandomNumberGenerator) -> SealedChunk {
        let first = Int64.random(in: 0..<10_000, using: &random)
        let last = first + (Bool.random(using: &random) ? 0 : Int64.random(in: 1..<3000, using: &random))
        let series = Series(person: Int64.random(in: 1...2, using: &random), metric: metrics.randomElement(using: &random) ?? .heartRate)
        return SealedChunk(series: series, outline: ChunkOutline(first: first, last: last, count: 2), device: 1, body: [1, 2, 3])
    }

    @Test(
        "ING-11: every search finds what a list of all chunks says, through inserts, undone ones, deletions, fillings and restarts",
        arguments: 1...6)
    func asTheList(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        try await withTemporaryFolder { folder in
            let shelf = try await Shelf(in: folder)
            for round in 0..<60 {
                switch Int.random(in: 0..<12, using: &random) {
                case 0: try await shelf.settle(wholly: true)
                case 1: try await shelf.settle(wholly: false)
                case 2: try await shelf.restart()
                case 3: if let id = shelf.chunks.keys.sorted().randomElement(using: &random) { try await shelf.delete(id) }
                default: for _ in 0..<4 { try await shelf.insert(Self.chunk(&random), undone: Int.random(in: 0..<6, using: &random) == 0) }
                }
                try await compare(shelf, &random, "seed \(seed), round \(round)")
            }
            shelf.forget()
            try await compare(shelf, &random, "seed \(seed), forgotten")
            await shelf.store.close()
        }
    }

    private func compare(_ shelf: Shelf, _ random: inout some RandomNumberGenerator, _ comment: Comment) async throws {
        let start = Int64.random(in: 0..<10_000, using: &random)
        let period = start..<start + Int64.random(in: 1..<4000, using: &random)
        let after = Int64.random(in: 0..<120, using: &random)
        let limit = Int.random(in: 1..<6, using: &random)
        let (table, all) = (shelf.table, shelf.chunks)
        try await shelf.store.read { db in
            let dangling = try Int.fetchOne(db, sql: "SELECT count(*) FROM chunk_times WHERE chunk NOT IN (SELECT id FROM chunks)")
            #expect(dangling == 0, comment)
            for person in [1, 2] as [Int64] {
                let own = all.filter { $0.value.series.person == person }
                #expect(
                    try table.metrics(db, of: person) == Metric.all.filter { metric in own.values.contains { $0.series.metric == metric } },
                    comment)
                for metric in Self.metrics {
                    let series = Series(person: person, metric: metric)
                    let expected = own.filter { $0.value.series == series }
                    let within = expected.filter {
                        $0.value.outline.first < period.upperBound && $0.value.outline.last >= period.lowerBound
                    }
                    #expect(try table.newest(db, of: series) == expected.values.map(\.outline.last).max(), comment)
                    #expect(try table.hasNewer(db, of: series, than: after) == expected.keys.contains { $0 > after }, comment)
                    var found: [Int64] = []
                    try table.each(db, of: series, in: period) { found.append($0.id) }
                    #expect(found.sorted() == within.keys.sorted(), comment)
                    found = []
                    try table.each(db, of: series, in: period, after: after) { found.append($0.id) }
                    #expect(found.sorted() == within.keys.filter { $0 > after }.sorted(), comment)
                    found = []
                    try table.eachOutline(db, of: series, in: period) { id, _, _ in found.append(id) }
                    #expect(found.sorted() == within.keys.sorted(), comment)

                    let needed = try table.needed(db, of: series, in: period, limit: limit)
                    #expect(needed.map(\.first) == needed.map(\.first).sorted() && Set(needed.map(\.id)).count == needed.count, comment)
                    let must =
                        within.filter { $0.value.outline.first < period.lowerBound }.keys
                        + within.filter { $0.value.outline.first >= period.lowerBound }.sorted {
                            ($0.value.outline.first, $0.key) < ($1.value.outline.first, $1.key)
                        }
                        .prefix(limit).map(\.key)
                    let firsts = Set(needed.map(\.first))
                    #expect(must.allSatisfy { id in expected[id].map { firsts.contains($0.outline.first) } ?? false }, comment)
                }
            }
        }
    }

    @Test("ACC-29: erasing a person takes every chunk, also those that the index does not have, and nobody else's")
    func erasure() async throws {
        var random = SeededGenerator(seed: 9)
        try await withTemporaryFolder { folder in
            let shelf = try await Shelf(in: folder)
            for number in 0..<80 {
                try await shelf.insert(Self.chunk(&random), undone: false)
                if number == 40 { try await shelf.settle(wholly: true) }
                if number == 60 { try await shelf.settle(wholly: false) }
            }
            let (table, others) = (shelf.table, shelf.chunks.filter { $0.value.series.person == 2 }.keys.sorted())
            var erased = 0
            while true {
                let count = try await shelf.store.write { db in try table.erase(db, of: 1, limit: 7) }
                erased += count
                if count == 0 { break }
                #expect(count <= 7)
            }
            #expect(erased == 80 - others.count)
            let left = try await shelf.store.read { db in
                (
                    try Int64.fetchAll(db, sql: "SELECT id FROM chunks ORDER BY id"),
                    try Int64.fetchAll(db, sql: "SELECT DISTINCT person FROM chunk_times")
                )
            }
            #expect(left.0 == others && left.1 == [2])
            await shelf.store.close()
        }
    }

    @Test("The id of a chunk that is gone is not given again after a restart")
    func goneIDs() async throws {
        var random = SeededGenerator(seed: 3)
        try await withTemporaryFolder { folder in
            let shelf = try await Shelf(in: folder)
            for _ in 0..<3 { try await shelf.insert(Self.chunk(&random), undone: false) }
            let table = shelf.table
            let before = try await shelf.store.read { db in try table.highestID(db) }
            for id in shelf.chunks.keys.sorted() { try await shelf.delete(id) }
            try await shelf.restart()
            let anew = shelf.table
            #expect(try await shelf.store.read { db in try anew.highestID(db) } == before)
            await shelf.store.close()
        }
    }

    @Test("Of chunks that are deleted those that were there are counted, and the highest of their ids is known to be gone")
    func counted() async throws {
        var random = SeededGenerator(seed: 4)
        try await withTemporaryFolder { folder in
            let shelf = try await Shelf(in: folder)
            for _ in 0..<5 { try await shelf.insert(Self.chunk(&random), undone: false) }
            try await shelf.settle(wholly: true)
            let table = shelf.table
            let (counts, highest, left) = try await shelf.store.write { db in
                let counts = [try table.delete(db, ids: [5, 2, 2, 9]), try table.delete(db, ids: [2, 9]), try table.delete(db, ids: [])]
                return (counts, try table.highestID(db), try Int64.fetchAll(db, sql: "SELECT chunk FROM chunk_times ORDER BY chunk"))
            }
            #expect(counts == [2, 0, 0] && highest == 5 && left == [1, 3, 4])
            await shelf.store.close()
        }
    }

    @Test("A running store's minutes are neither copied nor lost when their index becomes the primary key; what is gone stays gone")
    func keys() async throws {
        try await withTemporaryFolder { folder in
            func open(_ migrations: ArraySlice<Migration>) throws -> Store {
                try Store.open(
                    folder.appendingPathComponent("store.db"), applicationID: IngestSchema.applicationID, migrations: Array(migrations),
                    settings: StoreSettings(), logger: Running.quiet)
            }
            @Sendable func pages(_ db: Database) throws -> [String] {
                try String.fetchAll(
                    db, sql: "SELECT name || ' ' || rootpage FROM sqlite_schema WHERE tbl_name = 'roll_ups' ORDER BY name")
            }
            let old = try open(IngestSchema.migrations.prefix(7))
            let before = try await old.write { db in
                try db.execute(sql: "INSERT INTO people (number, person, added_at) VALUES (1, x'01', 0)")
                for day in 1...200 {
                    try db.execute(sql: "INSERT INTO days (person, metric, day) VALUES (1, 1, ?)", arguments: [day])
                    try db.execute(
                        sql: "INSERT INTO roll_ups VALUES (1, 1, ?, ?)", arguments: [day, Data(repeating: UInt8(day), count: 3000)])
                }
                try db.execute(
                    sql: """
                        INSERT INTO chunks VALUES (7, 1, 1, 0, 5, 5, 1, 1, 1, x'05'), (8, 1, 1, 0, 6, 6, 1, 1, 2, x'05');
                        UPDATE chunk_times_filled SET through = 3;
                        DELETE FROM chunks WHERE id = 8;
                        """)
                return try pages(db)
            }
            await old.close()
            let new = try open(IngestSchema.migrations[...])
            try await new.write { db in
                #expect(try pages(db) == before, "the same pages of the file")
                #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
                #expect(try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").isEmpty)
                let table = try ChunkStore(db)
                #expect(try table.highestID(db) == 8)
                #expect(try ChunkStore.filled(db) == 3)
                #expect(table.fresh.count == 1)
                let (days, key) = (DayStore(), DayKey(series: Series(person: 1, metric: .heartRate), day: 4))
                for minutes in [[1, 2], [3]] as [[UInt8]] {
                    try days.keep(db, key, minutes: minutes, through: 9, isDirty: false)
                    #expect(try days.state(db, key)?.minutes == minutes)
                }
                #expect(throws: DatabaseError.self) { try db.execute(sql: "INSERT INTO roll_ups VALUES (1, 1, 4, x'00')") }
                try db.execute(sql: "DELETE FROM days WHERE day > 150")
                #expect(try Int.fetchAll(db, sql: "SELECT day FROM roll_ups ORDER BY day") == Array(1...150))
            }
            await new.close()
            // By connections that have never seen the declaration of before.
            let again = try open(IngestSchema.migrations[...])
            #expect(try await again.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") } == ["ok"])
            await again.close()
        }
    }

    @Test("Chunks of a store of before, their order and the highest id that there ever was are as before")
    func migration() async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("store.db")
            func open(_ migrations: [Migration]) throws -> Store {
                try Store.open(
                    file, applicationID: IngestSchema.applicationID, migrations: migrations, settings: StoreSettings(),
                    logger: Running.quiet)
            }
            let old = try open(Array(IngestSchema.migrations.prefix(3)))
            try await old.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO people (number, person, added_at) VALUES (1, x'01', 0);
                        INSERT INTO devices (number, device, person, token_lookup, name, added_at) VALUES (1, x'02', 1, x'03', x'04', 0);
                        """)
                for id in 1...5 as ClosedRange<Int64> {
                    try db.execute(
                        sql: "INSERT INTO chunks VALUES (?, 1, ?, 0, ?, ?, 1, 1, ?, x'05')",
                        arguments: [id, Int64(Metric.heartRate.number), 100 - id, 100 - id, id + 50])
                }
                try db.execute(sql: "DELETE FROM chunks WHERE id = 5")
            }
            await old.close()
            let new = try open(IngestSchema.migrations)
            try await new.read { db in
                let table = try ChunkStore(db)
                #expect(try table.highestID(db) == 5 && table.fresh.count == 0)
                var found: [Int64] = []
                try table.each(db, of: Series(person: 1, metric: .heartRate), in: 97..<100) { found.append($0.id) }
                #expect(found == [3, 2, 1])
                #expect(try table.ended(db, of: 1, before: Timestamp(milliseconds: 97), limit: 9).map(\.sequence) == [54])
            }
            await new.close()
        }
    }
}
