// What ingest says of people who share anonymously: sums of closed hours, once, of what is shared, and of nobody else.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("Sums for group data")
struct CohortStoryTests {
    private static let hour = CohortHour.width

    /// A whole hour, long enough ago for some hours to be over.
    private static var start: Int64 { CohortHour.start(of: Timestamp.now.milliseconds) - 8 * hour }

    private static func pulses(since time: Int64) -> [CohortOptIn] {
        [CohortOptIn(metric: .heartRate, since: Timestamp(milliseconds: time))]
    }

    /// Each minute of some hours.
    private static func minutes(_ hours: Range<Int64>, since start: Int64) -> [Sample] {
        (hours.lowerBound * 60..<hours.upperBound * 60).map { .pulse(start + $0 * 60_000, 60 + Double($0 % 20)) }
    }

    /// Values of three types at times of five hours, each time of a type once; and of the heart rate exactly at a time and just before.
    private static func made(_ generator: inout SeededGenerator, from start: Int64, around time: Int64) -> [Sample] {
        var samples: [Sample] = []
        for metric in [Metric.heartRate, .bodyTemperature, .glucose] {
            var times: Set<Int64> = metric == .heartRate ? [time - 1, time] : []
            while times.count < 400 { times.insert(start + Int64.random(in: 0..<5 * hour, using: &generator)) }
            for at in times.sorted() {
                let value = Double(Int.random(in: 360_000..<499_999, using: &generator)) / 10_000
                samples.append(Sample(type: metric, at: Timestamp(milliseconds: at), value: value))
            }
        }
        return samples.shuffled(using: &generator)
    }

    /// What is to be said, counted sample by sample.
    private static func expected(_ samples: [Sample], of person: PersonID, _ shares: [CohortOptIn]) -> [CohortHourSummed] {
        var sums: [Int64: [Metric: (count: Int, sum: Int)]] = [:]
        for sample in samples {
            guard let share = shares.first(where: { $0.metric == sample.type }), sample.at >= share.since, let value = sample.value else {
                continue
            }
            let start = sample.at.milliseconds / hour * hour
            let known = sums[start]?[sample.type] ?? (count: 0, sum: 0)
            sums[start, default: [:]][sample.type] = (count: known.count + 1, sum: known.sum + Int((value * 1000).rounded()))
        }
        return sums.keys.sorted().map { start in
            let ordered = (sums[start] ?? [:]).sorted { $0.key.number < $1.key.number }
            return CohortHourSummed(
                person: person, hour: Timestamp(milliseconds: start),
                sums: ordered.map { .init(metric: $0.key, count: $0.value.count, sum: $0.value.sum) })
        }
    }

    @Test("ANO-09: an hour's sums are those of the shared types since each is shared, and of nothing else")
    func sums() async throws {
        let seed = UInt64.random(in: .min ... .max)
        try await IngestHarness.runWithDevice { harness, watch in
            var generator = SeededGenerator(seed: seed)
            let start = Self.start
            let since = start + 1_234_567
            let glucose = CohortOptIn(metric: .glucose, since: Timestamp(milliseconds: start + 2 * Self.hour + 7))
            let shares = Self.pulses(since: since) + [glucose]
            try await harness.share(watch.person, shares)
            let samples = Self.made(&generator, from: start, around: since)
            for first in stride(from: 0, to: samples.count, by: 150) {
                let some = Array(samples[first..<min(samples.count, first + 150)])
                #expect(try await harness.post(some, token: watch.token).accepted == some.count)
                // Some of the chunks are in the index of times, some are not.
                if first == 600 { try await harness.ingest.upkeep.round(now: .now) }
            }
            try await harness.closeHours(before: start + 5 * Self.hour)
            let said = try await harness.cohortHours()
            #expect(said == Self.expected(samples, of: watch.person, shares), "seed \(seed)")
            #expect(said.count == 5 && said[0].sums.map(\.metric) == [.heartRate], "seed \(seed)")
        }
    }

