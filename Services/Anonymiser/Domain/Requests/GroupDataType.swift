// What a group can be asked for, and the public domains in which its values are coded.

/// The scale of one component of a type. Everything is in thousandths of the type's unit, and public: no bound comes from data.
struct ValueScale: Hashable, Sendable {
    let least: Int
    let most: Int
    /// Width of a code.
    let step: Int
    /// To what released means are rounded.
    let rounding: Int

    /// How many codes there are.
    var codes: Int { (most - least) / step + 1 }

    var middle: Int { (least + most) / 2 }
    var halfRange: Int { (most - least) / 2 }

    /// The code, from 0, of a value that is clamped to the domain; halves go up.
    func code(_ value: Int) -> Int {
        (min(max(value, least), most) - least).roundedQuotient(step)
    }

    func value(_ code: Int) -> Int {
        least + code * step
    }
}

/// A type of data of a group. The number is what stores keep.
enum GroupDataType: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    case heartRate = 1
    case oxygenSaturation = 2
    /// Systolic and diastolic in one entry.
    case bloodPressure = 3
    case bodyTemperature = 4
    case glucose = 5
    case steps = 6
    /// Never averaged, and never beside another type.
    case position = 7

    static func < (one: GroupDataType, other: GroupDataType) -> Bool {
        one.rawValue < other.rawValue
    }

    /// The name on the wire.
    var code: String {
        switch self {
        case .heartRate: "heart-rate"
        case .oxygenSaturation: "oxygen-saturation"
        case .bloodPressure: "blood-pressure"
        case .bodyTemperature: "body-temperature"
        case .glucose: "glucose"
        case .steps: "steps"
        case .position: "position"
        }
    }

    init?(code: String) {
        guard let found = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = found
    }

    /// Whether the value of a bucket is the sum of a person's samples, not their mean.
    var isSum: Bool { self == .steps }

    /// One scale for each component; none for positions. Steps are counted per bucket up to a day, and per day in longer ones.
    func scales(_ granularity: Granularity) -> [ValueScale] {
        switch self {
        case .heartRate: [ValueScale(least: 30_000, most: 220_000, step: 1000, rounding: 1000)]
        case .oxygenSaturation: [ValueScale(least: 70_000, most: 100_000, step: 1000, rounding: 200)]
        case .bloodPressure:
            [
                ValueScale(least: 70_000, most: 220_000, step: 1000, rounding: 1000),
                ValueScale(least: 40_000, most: 130_000, step: 1000, rounding: 1000),
            ]
        case .bodyTemperature: [ValueScale(least: 34_000, most: 42_000, step: 100, rounding: 50)]
        case .glucose: [ValueScale(least: 40_000, most: 400_000, step: 5000, rounding: 2000)]
        case .steps:
            granularity <= .hour
                ? [ValueScale(least: 0, most: 8_000_000, step: 50_000, rounding: 50_000)]
                : [ValueScale(least: 0, most: 40_000_000, step: 100_000, rounding: 50_000)]
        case .position: []
        }
    }
}

/// A person's own samples of one component in an open bucket, in thousandths of the unit. Personal.
struct SampleSum: Hashable, Sendable {
    /// Far beyond what a bucket's samples come to, and small enough to be doubled.
    private static let largest = 1 << 60

    private(set) var sum = 0
    private(set) var count = 0

    /// Saturates.
    mutating func add(sum more: Int, count samples: Int) {
        let (total, overflow) = sum.addingReportingOverflow(more)
        sum = overflow ? (more < 0 ? -Self.largest : Self.largest) : min(max(total, -Self.largest), Self.largest)
        count += samples
    }

    /// The code of the bucket's value; nil without samples.
    func code(_ type: GroupDataType, _ scale: ValueScale) -> Int? {
        guard count > 0 else { return nil }
        return scale.code(type.isSum ? sum : sum.roundedQuotient(count))
    }
}

extension ValueScale {
    /// The code of a bucket of several days: the mean of its daily codes, halves up; nil for none. One day more or less moves it by at most
    /// the whole domain divided by the days that there are.
    func mean(ofCodes codes: [Int]) -> Int? {
        codes.isEmpty ? nil : codes.reduce(0, +).roundedQuotient(codes.count)
    }
}
