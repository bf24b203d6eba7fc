// The way past a disk that is slow or refuses: fresh entries are published before, or without, being stored.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Ingest

@Suite("Fast path")
struct FastPathTests {
    /// What the dispatcher's place on the bus hears, by both ways.
    final class Heard: Sendable {
        private let state = Mutex<(early: [StreamEvent], stored: [StreamEvent], hasBegun: Bool)>(([], [], false))

        var early: [StreamEvent] { state.withLock { $0.early } }
        var stored: [StreamEvent] { state.withLock { $0.stored } }
        var hasBegun: Bool { state.withLock { $0.hasBegun } }

        func take(early event: StreamEvent) { state.withLock { $0.early.append(event) } }
        func take(_ events: [StreamEvent]) {
            state.withLock { state in
                state.hasBegun = true
                state.stored += events
            }
        }
    }

    static func hearing<Value>(_ harness: IngestHarness, _ body: (Heard) async throws -> Value) async throws -> Value {
        let heard = Heard()
        let consumer = Task {
            try await harness.hearing.run(
                from: [], apply: { events, _ in heard.take(events) },
                provisional: { heard.take(early: $0) })
        }
        defer { consumer.cancel() }
        try await eventually("the consumer follows", isTrue: { heard.hasBegun })
        return try await body(heard)
    }

