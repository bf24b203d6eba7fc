// Groups of very many people: counted beside column stores, and released by the service.

/// Of each number of people that is asked for. What the design asks of one million is asked of one million alone.
struct AnonymiserBenchmark {
    static let million = 1_000_000

    let stage: Stage

    func rows() async throws -> [Row] {
        var rows: [Row] = []
        for people in stage.people {
            rows += try await CountsBenchmark(stage: stage, people: people).rows()
            rows += try await ReleasesBenchmark(stage: stage, people: people).rows()
        }
        for people in [SharesBenchmark.few] + stage.people where people <= Self.million {
            rows += try await SharesBenchmark(people: people).rows()
        }
        return rows
    }

    /// In another process, since the service's sources are no library.
    static func ask(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        try await Program.output(Program.own("CohortBenchmark"), arguments, environment: environment)
    }
}
