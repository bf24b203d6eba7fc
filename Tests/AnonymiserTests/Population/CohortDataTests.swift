// What releases are made of: right by a shadow that knows everybody, and the same after each kill.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Anonymiser

/// Everybody's samples, counted the simple way.
private struct Shadow {
    /// By person, type, hour and component.
    var sums: [PersonID: [GroupDataType: [Int: [SampleSum]]]] = [:]
    var since: [PersonID: [GroupDataType: Int]] = [:]

    mutating func add(_ fact: CohortHourSummed) {
        let hour = Int(fact.hour.milliseconds / CohortHourSummed.milliseconds)
        for (type, sums) in PersonHour(fact).sums { self.sums[fact.person, default: [:]][type, default: [:]][hour] = sums }
    }

    /// Codes of somebody's bucket; nil for none.
    func codes(_ person: PersonID, _ type: GroupDataType, _ hours: Range<Int>, _ granularity: Granularity) -> [Int]? {
        guard let since = since[person]?[type] else { return nil }
        var total = [SampleSum](repeating: SampleSum(), count: type.components)
        for hour in hours where hour >= since {
            guard let sums = sums[person]?[type]?[hour] else { continue }
            for (component, sum) in sums.enumerated() { total[component].add(sum: sum.sum, count: sum.count) }
        }
        let codes = zip(total, type.scales(granularity)).compactMap { $0.code(type, $1) }
        return codes.count == type.components ? codes : nil
    }
}

@Suite("What releases are made of")
struct CohortDataTests {
    private static let metrics: [Metric] = [
        .heartRate, .bloodPressureMax, .bloodPressureMin, .oxygenSaturation, .bodyTemperature, .glucose,
    ]
    private static let days = 3

    private static func fact(_ person: PersonID, _ hour: Int, _ generator: inout SeededGenerator) -> CohortHourSummed {
        let sums = metrics.filter { _ in Int.random(in: 0..<3, using: &generator) > 0 }.map { metric in
            let count = Int.random(in: 1...90, using: &generator)
            return CohortHourSummed.Sum(metric: metric, count: count, sum: count * Int.random(in: 30_000...230_000, using: &generator) + 7)
        }
        return CohortHourSummed(person: person, hour: CohortStage.time(hour), sums: sums)
    }

    /// Says profiles and three days of hours; `between` may open the store anew after each fact.
    private static func play(
        _ seed: UInt64, people count: Int, _ first: CohortStage, between: (CohortStage) async throws -> CohortStage
    ) async throws -> (stage: CohortStage, people: [PersonID], shadow: Shadow) {
        var generator = SeededGenerator(seed: seed)
        var (shadow, stage) = (Shadow(), first)
        let people = (0..<count).map { _ in
            PersonID(bits: UInt128(generator.next()) << 64 | UInt128(generator.next()))
        }
        for person in people {
            let since = CohortStage.midnight + Int.random(in: -48..<6, using: &generator)
            let shared = metrics.filter { _ in Int.random(in: 0..<5, using: &generator) > 0 }
            try await stage.say(person, CohortStage.profile(since: since, shared, city: Int.random(in: 0..<20, using: &generator)))
            for type in GroupDataType.measuredScalars where Set(type.metrics).isSubset(of: shared) {
                shadow.since[person, default: [:]][type] = since
            }
            stage = try await between(stage)
        }
        for hour in CohortStage.midnight..<CohortStage.midnight + days * 24 {
            for person in people where Int.random(in: 0..<3, using: &generator) > 0 {
                let fact = Self.fact(person, hour, &generator)
                shadow.add(fact)
                try await stage.say(fact)
                stage = try await between(stage)
            }
            try await stage.close(through: hour + 1)
            stage = try await between(stage)
        }
        return (stage, people, shadow)
    }

    /// What is counted without columns is what is counted in them.
    private static func expectCounted(
        _ data: CohortData, _ values: ValueColumn, _ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity
    ) throws {
        let members = data.columns.eligible(for: type)
        let path = RecodingPath([Hierarchy.all(Samples.places)[.sex]].compactMap(\.self))
        let column = ClassColumn(path, cohort: members, columns: path.hierarchies.map { data.columns.codes(of: $0.attribute) })
        let counted = try data.counted(type, bucket, granularity, of: members, in: column)
        var expected = ClassHistogram(column, codes: values.scales[0].codes)
        let everyHour = [Int32](repeating: 0, count: column.ids.count)
        expected.add(values.columns[0][...], of: members, at: 0, ids: column.ids, hours: everyHour, before: 1)
        func rows(_ histogram: ClassHistogram) -> [[UInt32]] { column.codes.indices.map { histogram.withRow($0) { Array($0) } } }
        #expect(rows(counted) == rows(expected), "\(type) \(granularity) \(bucket)")
        #expect(counted.people == values.hasData.resized(to: members.size).intersection(members).count)
    }

