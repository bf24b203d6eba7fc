// Which source each parameter comes from: choices, conflicts, devices that come and go, and any sequence of them.

import Contracts
import TestKit
import Testing

@testable import Ingest

@Suite struct TrackingPlanTests {
    private static let watch = DeviceID(bits: 1)
    private static let phone = DeviceID(bits: 2)
    private static let strap = DeviceID(bits: 3)
    private static let enrolled = DeviceID(bits: 4)

    private static func source(
        _ device: DeviceID, _ kind: DeviceKind, _ measures: [Metric], tracks: [Metric]? = [], charging: Bool = false
    ) -> TrackedSource {
        TrackedSource(
            device: device, kind: kind, measures: MetricSet(measures), tracking: tracks.map { .chosen(MetricSet($0)) } ?? .rest,
            isCharging: charging)
    }

    private static func plan(_ sources: TrackedSource..., priority: SourcePriority = .usual) -> TrackingPlan {
        TrackingPlan(sources, priority: priority)
    }

    @Test("ACC-25, SC-44: heart rate from the watch and position from the phone, confirmed as a whole; each delivers only its own")
    func divided() {
        var plan = Self.plan(
            Self.source(Self.watch, .wearable, [.heartRate, .position], tracks: [.heartRate, .position]),
            Self.source(Self.phone, .phone, [.position], tracks: []))
        let outcome = plan.choose(
            [Self.watch: MetricSet([.heartRate]), Self.phone: MetricSet([.position])], nil)
        #expect(outcome == .settled(moved: [], kept: []))
        #expect(plan.admitted(Self.watch) == MetricSet([.heartRate]))
        #expect(plan.admitted(Self.phone) == MetricSet([.position]))
    }

    @Test("ACC-26: what a more reliable source delivers is not taken from it unasked; keep and switch do what they say")
    func moreReliable() throws {
        let before = Self.plan(
            Self.source(Self.strap, .medical, [.heartRate], tracks: [.heartRate]),
            Self.source(Self.watch, .wearable, [.heartRate, .position], tracks: []))
        let wanted = [Self.watch: MetricSet([.heartRate, .position])]
        let told = TrackedElsewhere(
            metric: .heartRate, wanted: Self.watch, current: Self.strap, currentKind: .medical, isMoreReliable: true)
        var plan = before
        #expect(plan.choose(wanted, nil) == .undecided([told]))
        #expect(plan == before, "nothing changes silently")
        #expect(plan.choose(wanted, .keep) == .settled(moved: [], kept: [told]))
        #expect(plan.admitted(Self.strap) == MetricSet([.heartRate]) && plan.admitted(Self.watch) == MetricSet([.position]))
        plan = before
        #expect(plan.choose(wanted, .switch) == .settled(moved: [told], kept: []))
        #expect(plan.admitted(Self.strap) == MetricSet() && plan.admitted(Self.watch) == MetricSet([.heartRate, .position]))
    }

