// What can be asked for: codes, steps and bounds, all of them public.

import Contracts

extension GroupDataType {
    /// Steps have no metric yet, so that nobody has any.
    var isOffered: Bool { self != .steps }

    /// UCUM; empty for positions.
    var unit: String {
        switch self {
        case .heartRate: Metric.heartRate.definition.unit
        case .oxygenSaturation: Metric.oxygenSaturation.definition.unit
        case .bloodPressure: Metric.bloodPressureMax.definition.unit
        case .bodyTemperature: Metric.bodyTemperature.definition.unit
        case .glucose: Metric.glucose.definition.unit
        case .steps: "{steps}"
        case .position: ""
        }
    }
}

extension Granularity {
    /// Nothing finer than hours is kept of anybody.
    var isOffered: Bool { self != .quarterHour }
}

extension ReadGroupCatalogue.Reply {
    /// - Parameter closedUntil: in quarter hours since 1970.
    init(_ policy: AnonymityPolicy, closedUntil: Int?) {
        self.init(
            types: GroupDataType.allCases.filter(\.isOffered).map {
                DataType(code: $0.code, unit: $0.unit, components: $0.scales(.hour).count)
            },
            granularities: Granularity.allCases.filter(\.isOffered).map(\.code), products: ReleaseProduct.allCases.map(\.code),
            attributes: PersonAttribute.allCases.map(\.code),
            domains: PersonAttribute.allCases.compactMap { attribute in
                attribute.domain.map {
                    Domain(attribute: attribute.code, least: $0.lowerBound, most: $0.upperBound, step: attribute.boundStep)
                }
            },
            sexes: Sex.allCases.map(\.code), occupations: Occupation.allCases.map(\.code), minIndividuals: policy.minIndividuals,
            closedThrough: closedUntil.map { Timestamp(quarter: $0) })
    }
}

extension Timestamp {
    private static let millisecondsPerQuarter: Int64 = 900_000

    /// - Parameter quarter: hours' quarters since 1970.
    init(quarter: Int) {
        self.init(milliseconds: Int64(quarter) * Self.millisecondsPerQuarter)
    }
}
