// `CohortBenchmark`: the anonymiser's own sources, asked by a benchmark in place of a bus. `Service` is a link to them.

import ArgumentParser
import Bus
import Contracts
import Foundation
import Logging
import ServiceKit
import Storage

/// Started by `Benchmarks anonymiser`; `shares` also by hand.
@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "CohortBenchmark", abstract: "Counts and judges groups of people who are made up, or fills a store with them.",
        subcommands: [CountCommand.self, FillCommand.self, SharesCommand.self])
}

struct CountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "count", abstract: "Counts and classes groups in memory; prints one line of JSON, as reference/columns.py does.")

    @Option(help: "People who are made up.")
    var people: Int
    @Option(help: "Folder to which the columns and the questions are written for references; nothing is written without it.")
    var export: String?

    func run() async throws {
        let places = try GroupPlaces.shipped()
        let counts = CohortCounts(MadeUpPeople(people, places.catalogue))
        if let export { try CohortExport(counts).write(to: URL(fileURLWithPath: export, isDirectory: true)) }
        print(String(decoding: try JSONEncoder().encode(counts.answers()), as: UTF8.self))
    }
}

struct FillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fill", abstract: "Makes the store that the anonymiser would have of these people, where the settings say.")

    @Option(help: "People who are made up.")
    var people: Int
    @Option(help: "Past days of which hours are kept too, of three types.")
    var hourDays: Int

    func validate() throws {
        guard people > 0, (0...MadeUpPeople.days).contains(hourDays) else { throw ValidationError("too few people, or too many days") }
    }

    func run() async throws {
        var reader = SettingsReader(environment: ProcessInfo.processInfo.environment)
        let settings = SuiteSettings(&reader, peer: AnonymiserAssembly.peer, httpPort: AnonymiserAssembly.httpPort)
        let runtime = try Runtime(peer: AnonymiserAssembly.peer, settings: settings, logger: Logger(label: "fill"))
        let opened = try await OpenedStore(
            on: runtime, applicationID: AnonymiserSchema.applicationID, migrations: AnonymiserSchema.migrations)
        let made = MadeUpPeople(people, try GroupPlaces.shipped().catalogue)
        try await PopulationFilling(
            made, stores: Population.Stores(key: try runtime.key("cohorts"), policy: AnonymityPolicy()), store: opened.store, now: .now,
            hourDays: hourDays
        ).fill()
        await opened.store.close()
        await opened.keys.close()
        await runtime.bus.shutdown()
    }
}

struct SharesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shares", abstract: "Which share of honest requests the guard of differences refuses; a table, and one line of JSON.",
        discussion: "Each organisation makes the most requests that are asked for; of fewer, the first ones count.")

    @Option(help: "People who are made up.")
    var people = 20_000
    @Option(help: "Organisations, each with requests of its own.")
    var organisations = 32
    @Option(parsing: .upToNextOption, help: "Requests of each organisation.")
    var requests = [8, 25, 64]
    @Option(parsing: .upToNextOption, help: "ano.difference_min.")
    var differences = [101, 1001]
    @Option(help: "Days in which windows of one to three days lie; the fewer there are, the more groups are compared.")
    var days = 7
    @Option(help: "From the same seed the same people and requests are drawn.")
    var seed: UInt64 = 7

    func validate() throws {
        let policy = AnonymityPolicy()
        guard people > 0, organisations > 0, (1...MadeUpPeople.days).contains(days), !requests.isEmpty, !differences.isEmpty else {
            throw ValidationError("people, organisations and days must be positive, and days at most \(MadeUpPeople.days)")
        }
        guard requests.allSatisfy({ (1...policy.admittedCohorts).contains($0) }) else {
            throw ValidationError("requests must be 1 to \(policy.admittedCohorts), as many as may be admitted")
        }
        for difference in differences {
            var stricter = policy
            stricter.fewestDiffering = difference
            if let fault = stricter.faults.first { throw ValidationError("\(difference): \(fault)") }
        }
    }

    func run() async throws {
        let places = try GroupPlaces.shipped()
        let source = SyntheticSource(people, days: days, seed: seed, places, AnonymityPolicy())
        let shares = try GuardShares(requests: requests, differences: differences, organisations: organisations, seed: seed)
            .measure(source, places)
        print(GuardShares.table(shares))
        print(String(decoding: try JSONEncoder().encode(shares), as: UTF8.self))
    }
}
