// A whole suite in one thread under virtual time: devices, ingest and integrators are played, both dispatchers are real.

import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit

@testable import Bus
@testable import SOSDispatcher

final class SimulatedSuite {
    let plan: SimulationPlan
    let flaw: PlantedFlaw?
    let folder: URL
    let beginning: SimulationFiles
    /// The suite's key files, the same in every run.
    var keys: URL { beginning.keys }
    let secrets: [String: WebhookSecret]
    let names: Names?
    let time = VirtualTime()
    let network: PlayedNetwork
    var dice: SimulationDice
    var ledger = SimulationLedger()
    var ingest = SimulatedIngest()
    var integrators: [String: SimulatedIntegrator] = ["alpha": .init(), "beta": .init()]
    let dispatchers: [SimulatedDispatcher]
    /// When a disk broke for the last time: each stretch of the plan breaks it once.
    var broken: [PairRole: Int64] = [:]
    /// One line per event, where somebody wants to read them.
    private(set) var trace: [String]?

    /// - Parameters:
    ///   - files: what both dispatchers have on disk when it begins, and the keys.
    ///   - folder: empty, for what they have then.
    init(
        _ plan: SimulationPlan, seed: UInt64, flaw: PlantedFlaw?, files: SimulationFiles, in folder: URL, traces: Bool = false
    ) {
        (self.plan, self.flaw, self.folder, beginning, secrets) = (plan, flaw, folder, files, files.secrets)
        names = try? Names(identity: SymmetricKey(bytes: KeyFiles(folder: files.keys).secret("emergency-identity.key", of: .sosDispatcher)))
        dice = SimulationDice(seed: ~seed)
        network = PlayedNetwork(time)
        dispatchers = PairRole.allCases.map { SimulatedDispatcher($0, files: files.folder(of: $0)) }
        ingest.pending = plan.lives.map { _ in [] }
        trace = traces ? [] : nil
        if plan.shuffles { time.choose = { [unowned self] count in Int(dice.between(0, Int64(count - 1))) } }
        time.steadyFollowsWall = flaw == .wallClockTimers
        if flaw == .waitsForTheDisk { time.endlessSleep = SupervisionService.storeTimeout.wholeMilliseconds }
        network.fate = { [unowned self] in fate(from: $0, to: $1) }
        network.played[.ingest] = { [unowned self] question, client, reply in answerAtIngest(question, from: client, reply) }
        network.played[.consent] = { question, _, reply in
            // Nobody here has an account; whatever else it is asked, consent is silent.
            guard question.method == ReadEmergencyCards.method else { return }
            reply(.success(Array(#"{"cards":[]}"#.utf8)))
        }
        network.played[.notifier] = { _, _, reply in reply(.success(Array("{}".utf8))) }
        time.afterEach = { [unowned self] in
            network.collect()
            countJobs()
        }
    }

    // MARK: Time

    var now: Int64 { time.now }
    var wall: Timestamp { Timestamp(milliseconds: VirtualTime.beginning + now + time.wallOffset) }

    func note(_ text: @autoclosure () -> String) {
        if trace != nil { trace?.append("\(now) \(text())") }
    }

    func violation(_ text: String) {
        ledger.violations.append(text)
        note("VIOLATION \(text)")
    }

    /// What the dispatchers log is a part of the trace.
    func logger(_ role: PairRole) -> Logger {
        guard trace != nil else { return network.quiet }
        let carried = Carried(self)
        return Logger(label: role.rawValue) { label in TracingLog { carried.value.note("\(label): \($0)") } }
    }

    // MARK: Running

    /// Lets the whole plan happen and judges what came of it.
    func run() -> SimulationLedger {
        begin()
        for index in plan.lives.indices { time.after(dice.between(100, 1500)) { [self] in measure(index) } }
        for role in PairRole.allCases {
            for span in plan.crashes[role] ?? [] {
                time.after(span.from) { [self] in crash(dispatcher(role).process, for: span.until - span.from) }
            }
        }
        for (role, at) in plan.restores {
            time.after(at) { [self] in crash(dispatcher(role).process, for: 700, restores: true) }
        }
        for at in plan.forgets { time.after(at) { [self] in forgetAtIngest() } }
        if let backlog = plan.backlog { time.after(backlog.outage.from + 10) { [self] in storeBacklog() } }
        for span in plan.ingestCrashes { time.after(span.from) { [self] in crashIngest(for: span.until - span.from) } }
        for step in plan.clockSteps {
            time.after(step.at) { [self] in
                time.stepWallClock(by: step.by)
                note("the clock steps by \(step.by)")
            }
        }
        time.after(SimulationPlan.end) { [self] in
            SimulationChecker(suite: self).check()
            end()
        }
        time.run(until: SimulationPlan.end + 10)
        return ledger
    }

    /// The network, ingest and both dispatchers.
    func begin() {
        time.after(0) { [self] in
            network.beat()
            beatAtIngest()
            for dispatcher in dispatchers { start(dispatcher) }
        }
    }

    func end() {
        for dispatcher in dispatchers {
            time.kill(dispatcher.process)
            network.forget(dispatcher.process)
            dispatcher.end()
        }
    }

    func dispatcher(_ role: PairRole) -> SimulatedDispatcher { dispatchers[role == .first ? 0 : 1] }

    private func start(_ dispatcher: SimulatedDispatcher) {
        do {
            try dispatcher.start(in: self)
        } catch {
            violation("\(dispatcher.role) cannot be started: \(error)")
        }
    }

    func started(_ dispatcher: SimulatedDispatcher) {
        if let since = dispatcher.downSince { ledger.downs[dispatcher.role, default: []].append(Span(from: since, until: now)) }
        dispatcher.downSince = nil
        dispatcher.parts?.supervision.events.add(SimulatedPhones(self))
        note("\(dispatcher.role) runs as process \(dispatcher.process)")
    }

    // MARK: Faults

    func crash(_ process: Int, for duration: Int64, restores: Bool = false) {
        guard time.isAlive(process), let dispatcher = dispatchers.first(where: { $0.process == process }) else { return }
        note("\(dispatcher.role) is killed for \(duration) ms")
        time.kill(process)
        network.forget(process)
        dispatcher.downSince = dispatcher.downSince ?? now
        dispatcher.headsAtEnd = ingest.logs.mapValues(\.count)
        dispatcher.end()
        time.after(duration) { [self] in
            flaw?.spoil(dispatcher, in: self)
            if restores { putBack(dispatcher) }
            start(dispatcher)
        }
    }

    private func putBack(_ dispatcher: SimulatedDispatcher) {
        do {
            try dispatcher.putBack(beginning.folder(of: dispatcher.role))
            ledger.restores += 1
            note("\(dispatcher.role)'s store is put back")
        } catch {
            violation("\(dispatcher.role)'s store cannot be put back: \(error)")
        }
    }

    private func countJobs() {
        guard now < SimulationPlan.calm else { return }
        for dispatcher in dispatchers where dispatcher.isUp {
            dispatcher.jobs += 1
            guard plan.crashSteps[dispatcher.role]?.contains(dispatcher.jobs) == true else { continue }
            crash(dispatcher.process, for: dice.between(60, 800))
        }
    }

    private func fate(from one: Peer, to other: Peer) -> PlayedNetwork.Fate {
        let roles = PairRole.allCases.filter { $0.peer == one || $0.peer == other }
        if roles.count == 2 {
            if flaw == .tellsTheOtherNothing || plan.pairCuts.contains(where: { $0.contains(now) }) { return .lost }
            return .arrives([dice.between(1, 4)])
        }
        guard let role = roles.first, one == .ingest || other == .ingest else { return .arrives([dice.between(1, 10)]) }
        if plan.isCut(role, at: now) { return .lost }
        guard let weather = plan.weather(at: now) else { return .arrives([1]) }
        if dice.happens(weather.percentLost) || dice.happens(weather.percentCorrupt) { return .lost }
        let delay = dice.happens(weather.percentDelayed) ? dice.between(1, 400) : 1
        return .arrives(dice.happens(weather.percentDoubled) ? [delay, dice.between(1, 300)] : [delay])
    }

    // MARK: People

    /// What a person is told, by whichever of the two; each answers once.
    func hear(_ event: SupervisionEvent) {
        guard let index = plan.lives.firstIndex(where: { $0.person == event.person }) else { return }
        let life = plan.lives[index]
        let isTime = (life.role == .fine && event.kind == .opened) || (life.role == .falseAlarm && event.kind == .dispatched)
        guard isTime, ledger.warned.insert(life.person).inserted else { return }
        time.after(life.answersAfter) { [self] in answer(index, life.role == .fine ? .fine : .falseAlarm) }
    }

    /// Asks again until somebody has answered.
    func answer(_ life: Int, _ answer: AnswerPrompt.Answer, attempt: Int = 1) {
        let person = plan.lives[life].person
        guard !ledger.answered.contains(person), attempt < 60 else { return }
        time.after(700) { [self] in self.answer(life, answer, attempt: attempt + 1) }
        let role = dice.one(of: PairRole.allCases)
        note("life \(life) says \(answer.rawValue) to \(role)")
        network.ask(AnswerPrompt(person: person, answer: answer), of: role.peer, from: .trackme, id: "\(person)-\(life)-\(attempt)") {
            [self] in
            // Only an answer to an emergency is one; before the dispatcher knows of it again, the person is asked again.
            guard case .success(let reply) = $0, reply.emergency != nil else { return }
            ledger.answered.insert(person)
        }
        ledger.said(person, at: now)
    }
}

/// Everybody's apps, on one dispatcher's board.
private struct SimulatedPhones: SupervisionEventConsumer {
    private let suite: Carried<SimulatedSuite>

    init(_ suite: SimulatedSuite) {
        self.suite = Carried(suite)
    }

    func heard(_ events: [SupervisionEvent]) async {
        for event in events { suite.value.hear(event) }
    }
}

/// Where the lines of a log go.
private struct TracingLog: LogHandler {
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    let write: @Sendable (String) -> Void

    init(_ write: @escaping (String) -> Void) {
        let carried = Carried(write)
        self.write = { carried.value($0) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        write("\(event.message) \(facts.joined(separator: " "))")
    }
}
