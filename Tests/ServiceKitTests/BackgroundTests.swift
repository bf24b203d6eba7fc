// A part of a service whose store has no room for it: the part waits, and the service stays up.

import Foundation
import GRDB
import Logging
import ServiceLifecycle
import Storage
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

@Suite("A part in the background and its store", .timeLimit(.minutes(2)))
struct BackgroundTests {
    private static let quiet = Running.quiet
    private static let notes = [
        Migration(1, "notes") { try $0.execute(sql: "CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT") }
    ]

    private func part(
        pauses: ClosedRange<Duration> = .milliseconds(5)...(.milliseconds(20)), _ work: @escaping @Sendable () async throws -> Void
    ) -> Background {
        Background(work, place: "here:1", logger: Self.quiet, pauses: pauses)
    }

    /// As a service's main runs its parts.
    private func group(_ parts: [any Service]) -> ServiceGroup {
        ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: parts.map {
                    .init(
                        service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup)
                }, logger: Self.quiet))
    }

    @Test("a full store ends no service: the part waits for room and then does its work, and its neighbour notices nothing")
    func full() async throws {
        try await withTemporaryFolder { folder in
            let store = try Store.open(
                folder.appendingPathComponent("notes.db"), applicationID: 1, migrations: Self.notes, logger: Self.quiet)
            try await store.write { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages + 2)")
            }
            let tries = Mutex(0)
            let wasLeft = Mutex(false)
            let working = part {
                tries.withLock { $0 += 1 }
                try await store.write { db in
                    try db.execute(sql: "INSERT INTO notes (text) VALUES (?)", arguments: [String(repeating: "x", count: 40_000)])
                }
            }
            let neighbour = part {
                do {
                    // Sleeping until it is cancelled is all that it does.
                    while true { try await Task.sleep(for: .seconds(3600)) }
                } catch {
                    wasLeft.withLock { $0 = true }
                    throw error
                }
            }
            let running = Task { [group = group([neighbour, working])] in try await group.run() }
            try await eventually("it has begun again, more than once") { tries.withLock { $0 } > 2 }
            #expect(!wasLeft.withLock { $0 }, "nobody told the neighbour to stop")
            // In one commit with a note that finds no room it is refused with it.
            try await eventually("there is room") { try? await store.write { try $0.execute(sql: "PRAGMA max_page_count = 100000") } }
            try await running.value
            #expect(try await store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notes") } == 1)
            await store.close()
        }
    }

    @Test("an overloaded store, and one that undid the group, are waited for too", arguments: [StoreError.full, .busy, .undone(code: 19)])
    func passing(error: StoreError) async throws {
        let tries = Mutex(0)
        try await part {
            let isEarly = tries.withLock { tries in
                tries += 1
                return tries < 4
            }
            if isEarly { throw error }
        }.run()
        #expect(tries.withLock { $0 } == 4)
    }

    @Test(
        "a store that is closed, broken or another's ends the service at once, as before",
        arguments: [StoreError.closed, .broken, .inUse, .cannotOpen(code: 14)])
    func lasting(error: StoreError) async throws {
        let tries = Mutex(0)
        await #expect(throws: error) {
            try await part {
                tries.withLock { $0 += 1 }
                throw error
            }.run()
        }
        #expect(tries.withLock { $0 } == 1)
    }

    @Test("any other error ends the service as before")
    func others() async throws {
        await #expect(throws: CocoaError.self) { try await part { throw CocoaError(.fileReadUnknown) }.run() }
    }

    @Test("a part that waits for its store is stopped at once when the service stops")
    func stopped() async throws {
        let tries = Mutex(0)
        let waiting = part(pauses: .seconds(3600)...(.seconds(3600))) {
            tries.withLock { $0 += 1 }
            throw StoreError.full
        }
        let group = group([waiting])
        let running = Task { try await group.run() }
        try await eventually("it waits") { tries.withLock { $0 } == 1 }
        await group.triggerGracefulShutdown()
        try await running.value
        #expect(tries.withLock { $0 } == 1)
    }
}
