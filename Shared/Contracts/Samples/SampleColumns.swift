// Many entries of one type as columns: a page of a thousand objects would say the same names a thousand times.

/// Entries of one type in order of time. Personal.
package struct SampleColumns: Hashable, Codable, Sendable {
    package let type: Metric
    /// The first entry's time, then of each further one how much later it is than the one before it; in ms.
    package let steps: [Int64]
    /// One for each step, in the metric's UCUM unit; none of `Metric.position`.
    package let values: [Double]
    /// One for each step of `Metric.position`; none of other metrics.
    package let positions: [Position]

    package static func none(of type: Metric) -> SampleColumns {
        SampleColumns(of: type, times: [], values: [], positions: [])
    }

    /// - Parameters:
    ///   - times: in ms, ascending.
    ///   - values: as many, or none of `Metric.position`.
    ///   - positions: none, or as many of `Metric.position`.
    package init(of type: Metric, times: [Int64], values: [Double], positions: [Position]) {
        var previous: Int64 = 0
        let steps = times.map { time in
            defer { previous = time }
            return time &- previous
        }
        guard let columns = SampleColumns(type: type, steps: steps, values: values, positions: positions) else {
            preconditionFailure("every entry has a value or a position, as its metric says")
        }
        self = columns
    }

    /// Nil for columns that do not belong together.
    package init?(type: Metric, steps: [Int64], values: [Double], positions: [Position]) {
        let isPlaces = type.definition.shape == .position
        guard values.count == (isPlaces ? 0 : steps.count), positions.count == (isPlaces ? steps.count : 0) else { return nil }
        (self.type, self.steps, self.values, self.positions) = (type, steps, values, positions)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let columns = SampleColumns(
            type: try container.decode(Metric.self, forKey: .type), steps: try container.decode([Int64].self, forKey: .steps),
            values: try container.decode([Double].self, forKey: .values),
            positions: try container.decode([Position].self, forKey: .positions))
        guard let columns else {
            throw DecodingError.dataCorruptedError(forKey: .steps, in: container, debugDescription: "columns of different lengths")
        }
        self = columns
    }

    package var count: Int { steps.count }
    package var isEmpty: Bool { steps.isEmpty }

    /// In order of time; each has a value or a position, as its metric says.
    package func forEach(_ body: (_ at: Timestamp, _ value: Double?, _ position: Position?) -> Void) {
        var time: Int64 = 0
        for index in steps.indices {
            time = time &+ steps[index]
            body(Timestamp(milliseconds: time), values.isEmpty ? nil : values[index], positions.isEmpty ? nil : positions[index])
        }
    }

    /// One by one.
    package var samples: [Sample] {
        var samples: [Sample] = []
        samples.reserveCapacity(count)
        forEach { samples.append(Sample(type: type, at: $0, value: $1, position: $2)) }
        return samples
    }
}
