// Which reads a grant allows, and which entries go into which step, as pure values.

import Contracts
import TestKit
import Testing

@testable import Ingest

@Suite("Reads under grants: the rules")
struct GrantRulesTests {
    private static let grant = GrantState(
        grant: .random(), request: .random(), person: .random(), organisation: .random(), types: [.heartRate, .position],
        from: Timestamp(milliseconds: 10_000), to: Timestamp(milliseconds: 20_000), granularity: .seconds, active: true, version: 1)

    private static func asked(_ change: (inout ReadSamples) -> Void = { _ in }) -> ReadSamples {
        var asked = ReadSamples(
            grant: grant.grant, organisation: grant.organisation, type: .heartRate, from: grant.from, to: grant.to, after: nil, limit: 100)
        change(&asked)
        return asked
    }

    private static func denial(_ asked: ReadSamples, _ grant: GrantState? = grant, silence: Duration = .zero) -> ReadDenial? {
        do throws(ReadDenial) {
            try GrantRules.check(asked, against: grant, silence: silence)
            return nil
        } catch {
            return error
        }
    }

    @Test("SHR-11: exactly the granted types and period are read; other types, earlier and later times are refused")
    func scope() {
        #expect(Self.denial(Self.asked()) == nil)
        #expect(Self.denial(Self.asked { $0.type = .position }) == nil)
        #expect(Self.denial(Self.asked { $0.type = .bodyTemperature }) == .otherType)
        #expect(Self.denial(Self.asked { $0.from = Timestamp(milliseconds: 9_999) }) == .outsideWindow)
        #expect(Self.denial(Self.asked { $0.to = Timestamp(milliseconds: 20_001) }) == .outsideWindow)
        #expect(Self.denial(Self.asked { $0.from = Timestamp(milliseconds: .min) }) == .outsideWindow)
        #expect(Self.denial(Self.asked { $0.to = Timestamp(milliseconds: .max) }) == .outsideWindow)
    }

    @Test("SHR-21, INV-04: without a grant, with another organisation's and with one that is not in force nothing is read")
    func force() {
        #expect(Self.denial(Self.asked(), nil) == .unknownGrant)
        #expect(Self.denial(Self.asked { $0.organisation = .random() }) == .unknownGrant)
        var inactive = Self.grant
        inactive.active = false
        #expect(Self.denial(Self.asked(), inactive) == .notActive)
        var shortened = Self.grant
        shortened.types = [.position]
        #expect(Self.denial(Self.asked(), shortened) == .otherType)
    }

    @Test("a consent that was silent for more than five seconds denies everything, before anything else is said")
    func silence() {
        #expect(Self.denial(Self.asked(), silence: .seconds(5)) == nil)
        #expect(Self.denial(Self.asked(), silence: .milliseconds(5001)) == .consentSilent)
        #expect(Self.denial(Self.asked(), nil, silence: .seconds(6)) == .consentSilent)
    }

    @Test("a page without sense is invalid, and no denial tells a person or a value")
    func sense() {
        for limit in [0, -1, 10_001, Int.max] {
            #expect(Self.denial(Self.asked { $0.limit = limit }) == .invalid("limit is from 1 to 10000"))
        }
        #expect(Self.denial(Self.asked { $0.to = $0.from }) == .invalid("to is later than from"))
        for denial in [ReadDenial.unknownGrant, .notActive, .otherType, .outsideWindow, .consentSilent, .nothingLeft] {
            #expect(!denial.failure.reason.contains("per_") && denial.failure.code != .internal)
        }
    }
}

@Suite("Reads under grants: steps")
struct GranulePlanTests {
    private static func grant(_ window: Range<Int64>, _ granularity: GrantGranularity) -> GrantState {
        GrantState(
            grant: .random(), request: .random(), person: .random(), organisation: .random(), types: [.heartRate],
            from: Timestamp(milliseconds: window.lowerBound), to: Timestamp(milliseconds: window.upperBound), granularity: granularity,
            active: true, version: 1)
    }

    private static func plan(
        _ window: Range<Int64>, _ granularity: GrantGranularity, _ asked: Range<Int64>, after: String? = nil, now: Int64 = .max / 2
    ) throws -> GranulePlan {
        let grant = grant(window, granularity)
        let question = ReadSamples(
            grant: grant.grant, organisation: grant.organisation, type: .heartRate, from: Timestamp(milliseconds: asked.lowerBound),
            to: Timestamp(milliseconds: asked.upperBound), after: after, limit: 10)
        return try GranulePlan(question, under: grant, now: Timestamp(milliseconds: now))
    }

