// Many entries of one type as columns: a page of a thousand objects would say the same names a thousand times.

/// Entries of one type in order of time. Personal.
package struct SampleColumns: Hashable, Codable, Sendable {
    package let type: Metric
    /// Two numbers for each run of entries that keep one pace: how much later each is than the one before it, in ms, and how many
    /// they are. The first entry's time is counted from 1970.
    package let paces: [Int64]
    /// One for each entry, in the metric's UCUM unit; none of `Metric.position`.
    package let values: [Double]
    /// One for each entry of `Metric.position`; none of other metrics.
    package let positions: [Position]

    package static func none(of type: Metric) -> SampleColumns {
        SampleColumns(of: type, times: [], values: [], positions: [])
    }

    /// - Parameters:
    ///   - times: in ms, ascending.
    ///   - values: as many, or none of `Metric.position`.
    ///   - positions: none, or as many of `Metric.position`.
    package init(of type: Metric, times: [Int64], values: [Double], positions: [Position]) {
        var paces: [Int64] = []
        var previous: Int64 = 0
        for time in times {
            let step = time &- previous
            previous = time
            if paces.count > 0, paces[paces.count - 2] == step { paces[paces.count - 1] += 1 } else { paces += [step, 1] }
        }
        guard let columns = SampleColumns(type: type, paces: paces, values: values, positions: positions) else {
            preconditionFailure("every entry has a value or a position, as its metric says")
        }
        self = columns
    }

    /// Nil for columns that do not belong together.
    package init?(type: Metric, paces: [Int64], values: [Double], positions: [Position]) {
        let isPlaces = type.definition.shape == .position
        guard isPlaces ? values.isEmpty : positions.isEmpty, paces.count.isMultiple(of: 2) else { return nil }
        // Nothing is made of a number of entries before it is known that there are so many.
        var left = Int64(isPlaces ? positions.count : values.count)
        for place in stride(from: 1, to: paces.count, by: 2) {
            guard paces[place] > 0, paces[place] <= left else { return nil }
            left -= paces[place]
        }
        guard left == 0 else { return nil }
        (self.type, self.paces, self.values, self.positions) = (type, paces, values, positions)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let columns = SampleColumns(
            type: try container.decode(Metric.self, forKey: .type), paces: try container.decode([Int64].self, forKey: .paces),
            values: try container.decode([Double].self, forKey: .values),
            positions: try container.decode([Position].self, forKey: .positions))
        guard let columns else {
            throw DecodingError.dataCorruptedError(forKey: .paces, in: container, debugDescription: "columns of different lengths")
        }
        self = columns
    }

    package var count: Int { max(values.count, positions.count) }
    package var isEmpty: Bool { paces.isEmpty }

    /// The time of each entry in turn, in ms; asked for `count` times at most.
    struct Times {
        private let paces: [Int64]
        private var place = -2
        private var left: Int64 = 0
        private var time: Int64 = 0

        fileprivate init(_ paces: [Int64]) {
            self.paces = paces
        }

        @inline(__always)
        mutating func next() -> Int64 {
            if left == 0 {
                place += 2
                left = paces[place + 1]
            }
            left -= 1
            time = time &+ paces[place]
            return time
        }
    }

    var times: Times { Times(paces) }

    /// In order of time; each has a value or a position, as its metric says.
    package func forEach(_ body: (_ at: Timestamp, _ value: Double?, _ position: Position?) -> Void) {
        var times = times
        for index in 0..<count {
            body(Timestamp(milliseconds: times.next()), values.isEmpty ? nil : values[index], positions.isEmpty ? nil : positions[index])
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
