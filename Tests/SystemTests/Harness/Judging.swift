// The end of every fault test: bring the suite to rest, collect the evidence, hand it to the checker, print the figures.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

extension RealSuite {
    /// What new people's devices deliver from now on, as soon as so many of their batches are acknowledged.
    func load(by count: Int, acknowledged batches: Int = 0) async throws -> LoadGenerator {
        let load = try LoadGenerator(try await addPeople(count), to: self)
        load.start()
        try await load.untilAcknowledged(batches)
        return load
    }

    /// Ends the load, waits for what is under way, reads everything back, stops the suite and has it judged. What never comes
    /// about is left for the checker to find.
    func judge(
        _ load: LoadGenerator, followers: [Follower] = [], outages: [ClosedRange<Timestamp>] = [], patience: Duration = .seconds(15)
    ) async throws -> CheckReport {
        let given = try await load.stop()
        if given > 0 { print("· \(given) uploads were given up unacknowledged (\(load.statuses.line))") }
        var evidence = Evidence()
        let account = load.ledger.account
        (evidence.sent, evidence.acknowledged, evidence.breaches) = (account.sent, account.acknowledged, account.breaches)
        evidence.outages = outages
        let ill = Set(account.breaches.map(\.entry.person))
        await patiently(patience) {
            ill.isSubset(of: try await everyEmergency().filter { $0.acknowledgedAt != nil }.map(\.person))
        }
        evidence.stored = try await ReadBack(server: server).entries(of: load.wearers)
        evidence.emergencies = try await everyEmergency()
        evidence.audit = try await ask(VerifyAudit())
        for follower in followers {
            evidence.streams += try await follower.account(patience: patience)
            await follower.stop()
        }
        await patiently(patience) {
            try await MetricsPage(of: sos.port).value("bus_consumer_lag", family: .samples) == 0
        }
        try await stop()
        evidence.desk = DeskLine.read(deskLedger)
        let stores = StoppedStores(folders: storeFolders)
        evidence.stores = stores.examine()
        evidence.consumers = try stores.dispatcherProgress()
        return Checker.forThisMachine.report(evidence)
    }

    /// Whether it comes about or not, the checker will say.
    private func patiently(_ patience: Duration, _ condition: @Sendable () async throws -> Bool) async {
        do {
            try await eventually("everything is acknowledged", within: patience, isTrue: condition)
        } catch {
            print("· waited in vain: \(error)")
        }
    }

    private func everyEmergency() async throws -> [ListEmergencies.Entry] {
        try await ask(ListEmergencies(person: nil, limit: 1000)).emergencies
    }
}

/// What a checker says in the end.
protocol JudgedReport {
    associatedtype Violations: Collection where Violations.Element: CustomStringConvertible
    var violations: Violations { get }
    /// The figures.
    var line: String { get }
}

extension JudgedReport {
    /// The first few, for a test's message.
    var summary: String {
        violations.prefix(8).map(\.description).joined(separator: "; ") + (violations.count > 8 ? "; … \(violations.count) in all" : "")
    }

    /// Prints the figures of what was done, and expects that nothing was violated.
    func expectSound(_ done: String, sourceLocation: SourceLocation = #_sourceLocation) {
        print("figure: \(done): \(line)")
        #expect(violations.isEmpty, "\(summary)", sourceLocation: sourceLocation)
    }
}

extension Checker {
    /// With the deadline of `TRACKME_FAULT_DEADLINE_S`, for machines that are busy with other things; else the promise's 5 s.
    static var forThisMachine: Checker {
        var checker = Checker()
        if let text = FaultSizes.environment["TRACKME_FAULT_DEADLINE_S"], let seconds = Int(text) { checker.deadline = .seconds(seconds) }
        return checker
    }
}

/// How large the fault tests are. The defaults keep all of them within some minutes; the sizes come by environment.
enum FaultSizes {
    static let environment = ProcessInfo.processInfo.environment

