// One person who is made up: who they are, and how their body and their days are.

import Contracts

struct SyntheticPerson: Hashable, Sendable {
    let person: PersonID
    let birthDate: String
    let sex: Sex?
    let birthPlace: String
    let town: SyntheticTown
    let occupation: Occupation
    /// In kg.
    let weight: Int
    /// In cm.
    let height: Int
    /// What is shared anonymously, whether it is measured or not.
    let shares: [GroupDataType]
    /// What the person's devices measure.
    let measures: Set<GroupDataType>
    let body: SyntheticBody
    let places: SyntheticPlaces
    /// For what happens by the hour and the day.
    let seed: UInt64
}

/// What differs from person to person and stays: means in thousandths of each unit.
struct SyntheticBody: Hashable, Sendable {
    let heartRate: Int
    let oxygenSaturation: Int
    let systolic: Int
    let diastolic: Int
    let temperature: Int
    let glucose: Int
    /// One in some thousands has a heart that races all day, so that attacks have somebody to look for.
    let isOutlier: Bool
}

/// The squares of somebody's days; four at most, so that none is left out of a day.
struct SyntheticPlaces: Hashable, Sendable {
    let home: GridCell
    let work: GridCell
    let halfway: GridCell
    let leisure: GridCell
}

extension SyntheticPerson {
    /// The types of a population, each with how many in a thousand measure it.
    static let types: [(type: GroupDataType, permille: Int)] = [
        (.heartRate, 1000), (.oxygenSaturation, 600), (.bloodPressure, 350), (.bodyTemperature, 300), (.glucose, 120), (.position, 850),
    ]
    /// In a thousand, of each type.
    static let optedOut = 50
    /// Every so manieth heart races.
    static let outlierEvery = 3001

    /// People of Italy in ten thousands by five years of age from 15 on, rounded (ISTAT, 2024).
    private static let agesFrom = 15
    private static let ages = [290, 298, 302, 322, 332, 366, 442, 477, 482, 434, 372, 334, 290, 222, 142, 62, 18]

    /// - Parameters:
    ///   - index: of the population; the same for the same seed, however many others there are.
    ///   - today: days since 1970.
    init(_ index: Int, seed: UInt64, today: Int, _ towns: SyntheticTowns) {
        var random = SyntheticRandom(seed, UInt64(index))
        person = PersonID(bits: UInt128(random.next()) << 64 | UInt128(random.next()))
        let age = Self.agesFrom + 5 * random.pick(Self.ages) + random.below(5)
        let born = CivilDate(daysSince1970: Int64(today - age * 1461 / 4 - 1 - random.below(364)))
        birthDate = born.text
        sex = [Sex.female, .male, .other, nil][random.pick([508, 482, 5, 5])]
        town = towns.drawn(&random)
        switch random.pick([550, 350, 100]) {
        case 0: birthPlace = town.code
        case 1: birthPlace = towns.drawn(&random).code
        default: birthPlace = SyntheticTowns.abroad[random.below(SyntheticTowns.abroad.count)]
        }
        occupation = Self.occupation(age, &random)
        let isMale = sex == .male
        height = min(max((isMale ? 175 : 162) + random.normal(deviation: 7), 140), 210)
        let usual = (isMale ? 79 : 65) + (height - (isMale ? 175 : 162)) * 7 / 10
        weight = min(max(usual + random.normal(deviation: 12), 38), 180)
        var (shares, measures): ([GroupDataType], Set<GroupDataType>) = ([], [])
        for (type, permille) in Self.types {
            if random.isTrue(permille: permille) { measures.insert(type) }
            if !random.isTrue(permille: Self.optedOut) { shares.append(type) }
        }
        // Of people who share nothing nobody tells.
        self.shares = shares.isEmpty ? [.heartRate] : shares
        self.measures = measures
        body = SyntheticBody(age, isOutlier: index % Self.outlierEvery == Self.outlierEvery / 3, &random)
        places = SyntheticPlaces(town, isBusy: occupation != .unemployed, &random)
        self.seed = random.next()
    }

    private static func occupation(_ age: Int, _ random: inout SyntheticRandom) -> Occupation {
        let weights =
            switch age {
            case ..<19: [92, 5, 3]
            case ..<26: [45, 42, 13]
            case ..<65: [2, 74, 24]
            // Who draws a pension counts as not employed.
            default: [0, 11, 89]
            }
        return [Occupation.student, .employed, .unemployed][random.pick(weights)]
    }

    /// - Parameter since: when all of it was opted in to.
    func profile(since: Timestamp) -> CohortProfile {
        let metrics = Metric.all.filter { metric in shares.contains { $0.metrics.contains(metric) } }
        return CohortProfile(
            birthDate: birthDate, sex: sex?.code, cityOfBirth: birthPlace, cityOfResidence: town.code, occupation: occupation.code,
            weight: Double(weight), height: Double(height), shares: metrics.map { CohortOptIn(metric: $0, since: since) })
    }
}

extension SyntheticBody {
    fileprivate init(_ age: Int, isOutlier: Bool, _ random: inout SyntheticRandom) {
        heartRate = isOutlier ? 195_000 : 70_000 + random.normal(deviation: 8000)
        oxygenSaturation = 97_000 + random.normal(deviation: 800)
        systolic = 108_000 + age * 350 + random.normal(deviation: 11_000)
        diastolic = 70_000 + age * 120 + random.normal(deviation: 7000)
        temperature = 36_500 + random.normal(deviation: 250)
        glucose = (random.isTrue(permille: 80) ? 150_000 : 96_000) + random.normal(deviation: 9000)
        self.isOutlier = isOutlier
    }
}

extension SyntheticPlaces {
    /// Two of five who work or learn do it in another town, of the same size and up to 20 km away.
    fileprivate init(_ town: SyntheticTown, isBusy: Bool, _ random: inout SyntheticRandom) {
        home = town.square(&random)
        leisure = town.square(&random)
        let near = town.square(&random)
        let (columns, rows) = (random.below(41) - 20, random.below(41) - 20)
        work = isBusy ? (random.isTrue(permille: 400) ? near.moved(columns, rows) : near) : home
        halfway = GridCell(x: (home.x + work.x) / 2, y: (home.y + work.y) / 2)
    }
}

extension CivilDate {
    /// `1940-05-01`.
    fileprivate var text: String {
        func digits(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    }
}
