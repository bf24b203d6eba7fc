// What a recording's columns become: each target takes one or more columns and gives at most one entry per row.

import Contracts

/// One kind of entry that rows of a recording give.
enum MappingTarget: Hashable, Sendable {
    case metric(Metric, column: Int, UnitConversion)
    case position(latitude: Int, longitude: Int, altitude: Int?, altitudeConversion: UnitConversion, accuracy: Int?)

    var metric: Metric {
        switch self {
        case .metric(let metric, _, _): metric
        case .position: .position
        }
    }
}

/// Why a recording cannot be used at all.
enum MappingError: Error, Hashable, CustomStringConvertible {
    case noTime(headers: [String])
    case nothingKnown(headers: [String])
    case twice(Metric, String, String)
    case halfAPosition

    var description: String {
        switch self {
        case .noTime(let headers):
            "no column for the time among \(headers.joined(separator: ", ")): call one “time” and write RFC 3339 instants in it"
        case .nothingKnown(let headers):
            "none of the columns is known (\(headers.joined(separator: ", "))): name them after the metrics, such as heart-rate, with a unit"
        case .twice(let metric, let one, let other):
            "columns \(one) and \(other) are both \(metric): take one of them out"
        case .halfAPosition: "a position needs both a latitude and a longitude column"
        }
    }
}

/// The mapping of one file's columns.
struct RecordingMapping: Sendable {
    let headers: [String]
    let time: Int
    let targets: [MappingTarget]
    /// Columns that nothing is made of.
    let ignored: [Int]

    init(headers: [String]) throws(MappingError) {
        self.headers = headers
        let roles = headers.map { ColumnTable.role(of: $0) }
        guard let time = roles.firstIndex(of: .time) else { throw .noTime(headers: headers) }
        self.time = time
        var targets: [MappingTarget] = []
        for (column, role) in roles.enumerated() {
            guard case .metric(let metric, let conversion)? = role else { continue }
            if let earlier = targets.first(where: { $0.metric == metric }), case .metric(_, let first, _) = earlier {
                throw .twice(metric, headers[first], headers[column])
            }
            targets.append(.metric(metric, column: column, conversion))
        }
        let position = try RecordingMapping.position(in: roles)
        if let position { targets.append(position) }
        guard !targets.isEmpty else { throw .nothingKnown(headers: headers) }
        self.targets = targets
        let used = Set(targets.flatMap(\.columns)).union([time])
        ignored = headers.indices.filter { !used.contains($0) }
    }

    private static func position(in roles: [ColumnRole?]) throws(MappingError) -> MappingTarget? {
        let latitude = roles.firstIndex(of: .latitude)
        let longitude = roles.firstIndex(of: .longitude)
        if latitude == nil, longitude == nil { return nil }
        guard let latitude, let longitude else { throw .halfAPosition }
        var altitude: (column: Int, conversion: UnitConversion)?
        var accuracy: Int?
        for (column, role) in roles.enumerated() {
            switch role {
            case .altitude(let conversion): altitude = altitude ?? (column, conversion)
            case .accuracy: accuracy = accuracy ?? column
            default: break
            }
        }
        return .position(
            latitude: latitude, longitude: longitude, altitude: altitude?.column,
            altitudeConversion: altitude?.conversion ?? UnitConversion(unit: "m"), accuracy: accuracy)
    }

    /// For people: one line per target and one for what is left out.
    var lines: [String] {
        var lines = ["time ← \(headers[time])"]
        for target in targets {
            switch target {
            case .metric(let metric, let column, let conversion):
                lines.append("\(metric) [\(metric.definition.unit)] ← \(headers[column])" + conversion.remark)
            case .position(let latitude, let longitude, let altitude, _, let accuracy):
                let columns = [latitude, longitude] + [altitude, accuracy].compactMap(\.self)
                lines.append("position [deg] ← " + columns.map { headers[$0] }.joined(separator: ", "))
            }
        }
        if !ignored.isEmpty { lines.append("not used: " + ignored.map { headers[$0] }.joined(separator: ", ")) }
        return lines
    }
}

extension MappingTarget {
    var columns: [Int] {
        switch self {
        case .metric(_, let column, _): [column]
        case .position(let latitude, let longitude, let altitude, _, let accuracy):
            [latitude, longitude] + [altitude, accuracy].compactMap(\.self)
        }
    }
}

extension UnitConversion {
    fileprivate var remark: String {
        if scale == 1, offset == 0 { return "" }
        return offset == 0 ? " (\(unit) × \(scale))" : " (\(unit) × \(scale) + \(offset))"
    }
}
