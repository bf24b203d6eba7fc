// `Benchmarks`: measures each path beside a reference in the same run, on this machine.

import ArgumentParser
import Foundation

@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "Benchmarks", abstract: "Measures each path of the suite beside a reference in the same run.",
        discussion: """
            Run from the root of the repository, after `swift build -c release`. Prints a table; writes one JSON file per benchmark to \
            var/bench. What is measured how: Benchmarks/README.md.
            """)

    @Argument(help: "What to measure; everything unless told.")
    var benchmarks: [BenchmarkName] = [.all]
    @Option(help: "Alternations of each pair; figures are medians of them.")
    var rounds = 3
    @Option(help: "Seconds of load for each figure; `subscriptions` takes fifteen times as many.")
    var seconds = 4
    @Option(help: "Devices that upload, one for each person.")
    var devices = 2000
    @Option(help: "Emergencies of `burst`, by themselves and with help asked for.")
    var emergencies = 2000
    @Option(help: "Seconds within which they begin.")
    var within = 60
    @Option(parsing: .upToNextOption, help: "Entries of one upload, for `ingest`.")
    var batches = [1, 10, 100, 1000]
    @Option(parsing: .upToNextOption, help: "People of whom groups are made, for `anonymiser`.")
    var people = [1_000_000, 10_000_000]
    @Option(help: "Folder for results and, below it, for everything that is stored meanwhile.")
    var folder = "var/bench"
    @Flag(help: "Fail where a figure is 20 % worse than in Benchmarks/thresholds.json, a promise is missed, or something was lost.")
    var check = false

    func validate() throws {
        guard rounds >= 1, seconds >= 1, devices >= 2, emergencies >= 1, within >= 1 else {
            throw ValidationError("rounds, seconds and devices must be positive")
        }
        // Fewer do not fill the groups that are asked for.
        guard people.allSatisfy({ $0 >= 100_000 }) else { throw ValidationError("at least 100000 people") }
    }

    func run() async throws {
        let stage = try Stage(
            folder: folder, rounds: rounds, seconds: seconds, devices: devices, batches: batches, emergencies: emergencies, within: within,
            people: people)
        let interrupts = Program.endAllOnInterrupt()
        defer { withExtendedLifetime(interrupts) { Program.endAll() } }
        print(Machine.line)
        fflush(nil)
        var rows: [Row] = []
        for name in BenchmarkName.each where benchmarks.contains(name) || benchmarks.contains(.all) {
            let found = try await name.measure(on: stage)
            try Report.write(found, of: name.rawValue, to: stage.results)
            print(Report.table(found))
            fflush(nil)
            rows += found
        }
        if check { try Thresholds.load().check(rows) }
    }
}

enum BenchmarkName: String, ExpressibleByArgument, CaseIterable {
    case bus, ingest, query, sos, burst, subscriptions, pages, accesses, grants, anonymiser, restart, all

    static let each: [BenchmarkName] = [
        .bus, .ingest, .query, .sos, .burst, .subscriptions, .pages, .accesses, .grants, .anonymiser, .restart,
    ]

    func measure(on stage: Stage) async throws -> [Row] {
        switch self {
        case .bus: try await BusBenchmark(stage: stage).rows()
        case .ingest: try await IngestBenchmark(stage: stage).rows()
        case .query: try await QueryBenchmark(stage: stage).rows()
        case .sos: try await SOSBenchmark(stage: stage).rows()
        case .burst: try await BurstBenchmark(stage: stage).rows()
        case .subscriptions: try await SubscriptionsBenchmark(stage: stage).rows()
        case .pages: try await PagesBenchmark(stage: stage).rows()
        case .accesses: try await AccessesBenchmark(stage: stage).rows()
        case .grants: try await GrantsBenchmark(stage: stage).rows()
        case .anonymiser: try await AnonymiserBenchmark(stage: stage).rows()
        case .restart: try await RestartBenchmark(stage: stage).rows()
        case .all: []
        }
    }
}
