// Which share of honest requests is refused as too near to an earlier one: the price of the guard, not a time.

import Foundation

/// Drawn and judged by the service's own domain in another process; by the same seed the same in every run.
struct SharesBenchmark {
    /// As many as attacks have.
    static let few = 20_000

    let people: Int

    /// As `CohortBenchmark shares` prints it.
    private struct Share: Decodable {
        var fewestDiffering: Int
        var guardsAtoms: Bool
        var requestsEach: Int
        /// In per cent, as the interval's ends.
        var share: Double
        var least: Double
        var most: Double
    }

    func rows() async throws -> [Row] {
        let text = try await AnonymiserBenchmark.ask(["shares", "--people", "\(people)"])
        guard let line = text.split(separator: "\n").last(where: { $0.hasPrefix("[") }) else {
            throw BenchmarkError("no share was measured: \(text.suffix(500))")
        }
        return try JSONDecoder().decode([Share].self, from: Data(line.utf8)).map { one in
            let guarding = one.guardsAtoms ? "all combinations" : "pairs"
            return Row(
                "honest requests refused, \(people) people, difference \(one.fewestDiffering), \(guarding), \(one.requestsEach) each", "%",
                [one.least, one.share, one.most])
        }
    }
}
