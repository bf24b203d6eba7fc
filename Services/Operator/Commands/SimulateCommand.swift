// `trackme simulate`: a population of wearables.

import ArgumentParser
import Contracts
import Foundation
import ServiceKit

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends the vital signs of simulated people, whose hearts fail, who fall and who call for help on request.",
        discussion: """
            Makes its people's devices itself, remembers them, and goes on with them in the next run. Bodies are the same for the same \
            --seed; healthy ones never leave the default bounds, so every emergency was planted. Entries wait in a sealed queue until \
            they are acknowledged. --ledger writes every acknowledged entry and every planted breach as JSON lines, values included: \
            keep it outside the suite's folder.

            What can be planted, and what a suite does with it where nobody answers the prompt (--subscribe puts the people under \
            supervision; watch it with trackme sos list and trackme sos timeline):

              --failing K      K hearts race or fade: called for 3.5 s after the first critical value.
              --worse-after D  So long after it began, each of these hearts nearly stops: the emergency service hears "worse"; where it \
            acknowledges nothing for 10 s, so does the next one.
              --falling K      The devices of the next K people report a fall: 20 s to answer, then contacts and ambulance.
              --calling K      The next K people press their device's button for help: called at once.

            The first mishap comes after --emergency-after, each further one --emergency-spacing later.

            Examples:
              trackme simulate --people 5 --subscribe --failing 1 --emergency-after 20s
              trackme simulate --people 4 --subscribe --failing 1 --worse-after 30s --falling 1 --calling 1 --duration 2m

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
    @Option(help: ArgumentHelp("How many people fall, after those whose hearts fail.", valueName: "K"))
    var falling = 0
    @Option(help: ArgumentHelp("How many people call for help, after those who fall.", valueName: "K"))
    var calling = 0
    @Option(help: ArgumentHelp("When something befalls the first person.", valueName: "duration"))
    var emergencyAfter = SpokenDuration(.seconds(20))
    @Option(help: ArgumentHelp("From one person's mishap to the next one's.", valueName: "duration"))
    var emergencySpacing = SpokenDuration(.seconds(1))
    @Option(help: ArgumentHelp("How long a heart fails; default: to the end.", valueName: "duration"))
    var emergencyLasts: SpokenDuration?
    @Option(help: ArgumentHelp("How long after it began to fail a heart nearly stops; default: never.", valueName: "duration"))
    var worseAfter: SpokenDuration?
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
        guard [failing, falling, calling].allSatisfy((0...people).contains), failing + falling + calling <= people else {
            throw ValidationError("--failing, --falling and --calling must be from 0 to --people, all together too")
        }
        if worseAfter != nil, failing == 0 { throw ValidationError("--worse-after needs a heart that fails: add --failing 1") }
        if let worseAfter, let emergencyLasts, worseAfter.duration >= emergencyLasts.duration {
            throw ValidationError("--worse-after must be less than --emergency-lasts")
        }
        if let rate, !(0.0001...1000).contains(rate) { throw ValidationError("--rate must be from 0.0001 to 1000 a second") }
        if rate != nil, interval != nil { throw ValidationError("give either --interval or --rate") }
        if let interval, interval.duration < .milliseconds(1) { throw ValidationError("--interval must be at least 1ms") }
    }

    private var plan: PopulationPlan {
        let pace = rate.map { Duration.microseconds(Int64(1_000_000 / $0)) } ?? interval?.duration ?? .seconds(1)
        return PopulationPlan(
            people: people, failing: failing, falling: falling, calling: calling, emergencyAfter: emergencyAfter.duration,
            spacing: emergencySpacing.duration, emergencyLasts: emergencyLasts?.duration, worseAfter: worseAfter?.duration, interval: pace,
            seed: seed)
    }

    func run() async throws {
        try await reportingErrors {
            let queue = try OutboxQueue.open(client.folder("simulate", in: suite.layout), durability: .written)
            let log = try ledger.map { try SimulationLog(URL(fileURLWithPath: $0)) }
            let population = try await Population.gather(
                plan, queue: queue, layout: suite.layout, subscribe: subscribe, log: log)
            let run = SimulationRun(
                plan: plan, people: population, queue: queue, transport: client.transport(parallel: min(people, Simulate.connections)),
                duration: duration?.duration, log: log)
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
        _ plan: PopulationPlan, queue: OutboxQueue, layout: SuiteLayout, subscribe: Bool, log: SimulationLog?
    ) async throws -> [SimulatedPerson] {
        let known = SimulatedPerson.remembered(queue.partitions)
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
                        // Of those who fall, falls are watched.
                        let watchesFalls = plan.mishap(of: number).map { if case .event(.fall, _) = $0 { true } else { false } } ?? false
                        _ = try await connection.ask(
                            SubscribePerson(
                                person: one.person, clausesAccepted: true, bounds: [:], watchesFalls: watchesFalls ? true : nil))
                    }
                    people.append(one)
                }
                return people
            }
        }
        for one in people { try log?.person(one.person, one.device) }
        return people
    }

    private static func add(
        _ number: Int, _ plan: PopulationPlan, _ queue: OutboxQueue, _ connection: SuiteConnection
    ) async throws -> SimulatedPerson {
        let request = AddDevice(person: nil, name: "simulated \(number)", intervalMs: max(1, plan.interval.wholeMilliseconds))
        let one = SimulatedPerson(try await connection.ask(request))
        try queue.open(partition: one.partition(number), token: one.token)
        return one
    }
}
