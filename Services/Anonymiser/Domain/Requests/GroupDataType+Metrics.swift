// Of which metrics of the registry the types of group data are made.

import Contracts

extension GroupDataType {
    /// One for each component, and that of positions; none for steps, which the registry does not have.
    var metrics: [Metric] {
        switch self {
        case .heartRate: [.heartRate]
        case .oxygenSaturation: [.oxygenSaturation]
        case .bloodPressure: [.bloodPressureMax, .bloodPressureMin]
        case .bodyTemperature: [.bodyTemperature]
        case .glucose: [.glucose]
        case .steps: []
        case .position: [.position]
        }
    }

    /// Those that somebody can have values of, in the order of their numbers.
    static let measured = allCases.filter { !$0.metrics.isEmpty }
    /// Without positions.
    static let measuredScalars = measured.filter { $0 != .position }

    /// How many sums a person has of one hour.
    var components: Int { self == .position ? 0 : metrics.count }

    /// The type that a metric is part of, and as which component; nil for metrics of no type, and for positions.
    static func component(of metric: Metric) -> (type: GroupDataType, component: Int)? {
        for type in measuredScalars {
            if let component = type.metrics.firstIndex(of: metric) { return (type, component) }
        }
        return nil
    }
}
