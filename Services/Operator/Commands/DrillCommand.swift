// `trackme drill`: test emergencies, and how ready the emergency services are.

import ArgumentParser
import Contracts
import Foundation

struct DrillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drill", abstract: "Sends test emergencies to integrators and reports how they were answered.",
        discussion: "A drill goes the real way with status test or exercise, is about nobody and counts in no figure of real emergencies.",
        subcommands: [RunDrillCommand.self, ScheduleDrillCommand.self, ReportDrillsCommand.self])
}

struct RunDrillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Sends one test emergency and waits for its acknowledgement.",
        discussion: "Example: trackme drill run milan --kind exercise\n\n\(ExitStatus.documentation)")

    @Argument(help: "The integrator.")
    var integrator: String
    @Option(help: "test: nobody need look; exercise: people at the desk take part.")
    var kind = RunDrill.Kind.test
    @Option(help: "Seconds to wait, 0 to 120.")
    var wait = 30
    @OptionGroup var suite: SuiteOptions

    private static let pause = Duration.milliseconds(200)

    func validate() throws {
        guard (0...120).contains(wait) else { throw ValidationError("--wait must be from 0 to 120") }
    }

    func run() async throws {
        try await reportingErrors {
            try await SuiteConnection.with(suite.layout) { connection in
                let emergency = try await connection.ask(RunDrill(integrator: integrator, kind: kind)).emergency
                Console.shared.line("drill \(emergency) sent to \(integrator)")
                let end = ContinuousClock.now + .seconds(wait)
                while ContinuousClock.now < end {
                    let drills = try await connection.ask(ReadDrills(integrator: integrator, limit: 100)).drills
                    if let drill = drills.first(where: { $0.emergency == emergency }), let outcome = drill.outcome {
                        Console.shared.line("\(outcome) after \(drill.afterMs ?? 0) ms")
                        guard outcome == "acknowledged" else {
                            throw OperatorError(.failed, "the drill was not acknowledged", mend: "ask \(integrator) what it saw")
                        }
                        return
                    }
                    // The desk decides how long it takes.
                    try await Task.sleep(for: Self.pause)
                }
                guard wait == 0 else {
                    throw OperatorError(
                        .failed, "not acknowledged within \(wait) s",
                        mend: "`trackme sos timeline` does not know drills; see the desk's log")
                }
            }
        }
    }
}

struct ScheduleDrillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule", abstract: "Lets the dispatcher send test emergencies by itself.",
        discussion:
            "Example: trackme drill schedule milan --every 24\nExample: trackme drill schedule milan --off\n\n\(ExitStatus.documentation)")

    @Argument(help: "The integrator.")
    var integrator: String
    @Option(help: ArgumentHelp("Every so many hours, 0.01 to 8760.", valueName: "hours"))
    var every: Double?
    @Flag(help: "No more.")
    var off = false
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard (every != nil) != off else { throw ValidationError("give --every or --off") }
        guard every?.isFinite ?? true else { throw ValidationError("--every is 0.01 to 8760 hours") }
    }

    func run() async throws {
        try await reportingErrors {
            _ = try await SuiteConnection.with(suite.layout) {
                try await $0.ask(ScheduleDrill(integrator: integrator, everyHours: every))
            }
            Console.shared.line(every.map { "\(integrator) gets a drill every \($0) h" } ?? "\(integrator) gets no more drills by itself")
        }
    }
}

struct ReportDrillsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Says how ready each integrator is, by its latest drills.",
        discussion: """
            Ready: of the latest drills, 20 at most, at least 95 % were acknowledged within 5 s, the latest of them among these.

            Example: trackme drill report

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Only this one.")
    var integrator: String?
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let drills = try await SuiteConnection.with(suite.layout) {
                try await $0.ask(ReadDrills(integrator: integrator, limit: 1000)).drills
            }
            if drills.isEmpty { Console.shared.line("no drills yet") }
            for (name, own) in Dictionary(grouping: drills, by: \.integrator).sorted(by: { $0.key < $1.key }) {
                Console.shared.line(DrillReadiness(own).line(name))
            }
        }
    }
}

/// What drills show about one integrator.
struct DrillReadiness: Hashable, Sendable {
    static let looked = 20
    static let deadlineMs: Int64 = 5000
    /// Hundredths of drills that must be acknowledged in time.
    static let wanted = 95

    let sent: Int
    let inTime: Int
    let medianMs: Int64?
    let worstMs: Int64?
    let isReady: Bool

    /// - Parameter drills: newest first; those that still wait do not count.
    init(_ drills: [ReadDrills.Entry]) {
        let ended = drills.filter { $0.outcome != nil }.prefix(DrillReadiness.looked)
        let times = ended.filter { $0.outcome == "acknowledged" }.compactMap(\.afterMs)
        sent = ended.count
        inTime = times.count { $0 <= DrillReadiness.deadlineMs }
        let sorted = times.sorted()
        medianMs = sorted.isEmpty ? nil : sorted[sorted.count / 2]
        worstMs = sorted.last
        let latest = ended.first.map { $0.outcome == "acknowledged" && ($0.afterMs ?? .max) <= DrillReadiness.deadlineMs } ?? false
        isReady = latest && inTime * 100 >= sent * DrillReadiness.wanted
    }

    func line(_ name: String) -> String {
        let times = medianMs.map { "median \($0) ms, longest \(worstMs ?? $0) ms" } ?? "never acknowledged"
        return "\(name.padded(to: 32))  \((isReady ? "READY" : "NOT READY").padded(to: 9))  \(inTime) of \(sent) within 5 s, \(times)"
    }
}

extension RunDrill.Kind: ExpressibleByArgument {}
