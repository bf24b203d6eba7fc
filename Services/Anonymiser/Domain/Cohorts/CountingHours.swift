// From which hour on what is kept of a person counts, by type and row (ANO-09).

/// Hours since 1970. A bucket counts that ends after its person's hour; of the hours before, nothing is ever given out again, though it may
/// stand in a closed bucket still.
struct CountingHours: Sendable {
    /// Nothing has been said of the person yet.
    static let unknown = Int32.max - 1
    /// Not shared, or erased.
    static let ended = Int32.max

    private var hours = [[Int32]](repeating: [], count: GroupDataType.allCases.count + 1)

    /// Rows that are new are `unknown`.
    mutating func grow(to count: Int) {
        for type in GroupDataType.measured {
            let missing = count - hours[Int(type.rawValue)].count
            if missing > 0 { hours[Int(type.rawValue)].append(contentsOf: repeatElement(Self.unknown, count: missing)) }
        }
    }

    /// `unknown` beyond the last row.
    subscript(type: GroupDataType, row: Int) -> Int32 {
        get {
            let column = hours[Int(type.rawValue)]
            return row < column.count ? column[row] : Self.unknown
        }
        set { hours[Int(type.rawValue)][row] = newValue }
    }

    /// By row.
    func column(_ type: GroupDataType) -> [Int32] { hours[Int(type.rawValue)] }

    /// Whether an hour that closes is kept: also where nothing has been said of the person yet, since consent may only be
    /// slower than ingest.
    static func isKept(hour: Int, from counting: Int32) -> Bool {
        counting == unknown || hour >= Int(counting)
    }
}
