// People who are made up: the same from the same seed, and plausible.

import Contracts
import Testing

@testable import Anonymiser

@Suite("Synthetic population")
struct SyntheticPopulationTests {
    private static let plan = SyntheticPlan(people: 4000, seed: 7, days: 20_500..<20_503)
    private static let towns = SyntheticTowns(
        [("F205", 1_350_000, 45.46, 9.19), ("H501", 2_750_000, 41.89, 12.48), ("A001", 20_000, 45.36, 11.79)].compactMap {
            code, inhabitants, latitude, longitude in
            GridCell(latitude: latitude, longitude: longitude).map { SyntheticTown(code: code, inhabitants: inhabitants, middle: $0) }
        })
    private static let people = (0..<plan.people).map { plan.person($0, towns) }

    private static func share(_ isCounted: (SyntheticPerson) -> Bool) -> Int {
        people.count(where: isCounted) * 1000 / people.count
    }

    private static func age(_ person: SyntheticPerson) -> Int {
        (plan.days.upperBound * 4 / 1461 + 1970) - (Int(person.birthDate.prefix(4)) ?? 0)
    }

    @Test("the same seed makes the same people and hours, whoever else is made up; another seed makes others")
    func determinism() {
        let more = SyntheticPlan(people: 9000, seed: 7, days: 20_490..<20_503)
        let others = SyntheticPlan(people: 4000, seed: 8, days: 20_500..<20_503)
        for index in stride(from: 0, to: 4000, by: 97) {
            let person = Self.people[index]
            #expect(more.person(index, Self.towns) == person)
            #expect(others.person(index, Self.towns).person != person.person)
            for hour in Self.plan.hours { #expect(more.person(index, Self.towns).summed(hour) == person.summed(hour)) }
        }
        #expect(Set(Self.people.map(\.person)).count == Self.people.count)
    }

    @Test("the random numbers are SplitMix64's, so that they are the same for ever")
    func generator() {
        var random = SyntheticRandom()
        // The published first numbers of the seed 0.
        #expect([random.next(), random.next(), random.next()] == [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F])
    }

    @Test("ages, sexes, occupations and sizes are about those of a country")
    func margins() {
        #expect((480...540).contains(Self.share { $0.sex == .female }))
        #expect((220...330).contains(Self.share { Self.age($0) >= 65 }))
        #expect((10...80).contains(Self.share { Self.age($0) < 18 }))
        #expect((380...560).contains(Self.share { $0.occupation == .employed }))
        #expect(Self.share { $0.occupation == .student && Self.age($0) >= 70 } == 0)
        #expect((600...720).contains(Self.share { $0.town.code == "H501" }))
        #expect((60...140).contains(Self.share { $0.birthPlace.hasPrefix("Z") }))
        func mean(_ sex: Sex, _ value: (SyntheticPerson) -> Int) -> Int {
            let some = Self.people.filter { $0.sex == sex }
            return some.reduce(0) { $0 + value($1) } / some.count
        }
        #expect((160...164).contains(mean(.female, \.height)) && (173...177).contains(mean(.male, \.height)))
        #expect((63...68).contains(mean(.female, \.weight)) && (77...82).contains(mean(.male, \.weight)))
    }

    @Test("one in twenty has opted out of each type, and what is not shared is not told")
    func optOuts() {
        for (type, _) in SyntheticPerson.types {
            #expect((30...75).contains(Self.share { !$0.shares.contains(type) }), "\(type.code)")
        }
        for person in Self.people.prefix(500) {
            for hour in Self.plan.hours {
                guard let told = person.summed(hour) else { continue }
                let metrics = Set(person.shares.filter { person.measures.contains($0) }.flatMap(\.metrics))
                #expect(told.sums.allSatisfy { metrics.contains($0.metric) })
                #expect(told.cells == nil || person.shares.contains(.position))
            }
        }
    }

    @Test("hours are such as ingest tells: metrics in order and each once, at least one sample, sums that can be")
    func facts() {
        for person in Self.people.prefix(300) {
            for hour in Self.plan.hours {
                guard let told = person.summed(hour) else { continue }
                #expect(told.hour.milliseconds % CohortHourSummed.milliseconds == 0 && told.person == person.person)
                let numbers = told.sums.map(\.metric.number)
                #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
                for sum in told.sums {
                    #expect(sum.count >= 1 && sum.metric.definition.possible.contains(Double(sum.sum / sum.count) / 1000))
                }
            }
        }
    }

    @Test("some hours and whole days are missing, and nobody is in more than four squares a day")
    func gaps() {
        let days = Self.people.prefix(1000).flatMap { person in
            Self.plan.days.map { day in (person, (day * 24..<(day + 1) * 24).compactMap { person.summed($0) }) }
        }.filter { $0.0.shares.contains(.heartRate) }
        let empty = days.count(where: { $0.1.isEmpty }) * 1000 / days.count
        #expect((15...50).contains(empty))
        let hours = days.filter { !$0.1.isEmpty }
        let told = hours.reduce(0) { $0 + $1.1.count }
        #expect((920...960).contains(told * 1000 / (hours.count * 24)))
        for (_, day) in days { #expect(Set(day.flatMap { $0.cells ?? [] }).count <= 4) }
    }

    @Test("hearts differ by about eight beats from person to person, sleep at night, and a few race all day")
    func hearts() {
        let others = Self.people.filter { !$0.body.isOutlier }
        #expect(Self.people.count - others.count == 1)
        let mean = others.reduce(0) { $0 + $1.body.heartRate } / others.count
        let variance = others.reduce(0) { $0 + ($1.body.heartRate - mean) * ($1.body.heartRate - mean) } / others.count
        #expect((7500...8500).contains(variance.wholeSquareRoot) && (69_000...71_000).contains(mean))
        func hourly(at hour: Int) -> Int {
            let values = others.flatMap { $0.means(of: Self.plan.hours.lowerBound + hour) }.filter { $0.metric == .heartRate }.map(\.value)
            return values.reduce(0, +) / max(1, values.count)
        }
        #expect(hourly(at: 3) + 10_000 < hourly(at: 12))
    }
}