    @Test("nothing is said of who shares nothing, nor, after the last opt-out, of hours that were not said yet")
    func nobodyElse() async throws {
        try await IngestHarness.run { harness in
            let start = Self.start
            let (sharing, leaving, quiet) = (try await harness.addDevice(), try await harness.addDevice(), try await harness.addDevice())
            let canary = try await harness.sos.ask(AddDevice(person: .random(), name: "canary", intervalMs: nil), deadline: .seconds(5))
            for watch in [sharing, leaving, quiet] {
                _ = try await harness.post(Self.minutes(0..<4, since: start), token: watch.token)
            }
            _ = try await harness.sos.ask(
                RecordEntries(person: canary.person, samples: [.pulse(start + 1000, 80)]), deadline: .seconds(5))
            for person in [sharing.person, leaving.person, canary.person] { try await harness.share(person, Self.pulses(since: start)) }
            try await harness.share(quiet.person, nil)
            try await harness.closeHours(before: start + 2 * Self.hour)
            let first = try await harness.cohortHours()
            #expect(Set(first.map(\.person)) == [sharing.person, leaving.person] && first.count == 4)

            try await harness.share(leaving.person, nil)
            try await harness.closeHours(before: start + 4 * Self.hour)
            let later = try await harness.cohortHours().filter { $0.hour.milliseconds >= start + 2 * Self.hour }
            #expect(later.map(\.person) == [sharing.person, sharing.person])
        }
    }

