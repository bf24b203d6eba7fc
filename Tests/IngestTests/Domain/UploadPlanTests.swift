// Sorting an upload by metric, dropping what it or the store said before, and putting it together again.

import Contracts
import TestKit
import Testing

@testable import Ingest

@Suite struct UploadPlanTests {
    private static func sample(_ metric: Metric, _ at: Int64, _ value: Double) -> Sample {
        Sample(type: metric, at: Timestamp(milliseconds: at), value: value)
    }

    private static func plan(_ samples: [Sample]) -> UploadPlan {
        UploadPlan(samples: samples, indexes: samples.indices.map { Int32($0) })
    }

    @Test("ING-04, INV-10: within one upload the first mention counts, repetitions and conflicts are told apart")
    func ownRepetitions() {
        var plan = Self.plan([
            Self.sample(.heartRate, 10, 60), Self.sample(.heartRate, 20, 61), Self.sample(.heartRate, 10, 60),
            Self.sample(.heartRate, 20, 99),
            Self.sample(.bodyTemperature, 10, 36), Self.sample(.heartRate, 5, 59),
        ])
        plan.dropOwnRepetitions()
        plan.settle()
        #expect(plan.repetitions == Repetitions(duplicates: [2], conflicts: [3]))
        #expect(plan.conflicting == [Self.sample(.heartRate, 20, 99)])
        #expect(plan.inOrder.map(\.at.milliseconds) == [10, 20, 10, 5])
    }

    @Test("ING-14: what is stored already is a duplicate, another value a conflict")
    func stored() {
        var plan = Self.plan([Self.sample(.heartRate, 10, 60), Self.sample(.heartRate, 20, 61), Self.sample(.heartRate, 30, 62)])
        plan.dropStored(fromGroup: 0, stored: [10: Self.sample(.heartRate, 10, 60), 30: Self.sample(.heartRate, 30, 1)])
        plan.settle()
        #expect(plan.repetitions == Repetitions(duplicates: [0], conflicts: [2]))
        #expect(plan.conflicting == [Self.sample(.heartRate, 30, 62)])
        #expect(plan.groups[0].samples.map(\.at.milliseconds) == [20])
        #expect(plan.groups[0].first == 20 && plan.groups[0].last == 20)
    }

    @Test("What an upload says twice is judged by what is stored, not by its own first mention")
    func storedKnowsBetter() {
        var plan = Self.plan([Self.sample(.heartRate, 10, 99), Self.sample(.heartRate, 10, 60), Self.sample(.heartRate, 10, 99)])
        plan.dropOwnRepetitions()
        plan.dropStored(fromGroup: 0, stored: [10: Self.sample(.heartRate, 10, 60)])
        plan.settle()
        #expect(plan.groups.isEmpty && plan.repetitions == Repetitions(duplicates: [1], conflicts: [0, 2]))
    }

    @Test("However metrics alternate, chunks and runs give the order of the upload", arguments: 1...30 as ClosedRange<UInt64>)
    func interleaving(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let metrics = [Metric.heartRate, .bodyTemperature, .oxygenSaturation, .position].prefix(Int(seed % 4) + 1)
        let samples = (0..<Int64(Int.random(in: 1...80, using: &generator))).map { index in
            Self.sample(
                metrics.randomElement(using: &generator) ?? .heartRate, Int64.random(in: 1...60, using: &generator), Double(index % 3))
        }
        var plan = Self.plan(samples)
        plan.dropOwnRepetitions()
        plan.settle()
        let gone = Set(plan.repetitions.duplicates + plan.repetitions.conflicts)
        let expected = samples.indices.filter { !gone.contains(Int32($0)) }.map { samples[$0] }
        #expect(plan.inOrder == expected)
        let record = UploadRecord(
            device: .random(), receivedAt: Timestamp(milliseconds: 0), intervalMs: 5, chunks: plan.groups.indices.map(Int64.init),
            runs: plan.runs)
        #expect(record.interleave(plan.groups.map(\.samples)) == expected)
        #expect(record.interleave([]) == nil)
        #expect(Set(expected.map { "\($0.type) \($0.at.milliseconds)" }).count == expected.count)
    }

    @Test(
        "A class of spans finds every chunk that reaches into a period, and begins within one range",
        arguments: 1...10 as ClosedRange<UInt64>)
    func spanClasses(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let first = Int64.random(in: 0...1_000_000, using: &generator)
            let last = first + Int64.random(in: 0...(1 << Int64.random(in: 0...20, using: &generator)), using: &generator)
            let span = SpanClass(first: first, last: last)
            #expect(span.exponent == 0 || 1 << (span.exponent - 1) < last - first)
            let time = Int64.random(in: first...last, using: &generator)
            #expect(span.earliestStart(reaching: time) <= first)
        }
        #expect(SpanClass(first: .min, last: .max).earliestStart(reaching: 0) == .min)
    }
}