    @Test("ACC-26: a less reliable source yields to the one that is chosen, and the person is told what moved")
    func lessReliable() {
        var plan = Self.plan(
            Self.source(Self.phone, .phone, [.heartRate, .position], tracks: [.heartRate, .position]),
            Self.source(Self.watch, .wearable, [.heartRate], tracks: []))
        let outcome = plan.choose([Self.watch: MetricSet([.heartRate])], nil)
        guard case .settled(let moved, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(moved.map(\.metric) == [.heartRate] && moved.first?.isMoreReliable == false)
        #expect(plan.source(of: .heartRate)?.device == Self.watch && plan.admitted(Self.phone) == MetricSet([.position]))
    }

    @Test("CON-12: the order is medical device, wearable, phone, manual, unless the person says otherwise")
    func priority() throws {
        #expect(SourcePriority.usual.order == [.medical, .wearable, .phone, .manual])
        let own = try #require(SourcePriority(chosen: [.wearable, .medical, .manual, .phone]))
        #expect(SourcePriority(text: own.text) == own)
        #expect(SourcePriority(chosen: [.wearable, .wearable, .manual, .phone]) == nil)
        #expect(SourcePriority(chosen: [.wearable]) == nil)
        var plan = Self.plan(
            Self.source(Self.strap, .medical, [.heartRate], tracks: [.heartRate]), Self.source(Self.watch, .wearable, [.heartRate]),
            priority: own)
        guard case .settled(let moved, _) = plan.choose([Self.watch: MetricSet([.heartRate])], nil) else {
            Issue.record("the wearable is trusted more now")
            return
        }
        #expect(moved.count == 1)
    }

    @Test("A choice that makes no sense changes nothing: foreign devices, what cannot be measured, one parameter twice")
    func faults() {
        let before = Self.plan(
            Self.source(Self.watch, .wearable, [.heartRate]), Self.source(Self.phone, .phone, [.heartRate, .position]))
        var plan = before
        let stranger = DeviceID(bits: 99)
        #expect(plan.choose([stranger: MetricSet([.heartRate])], nil) == .faulty([.unknownDevice(stranger)]))
        #expect(plan.choose([Self.watch: MetricSet([.position])], nil) == .faulty([.cannotMeasure(Self.watch, .position)]))
        #expect(
            plan.choose([Self.watch: MetricSet([.heartRate]), Self.phone: MetricSet([.heartRate])], .switch)
                == .faulty([.twice(.heartRate, Self.watch, Self.phone)]))
        #expect(plan == before)
    }

    @Test("ACC-24, SC-26: a replaced device stops and its parameters come from the new one; an added one takes only what is free")
    func pairing() {
        let strap = Self.source(Self.strap, .medical, [.heartRate, .oxygenSaturation])
        var added = Self.plan(Self.source(Self.watch, .wearable, [.heartRate, .position], tracks: [.heartRate, .position]))
        var replaced = added
        let elsewhere = added.paired(strap)
        #expect(elsewhere.map(\.metric) == [.heartRate] && elsewhere.first?.isMoreReliable == false)
        #expect(added.admitted(Self.strap) == MetricSet([.oxygenSaturation]) && added.source(of: .heartRate)?.device == Self.watch)
        #expect(replaced.paired(strap, replacing: Self.watch).isEmpty)
        #expect(replaced.admitted(Self.strap) == MetricSet([.heartRate, .oxygenSaturation]))
        #expect(replaced.source(Self.watch) == nil && replaced.admitted(Self.watch) == MetricSet(), "ING-20: the old one delivers nothing")
    }

    @Test(
        "ACC-24, ACC-26, SOS-34: what a removed device delivered comes from the most reliable of the others that measure it; what was off stays off"
    )
    func removed() {
        var plan = Self.plan(
            Self.source(Self.watch, .wearable, [.heartRate, .position, .oxygenSaturation], tracks: [.heartRate, .position]),
            Self.source(Self.phone, .phone, [.heartRate, .position, .oxygenSaturation]),
            Self.source(Self.strap, .medical, [.heartRate, .oxygenSaturation]))
        #expect(Set(plan.removed(Self.watch)) == [.heartRate, .position])
        #expect(plan.admitted(Self.strap) == MetricSet([.heartRate]) && plan.admitted(Self.phone) == MetricSet([.position]))
        #expect(plan.removed(Self.watch).isEmpty, "once")
        #expect(plan.removed(Self.phone).isEmpty, "nobody else measures where somebody is")

        let enrolled = TrackedSource(device: Self.enrolled, kind: .wearable, measures: .everything, tracking: .rest)
        var mixed = Self.plan(enrolled, Self.source(Self.watch, .wearable, [.heartRate]))
        #expect(mixed.removed(Self.enrolled) == [.heartRate])
        #expect(mixed.admitted(Self.watch) == MetricSet([.heartRate]))
        var rest = Self.plan(enrolled, Self.source(Self.watch, .wearable, [.heartRate], tracks: [.heartRate]))
        #expect(rest.removed(Self.watch).isEmpty, "it comes from what takes the rest, as before")
        #expect(rest.admitted(Self.enrolled) == nil)
    }

