// One class's entries against a plain computation on sorted people.

import TestKit
import Testing

@testable import Anonymiser

@Suite("MicroCohorts")
struct MicroCohortsTests {
    private static let policy = AnonymityPolicy()

    private static func histogram(_ codes: [Int], _ scale: ValueScale) -> [UInt32] {
        var histogram = [UInt32](repeating: 0, count: scale.codes)
        for code in codes { histogram[code] += 1 }
        return histogram
    }

    private static func make(_ codes: [Int], _ scale: ValueScale) -> [MicroCohort] {
        histogram(codes, scale).withUnsafeBufferPointer { MicroCohorts.make($0, scale, policy) }
    }

    /// The same, one person after the other.
    private static func plain(_ codes: [Int], _ scale: ValueScale) -> [MicroCohort] {
        var values = codes.sorted().map { scale.value($0) * 10 }
        let (low, high) = (values[10..<20].reduce(0, +) / 10, values[(values.count - 20)..<(values.count - 10)].reduce(0, +) / 10)
        for index in 0..<10 {
            values[index] = low
            values[values.count - 1 - index] = high
        }
        values.sort()
        let runs = values.count / 10
        return (0..<runs).map { run in
            let people = values[run * 10..<(run == runs - 1 ? values.count : run * 10 + 10)]
            let exact = people.reduce(0, +)
            return MicroCohort(
                value: exact.roundedQuotient(people.count * 10 * scale.rounding) * scale.rounding, people: people.count)
        }
    }

    @Test("flattened runs of ten agree with a plain computation, for every type, size and residual")
    func agree() {
        let seed: UInt64 = 0x111C
        var generator = SeededGenerator(seed: seed)
        for scale in GroupDataType.allCases.flatMap({ $0.scales(.hour) }) {
            for people in Array(50...72) + [999, 5000] {
                let width = Int.random(in: 1...scale.codes, using: &generator)
                let codes = (0..<people).map { _ in
                    Int.random(in: 0..<10, using: &generator) == 0
                        ? Int.random(in: 0..<scale.codes, using: &generator) : Int.random(in: 0..<width, using: &generator)
                }
                let entries = Self.make(codes, scale)
                #expect(entries == Self.plain(codes, scale), "seed \(seed), \(people) people")
                #expect(entries.allSatisfy { (10...19).contains($0.people) } && entries.reduce(0) { $0 + $1.people } == people)
                #expect(entries.dropLast().allSatisfy { $0.people == 10 } && entries.count == people / 10)
                #expect(entries.allSatisfy { $0.values[0] % scale.rounding == 0 || scale.least % scale.rounding != 0 })
            }
        }
    }

    @Test("what up to ten people at an end have changes nothing: the outlier of 195 bpm is not there")
    func flattening() {
        let scale = GroupDataType.heartRate.scales(.hour)[0]
        let usual = (0..<200).map { 30 + $0 % 40 }.sorted()
        for outliers in 1...10 {
            var codes = usual
            for index in 0..<outliers { codes[codes.count - 1 - index] = 165 }
            #expect(Self.make(codes, scale) == Self.make(usual, scale), "\(outliers)")
            for index in 0..<outliers { codes[index] = 0 }
            #expect(Self.make(codes, scale) == Self.make(usual, scale), "\(outliers)")
        }
        var codes = usual
        for index in 0..<11 { codes[codes.count - 1 - index] = 165 }
        #expect(Self.make(codes, scale) != Self.make(usual, scale))
    }

    @Test("blood pressure: both components are flattened, people are cut by the first, and the order of people does not matter")
    func pairs() {
        let seed: UInt64 = 0xB9
        var generator = SeededGenerator(seed: seed)
        let scales = GroupDataType.bloodPressure.scales(.hour)
        for people in [50, 57, 69, 400] {
            let pairs = (0..<people).map { _ in
                SIMD2<UInt16>(UInt16.random(in: 20...80, using: &generator), UInt16.random(in: 10...50, using: &generator))
            }
            let entries = MicroCohorts.make(pairs, scales, Self.policy)
            #expect(entries == MicroCohorts.make(pairs.shuffled(using: &generator), scales, Self.policy), "seed \(seed)")
            #expect(entries.allSatisfy { (10...19).contains($0.people) && $0.values.count == 2 })
            #expect(entries.map { $0.values[0] } == Self.plain(pairs.map { Int($0.x) }, scales[0]).map { $0.values[0] })

            // Somebody whose second value is out of all measure, in the midst of the first.
            var planted = pairs.sorted { $0.y < $1.y }
            let before = MicroCohorts.make(planted, scales, Self.policy)
            planted[people - 1].y = 90
            #expect(MicroCohorts.make(planted, scales, Self.policy) == before)
        }
    }

    @Test(
        "a class shows at least three values, none for more than half of its entries or people",
        arguments: [
            ([1, 2, 3], true), ([1, 1, 2, 3], true), ([1, 1, 1, 2, 3], false), ([1, 2], false), ([1, 1, 2, 2], false),
            ([1, 1, 2, 3, 3], true),
        ])
    func diversity(values: [Int], isDiverse: Bool) {
        #expect(MicroCohorts.isDiverse(values.map { MicroCohort(value: $0, people: 10) }, Self.policy) == isDiverse)
    }

    @Test("a class of two components shows enough values of either, or it shows too few")
    func diversityOfBoth() {
        let one = (1...3).map { MicroCohort(value: $0, second: 80, people: 10) }
        let other = (1...3).map { MicroCohort(value: 120, second: $0, people: 10) }
        let both = (1...3).map { MicroCohort(value: $0, second: 80 - $0, people: 10) }

        #expect(!MicroCohorts.isDiverse(one, Self.policy) && !MicroCohorts.isDiverse(other, Self.policy))
        #expect(MicroCohorts.isDiverse(both, Self.policy))
    }

    @Test("a residual entry counts with its people")
    func residualShare() {
        let entries = [(1, 10), (2, 10), (3, 10), (3, 19)].map { MicroCohort(value: $0.0, people: $0.1) }
        #expect(!MicroCohorts.isDiverse(entries, Self.policy))
    }

    @Test("values are clamped to the public domain and coded; the mean of own samples, but the sum of steps")
    func coding() throws {
        let heart = GroupDataType.heartRate.scales(.hour)[0]
        #expect(
            heart.codes == 191 && heart.code(0) == 0 && heart.code(999_000) == 190 && heart.code(60_500) == 31 && heart.code(60_499) == 30)
        #expect(GroupDataType.bodyTemperature.scales(.hour)[0].codes == 81 && GroupDataType.glucose.scales(.day)[0].codes == 73)
        #expect(GroupDataType.steps.scales(.hour)[0].codes == 161 && GroupDataType.steps.scales(.day)[0].codes == 401)
        var sum = SampleSum()
        #expect(sum.code(.heartRate, heart) == nil)
        sum.add(sum: 61_000 + 62_000, count: 2)
        #expect(sum.code(.heartRate, heart) == 32)
        sum.add(sum: .max, count: 1)
        #expect(sum.code(.heartRate, heart) == 190)
        var steps = SampleSum()
        steps.add(sum: 4_000_000, count: 40)
        #expect(steps.code(.steps, GroupDataType.steps.scales(.hour)[0]) == 80)
        #expect(heart.mean(ofCodes: [10, 11]) == 11 && heart.mean(ofCodes: []) == nil)
    }
}