    private static func number(_ name: String, _ usual: Int) -> Int { environment[name].flatMap { Int($0) } ?? usual }

    /// Kills of one service in one test: `TRACKME_FAULT_CYCLES` (issue 2 names 50).
    static let kills = number("TRACKME_FAULT_CYCLES", 6)
    /// Courses of sharing, each with as many kills of consent as the above: `TRACKME_FAULT_SEEDS`.
    static let seeds = max(1, number("TRACKME_FAULT_SEEDS", 2))
    /// Kills of any process: `TRACKME_FAULT_RANDOM_KILLS` (the matrix names 200).
    static let randomKills = number("TRACKME_FAULT_RANDOM_KILLS", 5)
    /// Flushes of which one after the other fails: `TRACKME_FAULT_FLUSHES` (the matrix names 60).
    static let flushes = number("TRACKME_FAULT_FLUSHES", 3)
    /// People who fall ill within a second: `TRACKME_FAULT_STORM`.
    static let storm = number("TRACKME_FAULT_STORM", 40)
    /// How often each process, or both dispatchers, stand still: `TRACKME_FAULT_HALTS` (issue 12 names 20).
    static let halts = max(1, number("TRACKME_FAULT_HALTS", 1))
    /// Whether the matrix is run in full: `TRACKME_FAULT_FULL` = 1.
    static let isFull = number("TRACKME_FAULT_FULL", 0) == 1
    /// Power cuts: `TRACKME_FAULT_POWER_CUTS`.
    static let powerCuts = number("TRACKME_FAULT_POWER_CUTS", 2)
    /// How long the desk is down: `TRACKME_FAULT_OUTAGE_S` (issue 2 names a minute).
    static let outage = Duration.seconds(number("TRACKME_FAULT_OUTAGE_S", 8))
    /// How long a third party's receiver of webhooks is down: the same variable (issue 5 names two minutes).
    static let receiverOutage = Duration.seconds(number("TRACKME_FAULT_OUTAGE_S", isFull ? 120 : 8))
    /// Kills of the gateway while subscriptions deliver: `TRACKME_FAULT_GATEWAY_KILLS` (issue 5 names ten).
    static let gatewayKills = max(2, number("TRACKME_FAULT_GATEWAY_KILLS", isFull ? 10 : 3))
    /// Random histories of consent and gateway, each with as many kills of one or the other as `kills`: `TRACKME_FAULT_HISTORIES`.
    static let histories = max(1, number("TRACKME_FAULT_HISTORIES", isFull ? 5 : 1))
    /// Facts that a slow consumer and a late joiner must catch up with: `TRACKME_FAULT_BACKLOG`.
    /// More than the 10,000 frames that an inbox holds, so that its consumer loses some and has to ask for them.
    static let backlog = number("TRACKME_FAULT_BACKLOG", 11_000)
}

/// Chance of one fault test. Its seed is printed; `TRACKME_FAULT_SEED` repeats it, as far as real processes repeat anything.
struct FaultChance: RandomNumberGenerator {
    private var generator: SeededGenerator

    init(of row: String) {
        let seed = FaultSizes.environment["TRACKME_FAULT_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        print("seed: \(row): TRACKME_FAULT_SEED=\(seed)")
        generator = SeededGenerator(seed: seed)
    }

    mutating func next() -> UInt64 { generator.next() }
}

/// Recovery times as one line.
struct RecoveryTimes {
    private(set) var all: [Duration] = []

    mutating func add(_ time: Duration) { all.append(time) }

    var most: Duration { all.max() ?? .zero }

    var line: String {
        let sorted = all.map(\.wholeMilliseconds).sorted()
        guard let least = sorted.first, let most = sorted.last else { return "no recoveries" }
        return "recovery of \(sorted.count): min \(least), median \(sorted[sorted.count / 2]), max \(most) ms"
    }
}
