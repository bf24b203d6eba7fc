// One row of a recording taken apart: each target of the mapping gives exactly one outcome, so that every cell is accounted for.

import Contracts

/// What one target made of one row.
enum CellOutcome: Hashable, Sendable {
    case reading(Sample)
    /// The device reported nothing.
    case empty
    /// Outside what is physically possible, such as the 0 of a disconnected sensor: not a measurement, not sent.
    case noReading
    /// Not a number.
    case unreadable
}

struct RecordingRow: Hashable, Sendable {
    var at: Timestamp
    /// As many as the mapping has targets, in their order.
    var outcomes: [CellOutcome]

    /// Nil where the row's time cannot be read. Missing cells at the end of a short row are empty.
    init?(_ fields: [String], by mapping: RecordingMapping) {
        guard mapping.time < fields.count, let at = RecordedTime.read(fields[mapping.time]) else { return nil }
        self.at = at
        outcomes = mapping.targets.map { target in
            switch target {
            case .metric(let metric, let column, let conversion):
                RecordingRow.scalar(metric, Cell(fields, column), conversion, at: at)
            case .position(let latitude, let longitude, let altitude, let conversion, let accuracy):
                RecordingRow.position(
                    Cell(fields, latitude), Cell(fields, longitude), altitude: Cell(fields, altitude).number.map { conversion($0) },
                    accuracy: Cell(fields, accuracy).number, at: at)
            }
        }
    }

    private static func scalar(_ metric: Metric, _ cell: Cell, _ conversion: UnitConversion, at: Timestamp) -> CellOutcome {
        switch cell {
        case .empty: return .empty
        case .text: return .unreadable
        case .number(let number):
            let value = conversion(number)
            return metric.definition.possible.contains(value) ? .reading(Sample(type: metric, at: at, value: value)) : .noReading
        }
    }

    private static func position(
        _ latitude: Cell, _ longitude: Cell, altitude: Double?, accuracy: Double?, at: Timestamp
    ) -> CellOutcome {
        switch (latitude, longitude) {
        case (.empty, _), (_, .empty): return .empty
        case (.number(let latitude), .number(let longitude)):
            var position = Position(latitude: latitude, longitude: longitude, altitude: altitude, accuracy: accuracy)
            if !position.isOnEarth { (position.altitude, position.accuracy) = (nil, nil) }
            return position.isOnEarth ? .reading(Sample(type: .position, at: at, value: nil, position: position)) : .noReading
        default: return .unreadable
        }
    }

    private enum Cell {
        case empty
        case number(Double)
        case text

        init(_ fields: [String], _ column: Int?) {
            guard let column, column < fields.count else {
                self = .empty
                return
            }
            let text = fields[column].trimmed
            if text.isEmpty {
                self = .empty
            } else if let number = Double(text), number.isFinite {
                self = .number(number)
            } else {
                self = .text
            }
        }

        var number: Double? {
            if case .number(let number) = self { number } else { nil }
        }
    }
}
