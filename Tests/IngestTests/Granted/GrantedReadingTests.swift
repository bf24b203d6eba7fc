// What third parties get under grants, through real stores and sockets.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("Reading under grants")
struct GrantedReadingTests {
    /// 2026-01-10T00:00:00Z.
    private static let day: Int64 = 1_768_003_200_000
    private static let minute: Int64 = 60_000

    private static func pulses(_ seconds: Range<Int64>, every step: Int64 = 1000) -> [Sample] {
        stride(from: day + seconds.lowerBound * 1000, to: day + seconds.upperBound * 1000, by: Int(step)).map {
            .pulse($0, Double(50 + ($0 / 1000) % 100))
        }
    }

    @Test("SHR-11, NFR-14: a copy of exactly the granted type and period is handed out, and nothing of others or of other times")
    func exactScope() async throws {
        try await GrantedHarness.run { harness in
            let others = Self.pulses(0..<600).map { Sample(type: .bodyTemperature, at: $0.at, value: 36.6) }
            let person = try await harness.addPerson([Self.pulses(0..<600) + others, Self.pulses(600..<900)])
            _ = try await harness.addPerson([Self.pulses(100..<200)])
            let grant = try await harness.saying(GrantedHarness.grant(to: person, Self.day + 100_500..<Self.day + 700_000))
            let samples = try await harness.readAll(grant, limit: 97)
            #expect(samples == Self.pulses(101..<700))
            #expect(await harness.refusal(grant, type: .bodyTemperature) == .forbidden)
            #expect(await harness.refusal(grant, Self.day..<Self.day + 200_000) == .forbidden)
            #expect(await harness.refusal(grant, Self.day + 600_000..<Self.day + 700_001) == .forbidden)
            let part = try await harness.read(grant, Self.day + 200_000..<Self.day + 202_000)
            #expect(part.samples == Self.pulses(200..<202) && part.next == nil)
            #expect(await harness.refusal(GrantedHarness.grant(to: person, Self.day..<Self.day + 1000)) == .notFound)
            var stranger = grant
            stranger.organisation = .random()
            #expect(await harness.refusal(stranger) == .notFound)
        }
    }

    @Test("SHR-11: the place where a pulse was measured does not leave with the pulse")
    func noPlaces() async throws {
        try await GrantedHarness.run { harness in
            let place = Position(latitude: 45.4, longitude: 9.2)
            let samples = Self.pulses(0..<10).flatMap {
                [
                    Sample(type: .heartRate, at: $0.at, value: $0.value, position: place),
                    Sample(type: .position, at: $0.at, value: nil, position: place),
                ]
            }
            let person = try await harness.addPerson([samples])
            let both = try await harness.saying(
                GrantedHarness.grant(to: person, types: [.heartRate, .position], Self.day..<Self.day + 10_000))
            let pulses = try await harness.read(both)
            #expect(pulses.samples.count == 10 && pulses.samples.allSatisfy { $0.position == nil && $0.value != nil })
            let places = try await harness.read(both, type: .position)
            #expect(places.samples.count == 10 && places.samples.allSatisfy { $0.position == place && $0.value == nil })
        }
    }

    @Test(
        "SHR-12: nothing finer than the grant's step leaves: 250 Hz becomes one a second, minutes and hours are means over their own entries"
    )
    func granularity() async throws {
        try await GrantedHarness.run { harness in
            let fast = Self.pulses(0..<20, every: 4)
            let slow = Self.pulses(3600..<3600 * 4, every: 1000)
            let person = try await harness.addPerson([fast, slow])
            let window = Self.day..<Self.day + 3600 * 4000
            let seconds = try await harness.saying(GrantedHarness.grant(to: person, window, .seconds))
            let first = try await harness.read(seconds, Self.day..<Self.day + 20_000, limit: 7)
            #expect(first.samples.map(\.at.milliseconds) == (0..<7).map { Self.day + $0 * 1000 })
            #expect(first.next == "\(Self.day + 6000)")
            let minutes = try await harness.saying(GrantedHarness.grant(to: person, window, .minutes))
            let hours = try await harness.saying(GrantedHarness.grant(to: person, window, .hours))
            for (grant, width) in [(minutes, Self.minute), (hours, 60 * Self.minute)] {
                let samples = try await harness.readAll(grant, limit: 50)
                let expected = Dictionary(grouping: fast + slow) { $0.at.milliseconds / width * width }
                #expect(samples.map(\.at.milliseconds) == expected.keys.sorted())
                for sample in samples {
                    let values = expected[sample.at.milliseconds]?.compactMap(\.value) ?? []
                    #expect(abs((sample.value ?? 0) - values.reduce(0, +) / Double(values.count)) < 1e-9)
                }
            }
        }
    }