    private static func compare(_ stage: CohortStage, _ people: [PersonID], _ shadow: Shadow) async throws {
        let data = await stage.population.current()
        #expect(data.closedUntil == (CohortStage.midnight + days * 24) * TimeSpan.perHour)
        let start = CohortStage.midnight * TimeSpan.perHour
        for type in GroupDataType.measuredScalars {
            for granularity in [Granularity.hour, .sixHours, .day] {
                let length = granularity.length ?? 1
                for quarter in stride(from: start, to: start + days * TimeSpan.perDay, by: length) {
                    let values = try data.values(type, TimeSpan(quarter, quarter + length), granularity)
                    if type.components == 1 { try expectCounted(data, values, type, TimeSpan(quarter, quarter + length), granularity) }
                    let hours = quarter / TimeSpan.perHour..<(quarter + length) / TimeSpan.perHour
                    for person in people {
                        let row = try #require(try await stage.row(person))
                        let expected = shadow.codes(person, type, hours, granularity)
                        let found = values.columns.map { Int($0[row]) - 1 }
                        #expect(found == expected ?? found.map { _ in -1 }, "\(type) \(granularity) \(hours)")
                    }
                }
            }
            for day in Samples.today..<Samples.today + days {
                let found = data.hasData(type, day: day)
                #expect(found.size == data.columns.bitmapSize)
                for person in people {
                    let row = try #require(try await stage.row(person))
                    #expect(found[row] == (shadow.codes(person, type, day * 24..<(day + 1) * 24, .day) != nil), "\(type) \(day)")
                }
            }
            for person in people {
                let row = try #require(try await stage.row(person))
                #expect(data.columns.eligible(for: type)[row] == (shadow.since[person]?[type] != nil))
            }
        }
    }

    @Test("values, who has data and who may be in a group are those of a count that knows everybody", arguments: [1, 2] as [UInt64])
    func shadow(seed: UInt64) async throws {
        try await CohortStage.with { folder, key in
            let played = try await Self.play(seed, people: 24, CohortStage(folder, key: key)) { $0 }
            try await Self.compare(played.stage, played.people, played.shadow)
            // And so they are after a start.
            await played.stage.store.close()
            let again = try await CohortStage(folder, key: key)
            try await Self.compare(again, played.people, played.shadow)
            await again.store.close()
        }
    }

    @Test("a service that is started anew after every fact has the same values as one that never stops")
    func starts() async throws {
        try await CohortStage.with { folder, key in
            let played = try await Self.play(3, people: 3, CohortStage(folder, key: key)) { stage in
                await stage.store.close()
                return try await CohortStage(folder, key: key)
            }
            try await Self.compare(played.stage, played.people, played.shadow)
            await played.stage.store.close()
        }
    }

    @Test("a value that releases hold is not changed by facts that come later")
    func immutable() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            let (anna, bruno) = (PersonID.random(), PersonID.random())
            try await stage.say(anna, CohortStage.profile(since: CohortStage.midnight))
            try await stage.say(CohortStage.rate(anna, CohortStage.midnight, 60))
            try await stage.close(through: CohortStage.midnight + 1)
            let before = await stage.population.current()
            try await stage.say(bruno, CohortStage.profile(since: CohortStage.midnight))
            try await stage.say(anna, nil)
            try await stage.say(CohortStage.rate(bruno, CohortStage.midnight + 1, 70))
            try await stage.close(through: CohortStage.midnight + 2)
            #expect(before.columns.eligible(for: .heartRate).members == [0])
            #expect(before.closedUntil == (CohortStage.midnight + 1) * TimeSpan.perHour)
            #expect(before.hasData(.heartRate, day: Samples.today).members == [0])
            let after = await stage.population.current()
            #expect(after.columns.eligible(for: .heartRate).members == [1])
            #expect(after.changed(since: Timestamp(milliseconds: 0)).members == [0, 1])
            await stage.store.close()
        }
    }

    @Test("who is younger than the policy asks for is in no group, and in one from the eighteenth birthday on")
    func birthday() async throws {
        try await CohortStage.with { folder, key in
            let day = CivilDate(daysSince1970: Int64(Samples.today))
            let born = "\(day.year - 18)-\(String(day.month + 100).dropFirst())-\(String(day.day + 100).dropFirst())"
            let person = PersonID.random()
            let eve = try await CohortStage(folder, key: key, today: Samples.today - 1)
            try await eve.say(person, CohortStage.profile(since: CohortStage.midnight, birthDate: born))
            #expect(await eve.population.current().columns.eligible(for: .heartRate).isEmpty)
            await eve.store.close()
            let after = try await CohortStage(folder, key: key)
            #expect(await after.population.current().columns.eligible(for: .heartRate).members == [0])
            await after.store.close()
        }
    }
}