    @Test("A device enrolled by an operator delivers everything but what another one was chosen for")
    func enrolled() {
        let enrolled = TrackedSource(device: Self.enrolled, kind: .wearable, measures: .everything, tracking: .rest)
        #expect(Self.plan(enrolled).admitted(Self.enrolled) == nil)
        let plan = Self.plan(enrolled, Self.source(Self.watch, .wearable, [.heartRate], tracks: [.heartRate]))
        let admitted = plan.admitted(Self.enrolled)
        #expect(admitted?.contains(.heartRate) == false && admitted?.contains(.position) == true)
    }

    @Test("ING-19: while the wearable charges, position goes on from the phone; its health parameters do not")
    func standIn() {
        for charging in [true, false] {
            let plan = Self.plan(
                Self.source(Self.watch, .wearable, [.heartRate, .position], tracks: [.heartRate, .position], charging: charging),
                Self.source(Self.phone, .phone, [.heartRate, .position], tracks: []))
            #expect(plan.admitted(Self.phone) == (charging ? MetricSet([.position]) : MetricSet()))
            #expect(plan.standIn(for: .position)?.device == (charging ? Self.phone : nil))
            #expect(plan.standIn(for: .heartRate) == nil)
        }
        let chargingPhone = Self.plan(
            Self.source(Self.phone, .phone, [.position], tracks: [.position], charging: true),
            Self.source(Self.watch, .wearable, [.position], tracks: []))
        #expect(chargingPhone.admitted(Self.watch) == MetricSet(), "a phone goes on while it charges")
    }

    @Test(
        "ACC-26: after any sequence of choices and removals each parameter has at most one chosen source",
        arguments: 1...200 as ClosedRange<UInt64>)
    func oneSource(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let metrics: [Metric] = [.heartRate, .position, .oxygenSaturation, .bodyTemperature]
        var plan = TrackingPlan([])
        for step in 0..<30 {
            if plan.sources.count < 2 || Int.random(in: 0..<6, using: &generator) == 0 {
                let kind = DeviceKind.devices.randomElement(using: &generator) ?? .phone
                let old = Bool.random(using: &generator) ? plan.sources.randomElement(using: &generator)?.device : nil
                let measures = metrics.filter { _ in Bool.random(using: &generator) }
                _ = plan.paired(Self.source(DeviceID(bits: UInt128(100 + step)), kind, measures), replacing: old)
            } else {
                let chosen = plan.sources.shuffled(using: &generator).prefix(2)
                var wanted: [DeviceID: MetricSet] = [:]
                for source in chosen { wanted[source.device] = MetricSet(metrics.filter { _ in Bool.random(using: &generator) }) }
                let before = plan
                let outcome = plan.choose(wanted, [nil, .keep, .switch].randomElement(using: &generator) ?? nil)
                if case .settled = outcome {} else { #expect(plan == before) }
            }
            if Int.random(in: 0..<8, using: &generator) == 0, let gone = plan.sources.randomElement(using: &generator) {
                for metric in plan.removed(gone.device) { #expect(plan.source(of: metric) != nil && plan.source(gone.device) == nil) }
            }
            for metric in metrics {
                let owners = plan.sources.filter { plan.admitted($0.device)?.contains(metric) ?? true }
                #expect(owners.count <= 1, "seed \(seed), step \(step)")
                #expect(owners.allSatisfy { $0.measures.contains(metric) })
            }
        }
    }

    @Test("A set of metrics keeps what it is told, also as bytes")
    func sets() throws {
        let set = MetricSet(Metric.all.filter { $0.number % 3 == 0 })
        for metric in Metric.all { #expect(set.contains(metric) == (metric.number % 3 == 0)) }
        #expect(MetricSet(bytes: set.bytes) == set && set.bytes.count == 32)
        #expect(MetricSet(bytes: [1, 2]) == nil)
        #expect(MetricSet.everything.isEverything && MetricSet(bytes: MetricSet.everything.bytes)?.isEverything == true)
        #expect(set.subtracting(set).isEmpty && set.metrics.count == Metric.all.count { $0.number % 3 == 0 })
    }
}
