// The demo's course on a suite that runs: two people, two hearts, an emergency, its timeline, the verdict.

import Contracts
import Foundation
import ServiceKit

/// Where the suite is that the demo is played on.
struct DemoTarget: Sendable {
    var layout: SuiteLayout
    /// Ingest or the edge.
    var server: String
    /// Consent or the edge.
    var consent: String
    /// The third parties' gateway; nothing where it is not needed.
    var gateway = ""
    var authorities: String?
    /// Of the desk that the suite calls.
    var deskLog: URL
    /// For the client's queue.
    var client: URL
}

struct DemoPlay: Sendable {
    let target: DemoTarget

    /// Three measurements a second, as the alert of table SOS-S wants them.
    private static let interval = Duration.milliseconds(333)
    private static let failsAfter = Duration.seconds(4)
    private static let emergencyBound = Duration.seconds(20)
    /// After the acknowledgement the hearts go on for a while: repeats and false calls would show.
    private static let aftermath = Duration.seconds(2)

    func run() async throws {
        let plan = PopulationPlan(
            people: 2, failing: 1, emergencyAfter: DemoPlay.failsAfter, spacing: .zero, emergencyLasts: nil, interval: DemoPlay.interval,
            seed: 1)
        let queue = try OutboxQueue.open(target.client, durability: .written)
        let people = try await Population.gather(plan, queue: queue, layout: target.layout, subscribe: true, log: nil)
        DemoPlay.say("two people are supervised; one heart fails in \(SpokenDuration(DemoPlay.failsAfter))")
        let hearts = SimulationRun(
            plan: plan, people: people, queue: queue, transport: .http(server: target.server, authorities: target.authorities),
            duration: nil, log: nil)
        let seen = try await SuiteConnection.with(target.layout) { connection in
            let emergency = try await emergency(of: people[0], hearts, connection)
            try await drain(queue, people, hearts)
            try await show(emergency, connection)
            return try await collect(people, queue, hearts, connection)
        }
        try judge(seen, hearts.meter.now)
        try await PersonStory(
            client: PeopleClient(consent: target.consent, ingest: target.server, authorities: target.authorities)
        ).run()
        DemoPlay.say("one person's course from registration to erasure held")
    }

    /// Lets both hearts beat until the failing one's emergency is acknowledged, and a little longer.
    private func emergency(
        of person: SimulatedPerson, _ hearts: SimulationRun, _ connection: SuiteConnection
    ) async throws -> ListEmergencies.Entry {
        let beating = Task { try await hearts.run() }
        defer { beating.cancel() }
        let emergency = try await DemoPlay.waiting("no emergency was acknowledged", within: DemoPlay.emergencyBound) {
            try await connection.ask(ListEmergencies(person: person.person, limit: 10)).emergencies.first { $0.acknowledgedAt != nil }
        }
        try await Task.sleep(for: DemoPlay.aftermath)
        beating.cancel()
        try? await beating.value
        return emergency
    }

    /// What was measured last goes out, so that every entry has been answered.
    private func drain(_ queue: OutboxQueue, _ people: [SimulatedPerson], _ hearts: SimulationRun) async throws {
        for (number, person) in people.enumerated() {
            let (wakes, wake) = AsyncStream<Void>.makeStream()
            wake.finish()
            try await QueueSender(partition: person.partition(number), token: person.token, queue: queue, transport: hearts.transport) {
                event in
                hearts.meter.change { $0.account.count(event) }
            }.run(wakes)
        }
    }

    private func show(_ emergency: ListEmergencies.Entry, _ connection: SuiteConnection) async throws {
        let steps = try await connection.ask(ReadTimeline(emergency: emergency.emergency)).steps
        Console.shared.line("")
        Console.shared.line("emergency \(emergency.emergency); first critical entry at \(emergency.t0.rfc3339)")
        TimelineText.lines(steps).forEach { Console.shared.line("  \($0)") }
        if let at = emergency.acknowledgedAt {
            Console.shared.line("acknowledged after \((at - emergency.t0).wholeMilliseconds) ms")
        }
        Console.shared.line("")
    }

    private func collect(
        _ people: [SimulatedPerson], _ queue: OutboxQueue, _ hearts: SimulationRun, _ connection: SuiteConnection
    ) async throws -> DemoEvidence {
        var emergencies: [ListEmergencies.Entry] = []
        for person in people {
            emergencies += try await connection.ask(ListEmergencies(person: person.person, limit: 100)).emergencies
        }
        // A suite that ran before has other people's emergencies in its desk's log.
        let ours = emergencies.map(\.emergency.description)
        let log = try DeskLog.read(target.deskLog).filter { entry in ours.contains { entry.messageId.hasPrefix($0) } }
        return DemoEvidence(
            failing: people[0].person, healthy: people[1].person, emergencies: emergencies, deskLog: log,
            audit: try await connection.ask(VerifyAudit()), waiting: queue.waiting, refused: hearts.meter.now.account.refused)
    }

    private func judge(_ evidence: DemoEvidence, _ figures: SimulationFigures) throws {
        let claims = DemoVerdict.judge(evidence)
        for (claim, holds) in claims { Console.shared.line("\(holds ? "ok  " : "FAIL")  \(claim)") }
        Console.shared.line(figures.line)
        guard claims.allSatisfy(\.holds) else {
            throw OperatorError(
                .failed, "the demo did not hold what it claims",
                mend: "run it with --verbose; the desk's ledger is \(target.deskLog.path)")
        }
    }

    static func say(_ text: String) {
        Console.shared.line("\(Timestamp.now.rfc3339.dropFirst(11))  \(text)")
    }

    static func waiting<Value>(
        _ complaint: String, within bound: Duration, _ condition: () async throws -> Value?
    ) async throws -> Value {
        let deadline = ContinuousClock.now + bound
        while ContinuousClock.now < deadline {
            if let value = try await condition() { return value }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw OperatorError(
            .failed, "\(complaint) within \(SpokenDuration(bound))", mend: "run it with --verbose, and see `trackme doctor`")
    }
}
