// `CohortBenchmark`: the anonymiser's own sources, asked by a benchmark in place of a bus. `Service` is a link to them.

import ArgumentParser
import Bus
import Contracts
import Foundation
import Logging
import ServiceKit
import Storage

/// Started by `Benchmarks anonymiser`.
@main
struct App: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "CohortBenchmark", abstract: "Counts groups of people who are made up, or fills a store with them.",
        subcommands: [CountCommand.self, FillCommand.self])
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
