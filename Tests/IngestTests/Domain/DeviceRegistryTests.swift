// Whose token is this: what is remembered of a token must never outlive the right to use it.

import Contracts
import Sealing
import Testing

@testable import Ingest

@Suite struct DeviceRegistryTests {
    private let person = PersonID.random()
    private let lookupKey = LookupKey(.random(), purpose: "tokens")

    private func device(_ number: Int64, token: String, isActive: Bool = true) -> DeviceRow {
        DeviceRow(
            number: number, device: .random(), person: person, personNumber: 7, tokenLookup: lookupKey.lookup(token), intervalMs: nil,
            isActive: isActive, kind: .wearable, origin: .enrolled, measures: MetricSet([.heartRate]), tracking: .rest,
            condition: DeviceCondition(), addedAt: Timestamp(milliseconds: number))
    }

    private func household(_ devices: [DeviceRow]) -> Household {
        Household(person: person, number: 7, isEnrolled: true, priority: .usual, devices: devices, pauses: [])
    }

    private func registry(_ devices: [DeviceRow]) -> DeviceRegistry {
        DeviceRegistry([household(devices)], accounts: [], lookupKey: lookupKey, startedAt: Timestamp(milliseconds: 1))
    }

    @Test("ING-20: a token that has been used often is refused from the moment in which its device is removed")
    func removed() {
        let registry = registry([device(1, token: "old")])
        for _ in 0..<3 { #expect(registry.device(withToken: "old")?.number == 1) }
        registry.takeOver(household([device(1, token: "old", isActive: false)]))
        for _ in 0..<3 { #expect(registry.device(withToken: "old") == nil) }
    }

    @Test("ACC-24: after a replacement the old token is refused and the new one is known")
    func replaced() {
        let registry = registry([device(1, token: "old")])
        #expect(registry.device(withToken: "old")?.number == 1)
        #expect(registry.device(withToken: "new") == nil)
        registry.takeOver(household([device(1, token: "old", isActive: false), device(2, token: "new")]))
        #expect(registry.device(withToken: "old") == nil)
        for _ in 0..<2 { #expect(registry.device(withToken: "new")?.number == 2) }
    }

    @Test("ACC-29: an erased person's token is refused at once")
    func erased() {
        let registry = registry([device(1, token: "old")])
        for _ in 0..<2 { #expect(registry.device(withToken: "old") != nil) }
        registry.forget(person)
        for _ in 0..<2 { #expect(registry.device(withToken: "old") == nil) }
    }

    @Test("What is remembered of a token shows the device as it is now")
    func current() {
        let registry = registry([device(1, token: "one")])
        #expect(registry.device(withToken: "one")?.intervalMs == nil)
        var changed = device(1, token: "one")
        changed = DeviceRow(
            number: 1, device: changed.device, person: person, personNumber: 7, tokenLookup: changed.tokenLookup, intervalMs: 250,
            isActive: true, kind: .wearable, origin: .enrolled, measures: changed.measures, tracking: .rest, condition: changed.condition,
            addedAt: changed.addedAt)
        registry.takeOver(household([changed]))
        #expect(registry.device(withToken: "one")?.intervalMs == 250)
    }

    @Test("SOS-34, ING-03: what is typed in or imported is published as measured by no device; a device without an interval is not")
    func typedInterval() throws {
        let origins: [DeviceOrigin] = [.enrolled, .paired, .manual, .imported]
        let rows = origins.enumerated().map { index, origin in
            DeviceRow(
                number: Int64(index + 1), device: .random(), person: person, personNumber: 7,
                tokenLookup: lookupKey.lookup("token \(index)"), intervalMs: nil, isActive: true, kind: .manual, origin: origin,
                measures: MetricSet([.heartRate]), tracking: .rest, condition: DeviceCondition(), addedAt: Timestamp(milliseconds: 1))
        }
        let registry = registry(rows)
        let published = try rows.map { row in try #require(registry.device(number: row.number)).publishedIntervalMs }
        #expect(published == [nil, nil, 0, 0])
        // A replay says the same.
        let records = try published.map { interval in
            let record = UploadRecord(
                device: .random(), receivedAt: Timestamp(milliseconds: 1), intervalMs: interval, chunks: [1], runs: [])
            return try UploadRecord(decoding: record.encoded()).intervalMs
        }
        #expect(records == published)
        let facts = published.map {
            SamplesRecorded(device: .random(), receivedAt: Timestamp(milliseconds: 1), intervalMs: $0, samples: [])
        }
        #expect(facts.map(\.isTyped) == [false, false, true, true])
    }

    @Test("ACC-26, SOS-34: a parameter is missed once its device was not heard for 30 s and three intervals; in a charger at once")
    func missed() throws {
        func row(_ number: Int64, _ token: String, _ tracks: [Metric], charging: Bool? = nil) -> DeviceRow {
            DeviceRow(
                number: number, device: DeviceID(bits: UInt128(number)), person: person, personNumber: 7,
                tokenLookup: lookupKey.lookup(token), intervalMs: 20_000, isActive: true, kind: .wearable, origin: .paired,
                measures: MetricSet([.heartRate]), tracking: .chosen(MetricSet(tracks)), condition: DeviceCondition(charging: charging),
                addedAt: Timestamp(milliseconds: number))
        }
        let start = Timestamp(milliseconds: 1)
        let registry = registry([row(1, "tracked", [.heartRate]), row(2, "other", [])])
        let tracked = try #require(registry.device(withToken: "tracked"))
        let other = try #require(registry.device(withToken: "other"))
        func isMissed(_ metric: Metric = .heartRate, besides device: KnownDevice, after seconds: Double) -> Bool {
            // It is what sends.
            device.pulse.beat(at: start + .seconds(seconds))
            return registry.isMissed(metric, besides: device, undeclared: .seconds(60), at: start + .seconds(seconds))
        }
        #expect(!isMissed(besides: other, after: 60) && isMissed(besides: other, after: 61))
        #expect(!isMissed(besides: tracked, after: 1000), "it is its own")
        #expect(!isMissed(.oxygenSaturation, besides: other, after: 1000), "switched off is not missed")
        tracked.pulse.delivered([.heartRate], at: start + .seconds(100))
        #expect(!isMissed(besides: other, after: 160) && isMissed(besides: other, after: 161))
        registry.takeOver(household([row(1, "tracked", [.heartRate], charging: true), row(2, "other", [])]))
        #expect(isMissed(besides: other, after: 101))
        let both = [row(1, "tracked", [.heartRate], charging: true), row(2, "other", [], charging: true)]
        registry.takeOver(household(both))
        #expect(isMissed(besides: other, after: 102), "both say that they charge: what one measures is heard all the same")
        registry.takeOver(household([row(1, "tracked", [.heartRate]), row(2, "other", [])]))
        #expect(!isMissed(besides: other, after: 103))
        registry.end(1)
        #expect(isMissed(besides: other, after: 103), "removed a moment ago")
    }

    @Test(
        "SOS-34: the tracked watch sent positions alone, and what the strap said of the heart was thrown away: each parameter is missed by itself",
        arguments: [(20_000, 60), (1000, 30), (nil, 30)] as [(Int64?, Double)])
    func missedByParameter(_ intervalMs: Int64?, _ limit: Double) throws {
        func row(_ number: Int64, _ token: String, _ tracks: [Metric]) -> DeviceRow {
            DeviceRow(
                number: number, device: DeviceID(bits: UInt128(number)), person: person, personNumber: 7,
                tokenLookup: lookupKey.lookup(token), intervalMs: intervalMs, isActive: true, kind: .wearable, origin: .paired,
                measures: MetricSet([.heartRate, .position]), tracking: .chosen(MetricSet(tracks)), condition: DeviceCondition(),
                addedAt: Timestamp(milliseconds: number))
        }
        let start = Timestamp(milliseconds: 1)
        let registry = registry([row(1, "watch", [.heartRate, .position]), row(2, "strap", [])])
        let watch = try #require(registry.device(withToken: "watch"))
        let strap = try #require(registry.device(withToken: "strap"))
        #expect(watch.isOneOfSeveral && strap.isOneOfSeveral)
        func isMissed(_ metric: Metric, after seconds: Double) -> Bool {
            watch.pulse.beat(at: start + .seconds(seconds))
            watch.pulse.delivered([.position], at: start + .seconds(seconds))
            return registry.isMissed(metric, besides: strap, undeclared: .seconds(60), at: start + .seconds(seconds))
        }
        for second in 1...3 { watch.pulse.delivered([.heartRate], at: start + .seconds(second)) }
        #expect(!isMissed(.heartRate, after: 3 + limit) && isMissed(.heartRate, after: 3.5 + limit))
        #expect(!isMissed(.position, after: 4 + limit))
        watch.pulse.delivered([.heartRate], at: start + .seconds(10_000))
        #expect(!isMissed(.heartRate, after: 500), "the clock was set back since")
        #expect(isMissed(.heartRate, after: 1000), "and its silence counts from then on")
    }

    @Test("Fingerprints of different tokens differ, those of one process say nothing in another")
    func fingerprints() {
        let (one, other) = (TokenFingerprint(), TokenFingerprint())
        let tokens = (0..<1000).map { "tmd_\($0)" } + ["", "tmd_", "tmd_1 "]
        #expect(Set(tokens.map(one.of)).count == tokens.count)
        #expect(tokens.allSatisfy { one.of($0) == one.of($0) && one.of($0) != other.of($0) })
    }
}
