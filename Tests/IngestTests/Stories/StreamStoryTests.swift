// What ingest says on the bus, and what it answers there.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Ingest

@Suite struct StreamStoryTests {
    /// Facts as a consumer got them.
    private final class Heard: Sendable {
        private let events = Mutex<[StreamEvent]>([])
        private let begun = Mutex(false)

        var all: [StreamEvent] { events.withLock { $0 } }
        var hasBegun: Bool { begun.withLock { $0 } }

        func take(_ more: [StreamEvent]) {
            begun.withLock { $0 = true }
            events.withLock { $0 += more }
        }
    }

    private static func hearing<Value>(_ harness: IngestHarness, _ body: (Heard) async throws -> Value) async throws -> Value {
        let heard = Heard()
        let consumer = Task {
            try await harness.hearing.run(from: []) { events, _ in
                heard.take(events)
            }
        }
        defer { consumer.cancel() }
        try await eventually("the consumer follows", isTrue: { heard.hasBegun })
        return try await body(heard)
    }

    @Test("SOS-41: a fact says when the device first tried to send it, when it is published and when it is replayed")
    func firstTry() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let now = Timestamp.now.milliseconds
            let tried = Timestamp(milliseconds: now - 12_000)
            let heard = try await Self.hearing(harness) { heard in
                _ = try await harness.post(
                    "{\"firstTriedAt\":\"\(tried.rfc3339)\",\"entries\":\([Sample.pulse(now - 13_000, 70)].upload)}", token: device.token)
                _ = try await harness.post(
                    "{\"firstTriedAt\":\(now + 600_000),\"entries\":\([Sample.pulse(now - 1000, 71)].upload)}", token: device.token)
                try await eventually("both facts are heard", isTrue: { heard.all.count == 2 })
                return heard.all
            }
            let facts = try heard.map { try JSONDecoder().decode(SamplesRecorded.self, from: Data($0.payload)) }
            #expect(facts.map(\.firstTriedAt) == [tried, nil])
            let replayed = try await harness.sos.replay(
                ReplayStream(stream: heard[0].header.stream, epoch: heard[0].header.epoch, from: 1, through: 2))
            #expect(replayed.facts.map(\.payload) == heard.map { String(decoding: $0.payload, as: UTF8.self) })
        }
    }

    @Test("SOS-09: a fact says when its upload was written, published and replayed; what cannot be is ignored, and the answer says so")
    func sending() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let now = Timestamp.now.milliseconds
            let told = ["\(now - 120_000)", "\(now + 3_600_000)", "\"soon\""]
            let heard = try await Self.hearing(harness) { heard in
                for (number, said) in told.enumerated() {
                    let entries = [Sample.pulse(now - 121_000 + Int64(number), 70)].upload
                    let answer = try await harness.post("{\"sentAt\":\(said),\"entries\":\(entries)}", token: device.token)
                    #expect(answer.status == 200)
                    #expect(answer.text.contains(#""ignored":["sentAt"]"#) == (number > 0), "\(said)")
                }
                try await eventually("all facts are heard", isTrue: { heard.all.count == 3 })
                return heard.all
            }
            let facts = try heard.map { try JSONDecoder().decode(SamplesRecorded.self, from: Data($0.payload)) }
            #expect(facts.map(\.sentAt) == [Timestamp(milliseconds: now - 120_000), nil, nil])
            let replayed = try await harness.sos.replay(
                ReplayStream(stream: heard[0].header.stream, epoch: heard[0].header.epoch, from: 1, through: 3))
            #expect(replayed.facts.map(\.payload) == heard.map { String(decoding: $0.payload, as: UTF8.self) })
        }
    }

    @Test("SOS-28: a replay of one person's facts leaves out what was said of others between them")
    func replayOfOne() async throws {
        try await IngestHarness.run { harness in
            let one = try await harness.addDevice(intervalMs: nil)
            let stream = StreamFamily.samplesStream(of: one.person)
            var other = try await harness.addDevice(intervalMs: nil)
            while StreamFamily.samplesStream(of: other.person) != stream { other = try await harness.addDevice(intervalMs: nil) }
            let heard = try await Self.hearing(harness) { heard in
                let now = Timestamp.now.milliseconds
                for number in 0..<6 {
                    let pulse = Sample.pulse(now - 6000 + Int64(number) * 1000, 70)
                    _ = try await harness.post([pulse], token: number.isMultiple(of: 3) ? one.token : other.token)
                }
                try await eventually("all facts are heard", isTrue: { heard.all.count == 6 })
                return heard.all
            }
            let asked = ReplayStream(stream: stream, epoch: heard[0].header.epoch, from: 1, through: .max, subject: one.person)
            let replayed = try await harness.sos.replay(asked)
            #expect(replayed.facts.map(\.header.sequence) == [1, 4] && replayed.head == 6)
            #expect(replayed.facts.allSatisfy { $0.header.subject == "\(one.person)" })
        }
    }

    @Test("an upload of ten thousand positions is heard as one fact, and replayed alike")
    func largest() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let places = (0..<10_000).map { index in
                Sample(
                    type: .position, at: Timestamp(milliseconds: 1_700_000_000_000 + Int64(index) * 1000), value: nil,
                    position: Position(latitude: 45.4642137, longitude: -100.1895551, accuracy: 12.5))
            }
            // Shorter than what is said of it: within the limit of a body, beyond one mebibyte on the bus.
            let lines = places.map {
                #"{"type":"position","at":\#($0.at.milliseconds),"latitude":45.4642137,"longitude":-100.1895551,"accuracy":12.5}"#
            }
            let heard = try await Self.hearing(harness) { heard in
                let answer = try await harness.post("[" + lines.joined(separator: ",") + "]", token: device.token)
                #expect(try answer.decoded(as: IngestHarness.Answer.self).accepted == 10_000)
                try await eventually("the fact is heard", isTrue: { heard.all.count == 1 })
                return heard.all[0]
            }

            #expect(heard.payload.count > 1 << 20)
            #expect(try JSONDecoder().decode(SamplesRecorded.self, from: Data(heard.payload)).samples == places)
            let replayed = try await harness.sos.replay(
                ReplayStream(stream: heard.header.stream, epoch: heard.header.epoch, from: 1, through: 1))
            #expect(replayed.facts.map(\.payload) == [String(decoding: heard.payload, as: UTF8.self)])
        }
    }

    @Test("ING-15: every durable upload is said in order, and a replay gives the same bytes")
    func published() async throws {
        try await IngestHarness.run { harness in
            let device = try await harness.addDevice(intervalMs: 2000)
            let live = try await Self.hearing(harness) { heard in
                for round in 0..<20 {
                    let samples = (0..<5).flatMap { index -> [Sample] in
                        let at = Int64(round * 10 + index + 1) * 1000
                        return [
                            .pulse(at, 60.5 + Double(index)), Sample(type: .bodyTemperature, at: Timestamp(milliseconds: at), value: 36.6),
                        ]
                    }
                    _ = try await harness.post(samples, token: device.token)
                }
                _ = try await harness.post([.pulse(1000, 60.5)], token: device.token)
                _ = try await harness.post([.pulse(1000, 60.5), .pulse(1, 80)], token: device.token)
                try await eventually("all facts are heard", isTrue: { heard.all.count >= 21 })
                return heard.all
            }
            let stream = StreamFamily.samplesStream(of: device.person)
            #expect(live.map(\.header.sequence) == Array(1...21), "an upload with nothing new says nothing")
            #expect(live.allSatisfy { $0.header.stream == stream && $0.header.subject == device.person.description })
            let facts = try live.map { try JSONDecoder().decode(SamplesRecorded.self, from: Data($0.payload)) }
            #expect(facts.allSatisfy { $0.device == device.device && $0.intervalMs == 2000 })
            #expect(facts[3].samples.map(\.type) == Array(repeating: [Metric.heartRate, .bodyTemperature], count: 5).flatMap { $0 })
            #expect(facts[20].samples == [.pulse(1, 80)])
            let epoch = try #require(live.first?.header.epoch)
            let replay = try await harness.sos.replay(ReplayStream(stream: stream, epoch: epoch, from: 1, through: 100))
            #expect(replay.head == 21 && replay.facts.map(\.header.sequence) == Array(1...21))
            #expect(replay.facts.map { Array($0.payload.utf8) } == live.map(\.payload))
            #expect(replay.facts.map(\.header.at) == live.map(\.header.at))
        }
    }

    @Test("Uploads over many connections are published in the order of their sequences, without gaps")
    func concurrent() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let heard = try await Self.hearing(harness) { heard in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for lane in 0..<8 {
                        group.addTask {
                            for index in 0..<25 {
                                _ = try await harness.post([.pulse(Int64(lane * 1000 + index + 1), 60)], token: device.token)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                try await eventually("all facts are heard", isTrue: { heard.all.count >= 200 })
                return heard.all
            }
            #expect(heard.map(\.header.sequence) == Array(1...200))
        }
    }

    @Test("A person whose key is gone is replayed as erased, and may not upload any more")
    func erased() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            _ = try await harness.post([.pulse(1000, 60)], token: device.token)
            try await harness.ingest.keys.destroyKey(of: device.person)
            let epoch = try await harness.ingest.store.read { db in try StreamLog().epoch(db) }
            let stream = StreamFamily.samplesStream(of: device.person)
            let replay = try await harness.sos.replay(ReplayStream(stream: stream, epoch: epoch, from: 1, through: 9))
            #expect(replay.facts.map(\.header.type) == [StreamHeader.erased] && replay.facts.map(\.payload) == [""])
            #expect(try await harness.post(Sample.pulse(2000, 60).json, token: device.token).status == 503)
            #expect(try await harness.sos.ask(ReadLatest(person: device.person, types: [.heartRate])).samples.isEmpty)
        }
    }

    @Test("Devices are told of and a snapshot holds the active ones")
    func devices() async throws {
        try await IngestHarness.run { harness in
            let first = try await harness.addDevice(intervalMs: 1000)
            let second = try await harness.addDevice(of: first.person, intervalMs: nil)
            #expect(second.person == first.person && second.token != first.token)
            _ = try await harness.trackme.ask(RevokeDevice(device: first.device), deadline: .seconds(5))
            _ = try await harness.trackme.ask(RevokeDevice(device: first.device), deadline: .seconds(5))
            let snapshot = try await harness.sos.snapshot(SnapshotStream(stream: "ingest.devices", after: nil))
            let states = try snapshot.facts.map { try JSONDecoder().decode(DeviceState.self, from: Data($0.payload.utf8)) }
            #expect(snapshot.sequence == 3 && snapshot.next == nil)
            #expect(states.map(\.device) == [second.device] && states[0].active && states[0].person == first.person)
            let replay = try await harness.sos.replay(ReplayStream(stream: "ingest.devices", epoch: snapshot.epoch, from: 1, through: 3))
            let said = try replay.facts.map { try JSONDecoder().decode(DeviceState.self, from: Data($0.payload.utf8)) }
            #expect(said.map(\.active) == [true, true, false] && said.map(\.intervalMs) == [1000, nil, 1000])
        }
    }

    @Test(
        "Questions that cannot be granted are refused",
        arguments: [
            AddDevice(person: .random(), name: "watch", intervalMs: 1000),
            AddDevice(person: nil, name: String(repeating: "x", count: 65), intervalMs: nil),
            AddDevice(person: nil, name: "watch", intervalMs: 0),
        ])
    func refused(_ request: AddDevice) async throws {
        try await IngestHarness.run { harness in
            await #expect(throws: Failure.self) { try await harness.trackme.ask(request, deadline: .seconds(5)) }
            await #expect(throws: Failure.self) { try await harness.trackme.ask(RevokeDevice(device: .random()), deadline: .seconds(5)) }
        }
    }

    @Test("After ingest.db alone was put back nobody could give a device to who was made since and is supervised: their key is enough")
    func knownByTheirKey() async throws {
        try await IngestHarness.run { harness in
            let (person, erased) = (PersonID.random(), PersonID.random())
            for known in [person, erased] { _ = try await harness.ingest.keys.makeKey(for: known) }
            let added = try await harness.addDevice(of: person)
            #expect(added.person == person)
            _ = try await harness.post([.pulse(1000, 60)], token: added.token)
            try await harness.ingest.keys.destroyKey(of: erased)
            await #expect(throws: Failure.self) { try await harness.addDevice(of: erased) }
        }
    }

    @Test("Who begins in the middle asks for the newest entry of each metric")
    func latest() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let late = (0..<50).map { Sample.pulse(Int64($0) * 1000 + 1, Double(60 + $0)) }
            _ = try await harness.post(Array(late.reversed()), token: device.token)
            _ = try await harness.post([.pulse(500, 77)], token: device.token)
            let reply = try await harness.sos.ask(ReadLatest(person: device.person, types: [.heartRate, .position]), deadline: .seconds(5))
            #expect(reply.samples == [late[49]])
        }
    }
}