    @Test("SHR-11, SHR-12: a window that cuts a minute or an hour gives means over what lies inside it alone, dated inside it")
    func cutSteps() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([Self.pulses(0..<7200)])
            for (granularity, width) in [(GrantGranularity.minutes, Self.minute), (.hours, 60 * Self.minute)] {
                let window = Self.day + 90_500..<Self.day + 5_000_500
                let grant = try await harness.saying(GrantedHarness.grant(to: person, window, granularity))
                let samples = try await harness.readAll(grant, limit: 3)
                let inside = Self.pulses(0..<7200).filter { window.contains($0.at.milliseconds) }
                let expected = Dictionary(grouping: inside) { max($0.at.milliseconds / width * width, window.lowerBound) }
                #expect(samples.map(\.at.milliseconds) == expected.keys.sorted())
                for sample in samples {
                    let values = expected[sample.at.milliseconds]?.compactMap(\.value) ?? []
                    #expect(abs((sample.value ?? 0) - values.reduce(0, +) / Double(values.count)) < 1e-9)
                }
            }
        }
    }

    @Test("a page stays under 1 MiB whatever is asked, and its cursor goes on where it ended")
    func pages() async throws {
        try await GrantedHarness.run { harness in
            let places = (0..<20_000).map { number in
                Sample(
                    type: .position, at: Timestamp(milliseconds: Self.day + Int64(number) * 1000), value: nil,
                    position: Position(
                        latitude: -45.123_456_789_012_34, longitude: -179.123_456_789_012_3, altitude: -1234.567_890_123_45,
                        accuracy: 123_456.789_012_345_6))
            }
            let person = try await harness.addPerson([places])
            let grant = try await harness.saying(
                GrantedHarness.grant(to: person, types: [.position], Self.day..<Self.day + 20_000_000))
            var after: String?
            var count = 0
            repeat {
                let page = try await harness.read(grant, type: .position, after: after)
                #expect(try JSONEncoder().encode(page).count <= 1 << 20)
                #expect(page.samples.first?.at.milliseconds == Self.day + Int64(count) * 1000)
                count += page.samples.count
                after = page.next
            } while after != nil
            #expect(count == 20_000)
            let wrong = await harness.refusal(grant, type: .position, Self.day..<Self.day)
            #expect(wrong == .invalid)
        }
    }

    @Test("SHR-24: each page is written down before it leaves, with who, what and which stretch; an empty one has nothing to write down")
    func accesses() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([Self.pulses(0..<100)])
            let grant = try await harness.saying(GrantedHarness.grant(to: person, Self.day..<Self.day + 1_000_000))
            let page = try await harness.read(grant, limit: 60)
            _ = try await harness.read(grant, after: page.next, limit: 60)
            _ = try await harness.read(grant, Self.day + 500_000..<Self.day + 600_000)
            let accesses = try await harness.accesses()
            #expect(accesses.map(\.read.count) == [60, 40] && accesses.allSatisfy { $0.person == person })
            #expect(accesses.map(\.read.from.milliseconds) == [Self.day, Self.day + 60_000])
            #expect(accesses.map(\.read.to.milliseconds) == [Self.day + 60_000, Self.day + 100_000])
            #expect(
                accesses.allSatisfy {
                    $0.read.organisation == grant.organisation && $0.read.grant == grant.grant && $0.read.metric == .heartRate
                })
            _ = await harness.refusal(grant, type: .position)
            #expect(try await harness.accesses().count == 2)
        }
    }

    @Test("SHR-16, INV-04: after a withdrawal of a type or of the whole no page leaves, also not the next one of a reading under way")
    func withdrawal() async throws {
        try await GrantedHarness.run { harness in
            let samples = Self.pulses(0..<100)
            let person = try await harness.addPerson([samples, samples.map { Sample(type: .bodyTemperature, at: $0.at, value: 36) }])
            var grant = try await harness.saying(
                GrantedHarness.grant(to: person, types: [.heartRate, .bodyTemperature], Self.day..<Self.day + 100_000))
            let first = try await harness.read(grant, limit: 10)
            (grant.types, grant.version) = ([.bodyTemperature], 2)
            grant = try await harness.saying(grant)
            await #expect(throws: Failure.self) { _ = try await harness.read(grant, after: first.next, limit: 10) }
            #expect(try await harness.read(grant, type: .bodyTemperature).samples.count == 100)
            (grant.active, grant.version) = (false, 3)
            grant = try await harness.saying(grant)
            #expect(await harness.refusal(grant, type: .bodyTemperature) == .forbidden)
            #expect(try await harness.accesses().count == 2)
        }
    }

    @Test("SHR-16: a withdrawal reaches the reads in less than a second; the time is printed")
    func revocationDelay() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([Self.pulses(0..<10)])
            var delays: [Duration] = []
            for _ in 0..<30 {
                var grant = try await harness.saying(GrantedHarness.grant(to: person, Self.day..<Self.day + 10_000))
                _ = try await harness.read(grant)
                (grant.active, grant.version) = (false, 2)
                let said = ContinuousClock.now
                try await harness.consent.say(grant)
                while await harness.refusal(grant) == nil {}
                delays.append(ContinuousClock.now - said)
            }
            delays.sort()
            print("revocation to denied read: p50 \(delays[delays.count / 2]), max \(delays[delays.count - 1])")
            #expect(delays[delays.count - 1] < .seconds(10))
        }
    }

    @Test("with consent silent for five seconds every granted read is denied; when it is heard again they go on")
    func silence() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([Self.pulses(0..<10)])
            let grant = try await harness.saying(GrantedHarness.grant(to: person, Self.day..<Self.day + 10_000))
            #expect(await harness.refusal(grant) == nil)
            await harness.consent.close()
            try await eventually("reads are denied") { await harness.refusal(grant) == .forbidden }
            #expect(harness.parts.follower.silentFor >= .seconds(4))
            for type in [Metric.heartRate, .position] { #expect(await harness.refusal(grant, type: type) == .forbidden) }
        }
    }

    @Test("INV-04: a consent that was never heard denies, and so does one whose grants are not all known")
    func neverHeard() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([Self.pulses(0..<10)])
            let grant = GrantedHarness.grant(to: person, Self.day..<Self.day + 10_000)
            let reading = GrantedReading(
                store: harness.store, vault: harness.vault, accesses: harness.parts.reading.accesses.accesses,
                logger: harness.runtime.logger,
                silence: { .seconds(Int64.max / 4) })
            _ = try await harness.store.write { db in try GrantProjection().save(db, grant) }
            let asked = ReadSamples(
                grant: grant.grant, organisation: grant.organisation, type: .heartRate, from: grant.from, to: grant.to, after: nil, limit: 5
            )
            await #expect(throws: ReadDenial.consentSilent.failure) { _ = try await reading.read(asked, GrantedReadingTests.context) }
        }
    }

    @Test("an erased person's data leave under no grant, and a person without entries gives an empty page")
    func erased() async throws {
        try await GrantedHarness.run { harness in
            let person = try await harness.addPerson([Self.pulses(0..<10)])
            let grant = try await harness.saying(GrantedHarness.grant(to: person, Self.day..<Self.day + 10_000))
            try await harness.keys.destroyKey(of: person)
            #expect(await harness.refusal(grant) == .forbidden)
            #expect(try await harness.accesses().isEmpty)
            let nobody = PersonID.random()
            _ = try await harness.keys.makeKey(for: nobody)
            let empty = try await harness.saying(GrantedHarness.grant(to: nobody, Self.day..<Self.day + 10_000))
            #expect(try await harness.read(empty).samples.isEmpty)
        }
    }
}

extension GrantedReadingTests {
    fileprivate static var context: RequestContext {
        RequestContext(peer: .thirdPartyGateway, id: "i", method: ReadSamples.method, deadline: .now + .seconds(60), trace: "")
    }
}
