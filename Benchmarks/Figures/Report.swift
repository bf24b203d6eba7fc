// The table for people and the JSON for programs.

import Foundation

enum Report {
    private struct Document: Codable {
        var machine: String
        var at: String
        var rows: [Row]
    }

    static func write(_ rows: [Row], of benchmark: String, to folder: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        let document = Document(machine: Machine.line, at: Date.now.ISO8601Format(), rows: rows)
        try encoder.encode(document).write(to: folder.appendingPathComponent("\(benchmark).json"))
    }

    /// Median [least..most] of ours and of the reference.
    static func table(_ rows: [Row]) -> String {
        let head = ["", "unit", "ours", "reference", "ratio", "asked", "", "beside"]
        let lines = [head] + rows.map(cells)
        let widths = head.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
        }.joined(separator: "\n") + "\n"
    }

    private static func cells(_ row: Row) -> [String] {
        [
            row.name, row.unit, spread(row.ours), row.reference.map(spread) ?? "-", row.ratio.map { "\(short($0)) ×" } ?? "-",
            row.demandInWords, row.isMet.map { $0 ? "met" : "MISSED" } ?? "", row.beside,
        ]
    }

    private static func spread(_ spread: Spread) -> String {
        spread.least == spread.most ? short(spread.median) : "\(short(spread.median)) [\(short(spread.least))..\(short(spread.most))]"
    }

    /// Three significant digits, thousands in full.
    static func short(_ value: Double) -> String {
        guard value.isFinite else { return "-" }
        if abs(value) >= 100 || value == value.rounded() { return String(Int(value.rounded())) }
        return String(format: abs(value) >= 10 ? "%.1f" : abs(value) >= 0.1 ? "%.2f" : "%.4f", value)
    }
}