    @Test("SHR-12: what is asked is widened to whole steps, but never beyond the window; no value is dated before it")
    func widening() throws {
        let minute: Int64 = 60_000
        let inner = try Self.plan(0..<100 * minute, .minutes, 90_000..<150_000)
        #expect(inner.range == minute..<3 * minute && inner.whole == inner.range && inner.cut.before.isEmpty && inner.cut.after.isEmpty)
        let edge = try Self.plan(90_000..<150_000, .minutes, 90_000..<150_000)
        #expect(edge.range == 90_000..<150_000 && edge.whole.isEmpty)
        #expect(edge.cut.before == 90_000..<120_000 && edge.cut.after == 120_000..<150_000)
        let handed = edge.columns(EntryColumns(times: [minute, 2 * minute], values: [1, 2]), of: .heartRate)
        #expect(handed.samples.map(\.at.milliseconds) == [90_000, 2 * minute] && handed.values == [1, 2])
        #expect(edge.end(of: minute) == 2 * minute && edge.end(of: 2 * minute) == 150_000)
        let within = try Self.plan(70_000..<75_000, .hours, 70_000..<75_000)
        #expect(within.whole.isEmpty && within.cut.before.isEmpty != within.cut.after.isEmpty)
        #expect(within.cut.before.count + within.cut.after.count == 5000)
    }

    @Test("SHR-14: a step that is still going on waits until it is over, the last one of the window until the window is")
    func ongoing() throws {
        #expect(try Self.plan(0..<600_000, .minutes, 0..<600_000, now: 119_999).range == 0..<60_000)
        #expect(try Self.plan(0..<600_000, .minutes, 0..<600_000, now: 120_000).range == 0..<120_000)
        #expect(try Self.plan(0..<90_000, .minutes, 0..<90_000, now: 89_999).range == 0..<60_000)
        #expect(try Self.plan(0..<90_000, .minutes, 0..<90_000, now: 90_000).range == 0..<90_000)
        #expect(try Self.plan(300_000..<600_000, .minutes, 300_000..<600_000, now: 10).range.isEmpty)
    }

    @Test("a cursor goes on after its step; one that no page gave is invalid")
    func cursors() throws {
        #expect(try Self.plan(0..<600_000, .minutes, 0..<600_000, after: "60000").range == 120_000..<600_000)
        #expect(try Self.plan(90_000..<600_000, .minutes, 90_000..<600_000, after: "60000").range == 120_000..<600_000)
        for after in ["", "x", "61000", "-60000", "600000", "99999999999999999999", "\(Int64.max)"] {
            #expect(throws: ReadDenial.self, "\(after)") { _ = try Self.plan(0..<600_000, .minutes, 0..<600_000, after: after) }
        }
    }

    @Test("SHR-12: a fold of seeded entries has one mean for each step with entries, and the first position")
    func folding() {
        for seed in UInt64(1)...50 {
            var dice = SeededGenerator(seed: seed)
            let width: Int64 = [1000, 60_000, 3_600_000].randomElement(using: &dice) ?? 1000
            var entries = EntryColumns()
            var time: Int64 = 0
            for _ in 0..<200 {
                time += Int64.random(in: 1...width, using: &dice)
                entries.append(time, value: Double.random(in: 40...180, using: &dice))
            }
            var fold = GranuleFold(width: width)
            // In pieces of any size: a page of a store ends where it ends.
            let cut = Int.random(in: 0...200, using: &dice)
            for part in [0..<cut, cut..<200] {
                fold.add(EntryColumns(times: Array(entries.times[part]), values: Array(entries.values[part])))
            }
            let granules = fold.finish()
            let expected = Dictionary(grouping: entries.times.indices) { entries.times[$0] / width * width }
            #expect(granules.times == expected.keys.sorted() && granules.positions.isEmpty)
            for (start, value) in zip(granules.times, granules.values) {
                let values = expected[start]?.map { entries.values[$0] } ?? []
                #expect(abs(value - values.reduce(0, +) / Double(values.count)) < 1e-9)
            }
        }
        var places = GranuleFold(width: 1000)
        places.add(
            EntryColumns(
                times: [0, 500, 1500], positions: [45.0, 46, 47].map { Position(latitude: $0, longitude: 9) }))
        #expect(places.finish().positions.map(\.latitude) == [45, 47])
    }
}
