// What the dispatcher learns of people whom it is to watch: what their devices deliver, and the weeks before, in pages.

import Bus
import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Ingest

@Suite struct WatchedPeopleStoryTests {
    private static func abilities(_ person: PersonID, _ harness: IngestHarness) async throws -> [ReadAbilities.Ability] {
        try await harness.sos.ask(ReadAbilities(person: person), deadline: .seconds(5)).devices
    }

    @Test("SOS-02: what active devices deliver is told, with their intervals; of strangers and removed devices nothing")
    func abilities() async throws {
        try await IngestHarness.run { harness in
            #expect(try await Self.abilities(.random(), harness).isEmpty)
            let watch = try await harness.addDevice(intervalMs: 5000)
            let known = try await Self.abilities(watch.person, harness)
            #expect(known.count == 1 && known[0].intervalMs == 5000)
            #expect(known[0].metrics.contains(.heartRate) && known[0].metrics.contains(.position))
            _ = try await harness.trackme.ask(RevokeDevice(device: watch.device), deadline: .seconds(5))
            #expect(try await Self.abilities(watch.person, harness).isEmpty)
        }
    }

    @Test("SOS-07: a history comes as minutes or entries, in order and in pages that go on; nobody else may ask, and not for positions")
    func history() async throws {
        try await IngestHarness.runWithDevice { harness, watch in
            let start = Timestamp(milliseconds: (Timestamp.now.milliseconds / 86_400_000 - 2) * 86_400_000)
            let samples = (0..<120).map { Sample.pulse(start.milliseconds + Int64($0) * 1000, Double(60 + $0 % 60)) }
            #expect(try await harness.post(samples, token: watch.token).accepted == 120)
            func ask(_ grain: ReadHistory.Grain, from: Int64, to: Int64) async throws -> ReadHistory.Reply {
                try await harness.sos.ask(
                    ReadHistory(
                        person: watch.person, type: .heartRate, grain: grain, from: start + .seconds(from), to: start + .seconds(to)),
                    deadline: .seconds(5))
            }
            let minutes = try await ask(.minute, from: 0, to: 86_400)
            #expect(minutes.times == [start, start + .seconds(60)] && minutes.next == nil)
            #expect(
                minutes.values == [89.5, 89.5] && minutes.least == [60, 60] && minutes.greatest == [119, 119] && minutes.counts == [60, 60])
            let entries = try await ask(.entry, from: 30, to: 90)
            #expect(entries.times.first == start + .seconds(30) && entries.times.count == 60 && entries.least == nil)
            #expect(entries.values.first == 90 && entries.next == nil)
            #expect(try await ask(.entry, from: 500, to: 600).times.isEmpty)
            await #expect(throws: Failure.self) { _ = try await ask(.entry, from: 10, to: 5) }
            let places = ReadHistory(person: watch.person, type: .position, grain: .entry, from: start, to: start + .seconds(60))
            await #expect(throws: Failure.self) { _ = try await harness.sos.ask(places, deadline: .seconds(5)) }
            let stranger = await #expect(throws: Failure.self) { _ = try await harness.trackme.ask(places, deadline: .seconds(5)) }
            #expect(stranger?.code == .forbidden)
        }
    }
}
