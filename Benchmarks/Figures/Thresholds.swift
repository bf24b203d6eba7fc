// What later runs are held against.

import ArgumentParser
import Foundation

/// By row name: the ratio to the reference, or the figure itself where there is none.
struct Thresholds {
    static let file = "Benchmarks/thresholds.json"
    /// A figure may be worse than its threshold by this share.
    static let tolerance = 0.2

    let figures: [String: Double]

    static func load() throws -> Thresholds {
        let data = try Data(contentsOf: URL(fileURLWithPath: file))
        return Thresholds(figures: try JSONDecoder().decode([String: Double].self, from: data))
    }

    /// Prints what became worse, was lost or misses a promise, and ends with 1 where anything did. Rows without a threshold are too noisy
    /// to be compared.
    func check(_ rows: [Row]) throws {
        let regressions = rows.compactMap { row -> String? in
            guard let known = figures[row.name],
                row.higherIsBetter ? row.figure < known * (1 - Self.tolerance) : row.figure > known * (1 + Self.tolerance)
            else { return nil }
            return "\(row.name): \(Report.short(row.figure)), was \(Report.short(known))"
        }
        let lost = rows.filter { $0.unit == "lost" && $0.ours.most > 0 }.map { "\($0.name): \(Report.short($0.ours.most)) lost" }
        let missed = rows.filter { $0.isJudged && $0.isMet == false }.map {
            "\($0.name): \($0.judgedInWords), promised \($0.demandInWords)"
        }
        let faults = regressions + lost + missed
        guard !faults.isEmpty else { return print("no regression past 20 %, no promise missed") }
        print("regressions:")
        for line in faults { print("  \(line)") }
        throw ExitCode(1)
    }
}
