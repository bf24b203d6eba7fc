// What is remembered of requests never lets anything leave that the store would not (INV-04, INV-20), and is bounded.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Requests in memory")
struct RequestMemoryTests {
    /// How often the store was asked.
    private final class Count: Sendable {
        private let count = Atomic<Int>(0)
        var value: Int { count.load(ordering: .relaxed) }
        func add() { count.wrappingAdd(1, ordering: .relaxed) }
    }

    private static func ask(
        _ memory: RequestMemory, _ harness: RequestHarness, _ id: RequestID, _ count: Count
    ) async throws -> PayableState? {
        try await memory.find(id) {
            count.add()
            return try await harness.opened.store.read { db in
                try RequestStore().stored(db, id).map { PayableState(stored: $0, isPaid: try harness.stores.bills.isPaid(db, id)) }
            }
        }
    }

    /// A commit that says nothing of any request.
    private static func commit(_ harness: RequestHarness) async throws {
        try await harness.opened.store.write { db in try db.execute(sql: "UPDATE requests SET value_count = value_count + 1") }
    }

    @Test("a request is read once for as long as nothing is committed, and again after any commit")
    func remembers() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.granted(harness.form())
            let (memory, count) = (RequestMemory(store: harness.opened.store), Count())
            for round in 1...3 {
                for _ in 0..<5 { #expect(try await Self.ask(memory, harness, id, count)?.isPaid == true) }
                #expect(count.value == round)
                try await Self.commit(harness)
            }
            let absent = Count()
            for _ in 0..<2 { #expect(try await Self.ask(memory, harness, .random(), absent) == nil) }
            #expect(absent.value == 2, "who is not there may come")
        }
    }

    @Test("INV-20: what was read while something was committed is not relied on afterwards")
    func overtaken() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.granted(harness.form())
            let (memory, count) = (RequestMemory(store: harness.opened.store), Count())
            // The store says that it is paid, and before that is remembered the money goes back.
            let read = try await memory.find(id) {
                let stored = try await harness.stored(id)
                try await harness.giveBack(id)
                return stored.map { PayableState(stored: $0, isPaid: true) }
            }
            #expect(read?.isPaid == true)
            #expect(try await Self.ask(memory, harness, id, count)?.isPaid == false)
            #expect(count.value == 1)
        }
    }

    @Test("what is remembered is bounded")
    func bounded() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.granted(harness.form())
            let stored = try #require(try await harness.stored(id))
            let memory = RequestMemory(store: harness.opened.store)
            for number in 1...2 * RequestMemory.most + 1 {
                _ = try await memory.find(.random()) { PayableState(stored: stored, isPaid: true) }
                #expect(memory.count <= RequestMemory.most && memory.count > 0, "\(number)")
            }
            memory.forget()
            #expect(memory.count == 0)
        }
    }

    @Test("SHR-16, PAY-04, INV-04, INV-20: money that goes back, a type and a request withdrawn stop the very next page, every time")
    func stops() async throws {
        try await RequestHarness.runWithPerson { harness in
            let start = harness.world.now - .seconds(10 * 86_400)
            for type in [Metric.heartRate, .glucose] {
                harness.world.put((0..<5).map { Sample(type: type, at: start + .seconds(Int64($0) * 60), value: 80) })
            }
            let id = try await harness.granted(harness.form(types: [.heartRate, .glucose]))
            func page(_ type: Metric) async throws -> Int {
                try await harness.call("GET", "/requests/\(id)/data?type=\(type.code)").status
            }
            for _ in 0..<5 {
                for _ in 0..<3 { #expect(try await page(.heartRate) == 200) }
                try await harness.contest(id)
                #expect(try await page(.heartRate) == 402)
                try await harness.contest(id, .kept)
            }
            #expect(try await page(.glucose) == 200)
            try await harness.become(.approved, id, types: [.heartRate])
            #expect(try await page(.glucose) == 403)
            #expect(try await page(.heartRate) == 200)
            try await harness.become(.revoked, id)
            #expect(try await page(.heartRate) == 403)
        }
    }
}
