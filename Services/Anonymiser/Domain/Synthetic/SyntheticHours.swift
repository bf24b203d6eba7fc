// What people who are made up measure, hour by hour.

import Contracts

/// How many people are made up, and of which days.
struct SyntheticPlan: Hashable, Sendable {
    let people: Int
    let seed: UInt64
    /// Whole UTC days since 1970, the last not included.
    let days: Range<Int>

    /// Whole hours since 1970.
    var hours: Range<Int> { days.lowerBound * 24..<days.upperBound * 24 }

    /// Who is made up.
    func person(_ index: Int, _ towns: SyntheticTowns) -> SyntheticPerson {
        SyntheticPerson(index, seed: seed, today: days.upperBound, towns)
    }
}

/// A person's mean of one metric in one hour, in thousandths of its unit.
struct SyntheticMean: Hashable, Sendable {
    let metric: Metric
    let value: Int
}

extension SyntheticPerson {
    /// Of a thousand days, those of which somebody has nothing at all; and of the hours of the others.
    private static let daysMissed = 30
    private static let hoursMissed = 60
    /// What the heart does by hour of the day, in thousandths of a beat a minute.
    private static let heartByHour = [
        -9000, -10_000, -10_500, -10_500, -9500, -7000, -2000, 2000, 4000, 5000, 5000, 5500, 6000, 5000, 4500, 4500, 5000, 6500, 7000, 5000,
        2500, 0, -3500, -6500,
    ]

    /// Samples behind a mean: the sum that is told is the mean so many times.
    static func count(_ metric: Metric) -> Int {
        switch metric {
        case .heartRate: 60
        case .oxygenSaturation: 12
        case .bodyTemperature: 6
        default: 1
        }
    }

    /// Whether the devices are worn at all on a day since 1970; single hours of it may be missing.
    func isWorn(onDay day: Int) -> Bool {
        var ofDay = SyntheticRandom(seed, 1, UInt64(day))
        return !ofDay.isTrue(permille: Self.daysMissed)
    }

    /// Whether anything is measured; the devices lie in a drawer for single hours, and for whole days.
    private func isWorn(_ hour: Int) -> Bool {
        guard isWorn(onDay: hour / 24) else { return false }
        var ofHour = SyntheticRandom(seed, 2, UInt64(hour))
        return !ofHour.isTrue(permille: Self.hoursMissed)
    }

    /// Of what is measured and shared, in the order of the registry. - Parameter hour: since 1970, UTC.
    func means(of hour: Int) -> [SyntheticMean] {
        guard isWorn(hour) else { return [] }
        var found: [SyntheticMean] = []
        for type in shares where type != .position && measures.contains(type) {
            // Apart from the others, so that it does not depend on what else is shared.
            var random = SyntheticRandom(seed, 3, UInt64(hour), UInt64(type.rawValue))
            found += means(type, hour, &random)
        }
        return found.sorted { $0.metric.number < $1.metric.number }
    }

    private func means(_ type: GroupDataType, _ hour: Int, _ random: inout SyntheticRandom) -> [SyntheticMean] {
        let ofDay = hour % 24
        func mean(_ metric: Metric, _ value: Int, _ range: ClosedRange<Int>) -> SyntheticMean {
            SyntheticMean(metric: metric, value: min(max(value, range.lowerBound), range.upperBound))
        }
        switch type {
        case .heartRate:
            let usual = body.heartRate + (body.isOutlier ? 0 : Self.heartByHour[ofDay])
            let value = usual + random.normal(deviation: body.isOutlier ? 1000 : 6000)
            return [mean(.heartRate, value, 35_000...210_000)]
        case .oxygenSaturation:
            return [mean(.oxygenSaturation, body.oxygenSaturation + random.normal(deviation: 500), 80_000...100_000)]
        case .bloodPressure:
            // In the morning and in the evening, at each person's own hour.
            guard ofDay == 7 + Int(seed % 3) || ofDay == 19 + Int(seed % 3) else { return [] }
            let shared = random.normal(deviation: 5000)
            return [
                mean(.bloodPressureMax, body.systolic + shared + random.normal(deviation: 4000), 75_000...230_000),
                mean(.bloodPressureMin, body.diastolic + shared / 2 + random.normal(deviation: 3000), 40_000...135_000),
            ]
        case .bodyTemperature:
            let value = body.temperature + Self.heartByHour[ofDay] / 25 + random.normal(deviation: 150)
            return [mean(.bodyTemperature, value, 34_000...42_000)]
        case .glucose:
            guard [7, 10, 13, 20].contains(ofDay) else { return [] }
            return [mean(.glucose, body.glucose + random.normal(deviation: 18_000), 45_000...390_000)]
        case .steps, .position: return []
        }
    }

    /// Where the person is; nil where that is not shared, not measured, or not known in that hour.
    func cell(of hour: Int) -> GridCell? {
        guard shares.contains(.position), measures.contains(.position), isWorn(hour) else { return nil }
        var random = SyntheticRandom(seed, 4, UInt64(hour))
        // Day 0 was a Thursday.
        let isWeekend = [2, 3].contains(hour / 24 % 7)
        let isAway = occupation != .unemployed && !isWeekend
        switch hour % 24 {
        case 8, 17: return isAway ? places.halfway : places.home
        case 9..<17:
            if isAway { return places.work }
            return random.isTrue(permille: 350) ? places.leisure : places.home
        case 18..<23: return random.isTrue(permille: 250) ? places.leisure : places.home
        default: return places.home
        }
    }

    /// What is told of an hour; nil where there is nothing.
    func summed(_ hour: Int) -> CohortHourSummed? {
        let (means, cell) = (self.means(of: hour), self.cell(of: hour))
        guard !means.isEmpty || cell != nil else { return nil }
        return CohortHourSummed(
            person: person, hour: Timestamp(milliseconds: Int64(hour) * CohortHourSummed.milliseconds),
            sums: means.map { mean in
                let count = Self.count(mean.metric)
                return CohortHourSummed.Sum(metric: mean.metric, count: count, sum: mean.value * count)
            }, cells: cell.map { [$0] })
    }
}
