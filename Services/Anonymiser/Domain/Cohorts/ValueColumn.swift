// The values of one closed bucket, by row: what tables are made of.

/// Codes of one type in one bucket, plus 1; 0 where a person has none. One column for each component. Personal until it is aggregated.
struct ValueColumn: Hashable, Sendable {
    let scales: [ValueScale]
    private(set) var columns: [[UInt16]]

    init(scales: [ValueScale], size: Int) {
        self.scales = scales
        columns = scales.map { _ in [UInt16](repeating: 0, count: size) }
    }

    /// - Precondition: a column for each component, all of one length, of codes plus 1 that the scales have.
    init(scales: [ValueScale], columns: [[UInt16]]) {
        precondition(scales.count == columns.count, "a column for each component")
        (self.scales, self.columns) = (scales, columns)
    }

    /// - Precondition: one code for each component, within its scale.
    mutating func set(_ codes: [Int], at row: Int) {
        precondition(codes.count == scales.count, "a value has all of its components")
        for component in codes.indices {
            precondition(codes[component] >= 0 && codes[component] < scales[component].codes, "a code of the scale")
            columns[component][row] = UInt16(codes[component] + 1)
        }
    }

    /// An erased person's, and one who opted out before the bucket closed.
    mutating func clear(at row: Int) {
        for component in columns.indices { columns[component][row] = 0 }
    }

    /// H: who has a value.
    var hasData: Bitmap {
        columns.first.map { ColumnScan.members(of: $0, in: [1..<65_536]) } ?? Bitmap(size: 0)
    }
}

/// How a column of codes is kept: chunks of 65,536 rows, a byte a row where the scale has at most 255 codes, two otherwise.
enum ValueChunk {
    enum Fault: Error, Hashable, Sendable {
        case wrongLength
        /// A code that the scale does not have.
        case outside
    }

    static func bytes(_ column: ArraySlice<UInt16>, _ scale: ValueScale) -> [UInt8] {
        guard scale.codes > 255 else { return column.map { UInt8(truncatingIfNeeded: $0) } }
        return column.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    }

    static func read(_ bytes: some RandomAccessCollection<UInt8>, rows: Int, _ scale: ValueScale) throws(Fault) -> [UInt16] {
        let width = scale.codes > 255 ? 2 : 1
        guard bytes.count == rows * width else { throw .wrongLength }
        let bytes = Array(bytes)
        let column =
            width == 1 ? bytes.map(UInt16.init) : (0..<rows).map { UInt16(bytes[2 * $0]) | UInt16(bytes[2 * $0 + 1]) << 8 }
        guard column.allSatisfy({ Int($0) <= scale.codes }) else { throw .outside }
        return column
    }
}