    @Test("after a restart no hour is said twice and none is missed")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let start = Self.start
            let watch = try await IngestHarness.run(in: folder) { harness in
                let watch = try await harness.addDevice()
                try await harness.share(watch.person, Self.pulses(since: start))
                _ = try await harness.post(Self.minutes(0..<5, since: start), token: watch.token)
                try await harness.closeHours(before: start + 2 * Self.hour)
                return watch
            }
            try await IngestHarness.run(in: folder) { harness in
                try await harness.closeHours(before: start + 2 * Self.hour)
                try await harness.closeHours(before: start + 5 * Self.hour)
                let said = try await harness.cohortHours()
                #expect(said.map(\.hour.milliseconds) == (0..<5).map { start + $0 * Self.hour })
                #expect(said.allSatisfy { $0.person == watch.person && $0.sums.map(\.count) == [60] })
            }
        }
    }

    @Test("what is delivered of an hour after it was said changes nothing, nor does a type that is shared later")
    func late() async throws {
        try await IngestHarness.runWithDevice { harness, watch in
            let start = Self.start
            try await harness.share(watch.person, Self.pulses(since: start))
            _ = try await harness.post(Self.minutes(0..<2, since: start), token: watch.token)
            try await harness.closeHours(before: start + 2 * Self.hour)
            let said = try await harness.cohortHours()
            let glucose = Sample(type: .glucose, at: Timestamp(milliseconds: start), value: 90)
            _ = try await harness.post(Self.minutes(0..<3, since: start + 1) + [glucose], token: watch.token)
            try await harness.share(
                watch.person, Self.pulses(since: start) + [CohortOptIn(metric: .glucose, since: Timestamp(milliseconds: start))])
            try await harness.closeHours(before: start + 3 * Self.hour)
            let all = try await harness.cohortHours()
            #expect(Array(all.prefix(2)) == said && all.map(\.hour.milliseconds) == (0..<3).map { start + $0 * Self.hour })
        }
    }

    @Test("ANO-10: places become squares of a kilometre, and nothing finer stands in the fact")
    func places() async throws {
        try await IngestHarness.runWithDevice { harness, watch in
            let start = Self.start
            try await harness.share(watch.person, [CohortOptIn(metric: .position, since: Timestamp(milliseconds: start))])
            let places = (0..<30).map {
                Position(latitude: 45.464_211 + Double($0) / 1000, longitude: 9.191_383, altitude: 121.5, accuracy: 4)
            }
            let samples = places.enumerated().map { index, place in
                Sample(type: .position, at: Timestamp(milliseconds: start + Int64(index) * 1000), value: nil, position: place)
            }
            // A place that comes along with a pulse is not shared as a place.
            let pulse = Sample(
                type: .heartRate, at: Timestamp(milliseconds: start), value: 60, position: Position(latitude: 41.9, longitude: 12.5))
            _ = try await harness.post(samples + [pulse], token: watch.token)
            try await harness.closeHours(before: start + Self.hour)
            let cells = Set(places.compactMap { GridCell(latitude: $0.latitude, longitude: $0.longitude) }).sorted()
            let said = try await harness.cohortHours()
            #expect(said == [CohortHourSummed(person: watch.person, hour: Timestamp(milliseconds: start), sums: [], cells: cells)])
            #expect(cells.count < places.count)
            let row = try #require(try await harness.cohortRows().first)
            let text = String(decoding: try #require(try harness.ingest.cohort.events.render(row)), as: UTF8.self)
            #expect(!["45.", "9.19", "latitude", "accuracy"].contains { text.contains($0) })
        }
    }

    @Test("hours of whoever is erased are replayed as erased and the row goes; whoever's key or row cannot be read holds up nobody")
    func erased() async throws {
        try await IngestHarness.run { harness in
            let start = Self.start
            var watches: [AddDevice.Reply] = []
            for _ in 0..<4 {
                let watch = try await harness.addDevice()
                try await harness.share(watch.person, Self.pulses(since: start))
                _ = try await harness.post(Self.minutes(0..<4, since: start), token: watch.token)
                watches.append(watch)
            }
            let (staying, keyless, erased, damaged) = (watches[0].person, watches[1].person, watches[2].person, watches[3].person)
            try await harness.closeHours(before: start + 2 * Self.hour)
            #expect(try await harness.cohortHours().count == 8)

            try await harness.ingest.keys.destroyKey(of: keyless)
            let order = PersonErased(erasure: .random(), person: erased, scope: .account, orderedAt: .now)
            let erasures = harness.ingest.deviceModule.erasures
            try await harness.ingest.store.write { db in
                try erasures.add(db, order)
                try db.execute(
                    sql: "UPDATE cohort_people SET shares = zeroblob(length(shares)) WHERE person = ?", arguments: [Data(damaged.bytes)])
            }
            try await eventually(
                "the rows are emptied",
                isTrue: { try await harness.cohortRows().count { $0.isErased && $0.subject == nil && $0.body.isEmpty } == 2 })
            let rows = try await harness.cohortRows().filter { $0.type == CohortHourSummed.type }
            #expect(!rows.contains { $0.subject == erased })
            for row in rows { #expect(try (harness.ingest.cohort.events.render(row) == nil) == (row.subject == keyless)) }
            try await eventually("the row is gone", isTrue: { try await harness.shares(of: erased) == nil })

            try await harness.closeHours(before: start + 4 * Self.hour)
            let later = try await harness.cohortHours().filter { $0.hour.milliseconds >= start + 2 * Self.hour }
            #expect(later.map(\.person) == [staying, staying])
        }
    }

    @Test("hours are closed only after everybody's are said, once, in order; nothing is closed before anybody shares")
    func closing() async throws {
        try await IngestHarness.run { harness in
            let start = Self.start
            try await harness.ingest.cohort.closing.round(now: .now)
            #expect(try await harness.cohortRows().isEmpty)
            var people: [PersonID] = []
            for back in Int64(0)..<3 {
                let watch = try await harness.addDevice()
                // More than one day behind is said in several transactions.
                let since = start - back * 40 * Self.hour
                _ = try await harness.post([.pulse(since, 60), .pulse(start + 1, 61)], token: watch.token)
                try await harness.share(watch.person, Self.pulses(since: since))
                people.append(watch.person)
            }
            for hour in [Int64(1), 1, 3] { try await harness.closeHours(before: start + hour * Self.hour) }
            var closed: [Int64] = []
            for row in try await harness.cohortRows() {
                let payload = Data(try #require(try harness.ingest.cohort.events.render(row)))
                if row.type == CohortHoursClosed.type {
                    #expect(row.subject == nil)
                    closed.append(try JSONDecoder().decode(CohortHoursClosed.self, from: payload).through.milliseconds)
                } else {
                    #expect(try JSONDecoder().decode(CohortHourSummed.self, from: payload).hour.milliseconds >= closed.last ?? .min)
                }
            }
            #expect(closed == [start + Self.hour, start + 3 * Self.hour])
            let said = try await harness.cohortHours()
            #expect(said.count == 5 && Set(said.map(\.person)) == Set(people))
        }
    }

    @Test("whoever a snapshot of consent no longer names shares nothing any more, and keeps the account")
    func snapshot() async throws {
        try await withTemporaryFolder { folder in
            let start = Self.start
            let watch = try await IngestHarness.run(in: folder) { harness in
                let watch = try await harness.addDevice()
                try await harness.share(watch.person, Self.pulses(since: start))
                return watch
            }
            for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            where file.lastPathComponent.hasPrefix("talking-consent.db") {
                try FileManager.default.removeItem(at: file)
            }
            try await IngestHarness.run(in: folder) { harness in
                try await eventually("the snapshot is taken", isTrue: { try await harness.shares(of: watch.person) == nil })
                let accounts = try await harness.ingest.store.read { db in try KnownAccountStore().all(db) }
                #expect(accounts.map(\.person) == [watch.person])
            }
        }
    }
}