    /// Another connection that keeps the writer from its transaction, as a hanging disk would.
    private static func held(_ file: URL) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        // Ingest may be writing something of its own just now.
        configuration.busyMode = .timeout(20)
        let other = try DatabaseQueue(path: file.path, configuration: configuration)
        try other.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") }
        return other
    }

    private static func release(_ other: DatabaseQueue) throws {
        try other.inDatabase { try $0.execute(sql: "ROLLBACK") }
        try other.close()
    }

    static func samples(_ event: StreamEvent) throws -> [Sample] {
        try JSONDecoder().decode(SamplesRecorded.self, from: Data(event.payload)).samples
    }

    @Test("P6: while a commit hangs the fresh entries are heard provisionally, without a place in the stream; the stored fact follows")
    func slow() async throws {
        try await withTemporaryFolder { folder in
            try await IngestHarness.run(in: folder) { harness in
                let device = try await harness.addDevice()
                try await Self.hearing(harness) { heard in
                    let other = try Self.held(folder.appendingPathComponent("store/ingest.db"))
                    let now = Timestamp(milliseconds: Timestamp.now.milliseconds)
                    let fresh = [Sample.pulse(now.milliseconds - 1000, 31), Sample.pulse(now.milliseconds, 30)]
                    let old = Sample.pulse(now.milliseconds - 3_600_000, 29)
                    async let answer = harness.post([old] + fresh, token: device.token)
                    let early = try await eventually("it is heard early") { heard.early.first }
                    let wasStored = !heard.stored.isEmpty
                    try Self.release(other)
                    #expect(!wasStored)
                    #expect(try await answer.accepted == 3)

                    #expect(early.header.sequence == 0 && early.header.head == 0)
                    #expect(early.header.type == SamplesRecorded.provisionalType && early.header.subject == "\(device.person)")
                    #expect(try Self.samples(early) == fresh)
                    let stored = try await eventually("it is heard in its place") { heard.stored.first }
                    #expect(stored.header.sequence == 1 && stored.header.type == SamplesRecorded.type)
                    #expect(stored.header.at == early.header.at && stored.header.stream == early.header.stream)
                    #expect(try Self.samples(stored) == [old] + fresh)
                    #expect(heard.early.count == 1)
                }
            }
        }
    }

    @Test("Entries that no alarm depends on any more, and places alone, do not take the fast path")
    func notFresh() async throws {
        try await withTemporaryFolder { folder in
            try await IngestHarness.run(in: folder) { harness in
                let device = try await harness.addDevice()
                try await Self.hearing(harness) { heard in
                    let other = try Self.held(folder.appendingPathComponent("store/ingest.db"))
                    let now = Timestamp.now.milliseconds
                    async let old = harness.post([.pulse(now - 3_600_000, 31)], token: device.token)
                    let place = Sample(
                        type: .position, at: Timestamp(milliseconds: now), value: nil, position: Position(latitude: 45, longitude: 9))
                    async let places = harness.post([place], token: device.token)
                    async let fresh = harness.post([.pulse(now, 32)], token: device.token)
                    try await eventually("the fresh one is heard early", isTrue: { !heard.early.isEmpty })
                    try Self.release(other)
                    #expect(try await (old.accepted, places.accepted, fresh.accepted) == (1, 1, 1))
                    try await eventually("all are stored", isTrue: { heard.stored.count == 3 })
                    #expect(try heard.early.map(Self.samples) == [[.pulse(now, 32)]])
                }
            }
        }
    }

    @Test("SOS-10: what is said at once is a recent heart rate or pressure out of everybody's range, and nothing that was sent before")
    func atOnce() {
        func isAlarming(_ metric: Metric, _ values: [(at: Int64, value: Double)], after stored: Int64 = .min) -> Bool {
            var group = MetricGroup(metric: metric)
            for (index, entry) in values.enumerated() {
                let sample = Sample(type: metric, at: Timestamp(milliseconds: entry.at), value: entry.value)
                group.append(sample, index: Int32(index))
            }
            return FastPath.isAlarming(group, since: 1000, after: stored)
        }
        #expect(isAlarming(.heartRate, [(2000, 170)]) && isAlarming(.heartRate, [(2000, 44.9), (3000, 60)]))
        #expect(isAlarming(.bloodPressureMax, [(1000, 171)]) && isAlarming(.bloodPressureMin, [(1000, 101)]))
        // On the bounds, and within.
        #expect(!isAlarming(.heartRate, [(2000, 45), (3000, 120)]) && !isAlarming(.bloodPressureMax, [(2000, 20)]))
        // Nobody is alarmed by these unasked.
        #expect(!isAlarming(.oxygenSaturation, [(2000, 60)]))
        // Old, or not later than what is stored.
        #expect(!isAlarming(.heartRate, [(999, 170), (2000, 60)]))
        #expect(!isAlarming(.heartRate, [(2000, 170)], after: 2000) && isAlarming(.heartRate, [(2000, 170), (2001, 171)], after: 2000))
    }

    @Test("P6: a full disk answers 507, and the critical entry is heard all the same; nothing of it is in the log")
    func full() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            try await Self.hearing(harness) { heard in
                try await harness.ingest.store.write { db in
                    let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                    try db.execute(sql: "PRAGMA max_page_count = \(pages)")
                }
                let start = Timestamp.now.milliseconds - 60_000
                var accepted = 0
                var refused: Int64?
                for index in 0..<Int64(5000) where refused == nil {
                    let response = try await harness.post(Sample.pulse(start + index, 31).json, token: device.token)
                    if response.status == 200 { accepted += 1 } else { refused = start + index }
                    #expect(response.status == 200 || response.status == 507)
                }
                let (critical, count) = (Sample.pulse(try #require(refused), 31), accepted)
                try await eventually(
                    "the refused entry is heard", isTrue: { try heard.early.contains { try Self.samples($0) == [critical] } })
                try await eventually("everything stored is heard", isTrue: { heard.stored.count == count })
                #expect(try heard.stored.allSatisfy { try Self.samples($0) != [critical] })
                #expect(try await harness.samples(.heartRate, token: device.token).count == count)
            }
        }
    }

    @Test(
        "SOS-34, ING-20: the tracked watch lay in its charger, and the heart on the other wrist was heard by nobody: it is heard, and not stored"
    )
    func missedSource() async throws {
        try await IngestHarness.runWithWatch { harness, account, watch in
            let band = try await harness.pair(account, "Band", measures: [.heartRate])
            try await Self.hearing(harness) { heard in
                let now = Timestamp.now.milliseconds
                // Nobody misses what the watch may say at any moment.
                #expect(try await harness.post([.pulse(now, 31)], token: band.token).rejected.count == 1)
                let report = try await harness.send("POST", "/ingest/v1/device-state", ["charging": true], token: watch.token)
                #expect(report.status == 200)
                #expect(try await harness.post([.pulse(now + 1, 32)], token: band.token).rejected.count == 1)
                let early = try await eventually("it is heard") { heard.early.first }
                #expect(early.header.type == SamplesRecorded.refusedType && early.header.subject == "\(account.person)")
                #expect(try Self.samples(early) == [.pulse(now + 1, 32)])
                #expect(heard.stored.isEmpty)
            }
        }
    }
}
