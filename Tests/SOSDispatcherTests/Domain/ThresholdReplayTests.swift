// What bounds would have done: the plan of stretches, and that hearing the stretches alone tells what hearing everything tells.

import Contracts
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Threshold replay")
struct ThresholdReplayTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    private static func at(_ seconds: Int64) -> Timestamp { start + .seconds(seconds) }

    private static func minutes(_ entries: [Sample]) -> [HistoryMinute] {
        Dictionary(grouping: entries) { $0.at.milliseconds / 60_000 }.sorted { $0.key < $1.key }.map { minute, samples in
            let values = samples.compactMap(\.value)
            return HistoryMinute(
                at: Timestamp(milliseconds: minute * 60_000), least: values.min() ?? 0,
                mean: values.reduce(0, +) / Double(values.count), greatest: values.max() ?? 0, count: values.count)
        }
    }

    private static func state(_ own: [Metric: Bounds] = [:]) -> Supervision.State {
        var state = Supervision.State()
        state.own = own
        return state
    }

    private static func alerts(_ entries: [Sample], _ own: [Metric: Bounds] = [:]) -> [ThresholdReplay.Alert] {
        var replay = ThresholdReplay(state(own), rules: SupervisionRules(), from: start)
        replay.hear(entries)
        if let last = entries.last { replay.pass(to: last.at + .seconds(60)) }
        return replay.alerts
    }

    @Test("SOS-08, SOS-12: an alert that lasts would have been called for, one that passes would not, and each is told with its value")
    func alerts() {
        var entries = (0..<600).map { Sample(type: .heartRate, at: Self.at(Int64($0)), value: 80) }
        entries[100].value = 130
        for second in 300..<310 { entries[second].value = 40 }
        let found = Self.alerts(entries)
        #expect(found.map(\.called) == [false, true])
        #expect(found.map(\.at) == [Self.at(100), Self.at(300)])
        #expect(found.map(\.passed.value) == [130, 40] && found.map(\.passed.side) == [.above, .below])
        #expect(Self.alerts(entries, [.heartRate: Bounds(low: 30, high: 140)]).isEmpty)
        #expect(Self.alerts(entries, [.heartRate: Bounds(low: nil, high: 79)]).count == 1, "critical all the time is one alert")
        #expect(Self.alerts([]).isEmpty)
    }

    @Test("Stretches around critical minutes tell what the whole history tells, over seeds", arguments: 0..<24)
    func stretches(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var entries: [Sample] = []
        // Three hours at 1 Hz, with critical spells of 1 to 40 s now and then, and pressure each two minutes.
        var spell = 0
        for second in 0..<10_800 {
            if spell > 0 {
                spell -= 1
            } else if Int.random(in: 0..<1500, using: &random) == 0 {
                spell = Int.random(in: 1...40, using: &random)
            }
            let value = spell > 0 ? 150.0 : Double.random(in: 60...90, using: &random).rounded()
            entries.append(Sample(type: .heartRate, at: Self.at(Int64(second)), value: value))
            if second % 120 == 7 {
                let isHigh = Int.random(in: 0..<20, using: &random) == 0
                entries.append(Sample(type: .bloodPressureMax, at: Self.at(Int64(second)), value: isHigh ? 180 : 130))
                entries.append(
                    Sample(type: .bloodPressureMin, at: Self.at(Int64(second)), value: isHigh && seed.isMultiple(of: 2) ? 110 : 80))
            }
        }
        let whole = Self.alerts(entries)
        let rules = SupervisionRules()
        var replay = ThresholdReplay(Self.state(), rules: rules, from: Self.start)
        let history = Dictionary(grouping: entries, by: \.type).mapValues(Self.minutes)
        let period = Self.start..<Self.at(10_800)
        let plan = ReplayPlan(history, under: replay.thresholds, in: period, most: 1_000_000)
        #expect(plan.from == period.lowerBound)
        for stretch in plan.stretches { replay.hear(entries.filter { stretch.contains($0.at) }) }
        replay.pass(to: Self.at(10_860))
        #expect(replay.alerts == whole)
        #expect(replay.entries <= entries.count)
    }

    @Test("Too many critical entries: the latest stretches are replayed, and from when on is told")
    func limits() throws {
        let entries = (0..<7200).map { Sample(type: .heartRate, at: Self.at(Int64($0)), value: $0 % 3600 < 5 ? 200 : 70) }
        let history: [Metric: [HistoryMinute]] = [.heartRate: Self.minutes(entries)]
        let period = Self.start..<Self.at(7200)
        let thresholds = ThresholdReplay(Self.state(), rules: SupervisionRules(), from: Self.start).thresholds
        let all = ReplayPlan(history, under: thresholds, in: period, most: 10_000)
        #expect(all.stretches.count == 2 && all.from == period.lowerBound)
        let late = ReplayPlan(history, under: thresholds, in: period, most: 1300)
        #expect(late.stretches == [all.stretches[1]] && late.from == all.stretches[1].lowerBound)
        let part = ReplayPlan(history, under: thresholds, in: period, most: 100)
        #expect(part.stretches.count == 1 && part.from > all.stretches[1].lowerBound && part.from == part.stretches[0].lowerBound)
        #expect(ReplayPlan([:], under: thresholds, in: period, most: 1).stretches.isEmpty)
    }
}
