// `trackme simulate`: a population of wearables.

import ArgumentParser
import Contracts
import Foundation
import ServiceKit

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends the vital signs of simulated people, whose hearts fail on request.",
        discussion: """
            Makes its people's devices itself, remembers them, and goes on with them in the next run. Bodies are the same for the same \
            --seed; healthy ones never leave the default bounds, so every emergency was planted. Entries wait in a sealed queue until \
            they are acknowledged. --ledger writes every acknowledged entry and every planted breach as JSON lines, values included: \
            keep it outside the suite's folder.

            Example: trackme simulate --people 5 --subscribe --failing 1 --emergency-after 20s

            \(ExitStatus.documentation)
            """)

    @Option(help: "How many people.")
    var people = 3
    @Option(help: ArgumentHelp("How often each measures and uploads.", valueName: "duration"))
    var interval: SpokenDuration?
    @Option(help: ArgumentHelp("Uploads per second and person, instead of --interval.", valueName: "N"))
    var rate: Double?
    @Option(help: ArgumentHelp("How many people's hearts fail.", valueName: "K"))
    var failing = 0
    @Option(help: ArgumentHelp("When the first heart fails.", valueName: "duration"))
    var emergencyAfter = SpokenDuration(.seconds(20))
    @Option(help: ArgumentHelp("From one failing heart to the next.", valueName: "duration"))
    var emergencySpacing = SpokenDuration(.seconds(1))
    @Option(help: ArgumentHelp("How long a heart fails; default: to the end.", valueName: "duration"))
    var emergencyLasts: SpokenDuration?
    @Option(help: ArgumentHelp("How long to go on; default: until Ctrl-C.", valueName: "duration"))
    var duration: SpokenDuration?
    @Option(help: "The same seed gives the same bodies.")
    var seed: UInt64 = 1
    @Flag(help: "Put all of them under supervision (their clauses count as accepted).")
    var subscribe = false
    @Option(help: ArgumentHelp("Write acknowledged entries and planted breaches here.", valueName: "file"))
    var ledger: String?
    @OptionGroup var client: ClientOptions
    @OptionGroup var suite: SuiteOptions

    private static let mostPeople = 100_000
    private static let connections = 256
    private static let progressEvery = Duration.milliseconds(500)

    func validate() throws {
        guard (1...Simulate.mostPeople).contains(people) else { throw ValidationError("--people must be from 1 to \(Simulate.mostPeople)") }
        guard (0...people).contains(failing) else { throw ValidationError("--failing must be from 0 to --people") }
        if let rate, !(0.0001...1000).contains(rate) { throw ValidationError("--rate must be from 0.0001 to 1000 a second") }
        if rate != nil, interval != nil { throw ValidationError("give either --interval or --rate") }
        if let interval, interval.duration < .milliseconds(1) { throw ValidationError("--interval must be at least 1ms") }
    }

    private var plan: PopulationPlan {
        let pace = rate.map { Duration.microseconds(Int64(1_000_000 / $0)) } ?? interval?.duration ?? .seconds(1)
        return PopulationPlan(
            people: people, failing: failing, emergencyAfter: emergencyAfter.duration, spacing: emergencySpacing.duration,
            emergencyLasts: emergencyLasts?.duration, interval: pace, seed: seed)
    }

    func run() async throws {
        try await reportingErrors {
            let queue = try OutboxQueue.open(client.folder("simulate", in: suite.layout), durability: .written)
            let ledger = try ledger.map { try SimulationLedger(URL(fileURLWithPath: $0)) }
            let population = try await Population.gather(
                plan, queue: queue, layout: suite.layout, subscribe: subscribe, ledger: ledger)
            let run = SimulationRun(
                plan: plan, people: population, queue: queue, transport: client.transport(parallel: min(people, Simulate.connections)),
                duration: duration?.duration, ledger: ledger)
            Console.shared.line("\(people) people, an upload every \(SpokenDuration(plan.interval)) each, seed \(seed), to \(client.url)")
            try await follow(run)
            let figures = run.meter.now
            Console.shared.line(figures.line)
            figures.account.lines.forEach { Console.shared.line($0) }
            Console.shared.line("\(queue.waiting) entries waiting")
            guard queue.waiting == 0 else {
                throw OperatorError(.failed, "not everything was delivered", mend: "run the command again: what waits is sent first")
            }
        }
    }

    /// Until the run ends or the operator interrupts it.
    private func follow(_ run: SimulationRun) async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await run.run()
                return true
            }
            group.addTask {
                await Interrupt.wait()
                return true
            }
            group.addTask {
                while !Task.isCancelled {
                    var figures = run.meter.now
                    figures.waiting = run.queue.waiting
                    Console.shared.progress(figures.line)
                    try? await Task.sleep(for: Simulate.progressEvery)
                }
                return false
            }
            _ = try await group.next()
            group.cancelAll()
        }
        let waiting = run.queue.waiting
        run.meter.change { $0.waiting = waiting }
    }
}

/// Finds or makes the simulated people.
enum Population {
    static func gather(
        _ plan: PopulationPlan, queue: OutboxQueue, layout: SuiteLayout, subscribe: Bool, ledger: SimulationLedger?
    ) async throws -> [SimulatedPerson] {
        let known = SimulatedPerson.remembered(queue.lanes)
        let people: [SimulatedPerson]
        if !subscribe, (0..<plan.people).allSatisfy({ known[$0] != nil }) {
            people = (0..<plan.people).compactMap { known[$0] }
        } else {
            people = try await SuiteConnection.with(layout) { connection in
                var people: [SimulatedPerson] = []
                for number in 0..<plan.people {
                    let one: SimulatedPerson
                    if let before = known[number] {
                        one = before
                    } else {
                        one = try await add(number, plan, queue, connection)
                    }
                    if subscribe {
                        _ = try await connection.ask(SubscribePerson(person: one.person, clausesAccepted: true, bounds: [:]))
                    }
                    people.append(one)
                }
                return people
            }
        }
        for one in people { try ledger?.person(one.person, one.device) }
        return people
    }

    private static func add(
        _ number: Int, _ plan: PopulationPlan, _ queue: OutboxQueue, _ connection: SuiteConnection
    ) async throws -> SimulatedPerson {
        let request = AddDevice(person: nil, name: "simulated \(number)", intervalMs: max(1, plan.interval.wholeMilliseconds))
        let one = SimulatedPerson(try await connection.ask(request))
        try queue.open(lane: one.lane(number), token: one.token)
        return one
    }
}
