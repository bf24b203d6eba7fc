// Sends what supervision decided, again and again, until an emergency service has taken it.

import Contracts
import Logging
import ServiceKit
import ServiceLifecycle

/// Owns every message that is on its way. Nobody waits for anybody: each emergency has delivery workers of its own for each
/// integrator, and for each way to it.
actor Dispatcher: Service {
    /// - Parameter at: when the emergency service said so, whichever dispatcher it told; nil where nobody knows any more.
    typealias Acknowledged = @Sendable (_ person: PersonID, _ emergency: EmergencyID, _ at: Timestamp?) async -> Void
    typealias Rejected = @Sendable (_ person: PersonID, _ emergency: EmergencyID) async -> Void

    /// What goes on with one integrator, in memory only.
    struct Line {
        var workers: [DispatchWay: Task<Void, Never>] = [:]
        /// The workers' rests between two attempts; cancelled when there is something new.
        var rests: [DispatchWay: Task<Void, Never>] = [:]
        /// The last attempts that began.
        var begun: [DispatchWay: (message: MessageID, at: Timestamp)] = [:]
        /// Ways on which the latest attempt failed hard, and the message that it was about: the others do not wait for them.
        var failed: [DispatchWay: MessageID] = [:]
        /// Attempts that wait for their answers, by a number of their own; also about messages that have ended, whose answers still count.
        var attempts: [Int: (message: MessageID, way: DispatchWay, task: Task<Void, Never>)] = [:]
    }

    /// One emergency.
    struct Work {
        let person: PersonID
        var file = DispatchMachine()
        var lines: [String: Line] = [:]
        /// The one integrator of a drill; nil for an emergency.
        var drill: String?
        /// Since when nothing more can be decided in it.
        var closedAt: Timestamp?
        /// The person said that help is here, and has not called for it again since.
        var isStopped = false
        /// Since when it is known here.
        let since: Timestamp
    }

    /// How long a stop waits for the answers of attempts that have begun.
    private static let lastAnswers = Duration.seconds(1)
    /// How long what is over is still known.
    private static let memory = Duration.seconds(60)
    /// How long after its closing an emergency is called for anew, if whoever had taken it rejects it.
    static let reopens = Duration.seconds(3600)
    /// A drill that nobody answers is given up.
    static let drillTimeout = Duration.seconds(120)

    let registry: IntegratorRegistry
    let texts: TextSender
    let names: Names
    let store: SOSStore
    let journal: Journal
    let clock: SteadyClock
    /// What the other dispatcher is doing about the same emergencies.
    let pair: PairState
    let metrics: SOSMetrics
    let logger: Logger
    let retry: Duration
    /// Until the next integrator is called as well, and until whoever has refused is asked again.
    let nextAfter: Duration
    /// Until the second address of an integrator is tried as well.
    private let secondAfter: Duration
    var works: [EmergencyID: Work] = [:]
    var acknowledged: Acknowledged = { _, _, _ in }
    /// Who is told that a call which was acknowledged is taken by nobody any more.
    var rejected: Rejected = { _, _ in }
    private var isStopping = false
    private var attemptNumber = 0

    init(
        _ registry: IntegratorRegistry, texts: TextSender, names: Names, retry: Duration, nextAfter: Duration,
        secondAfter: Duration = DispatchOutbox.secondAfter, store: SOSStore, journal: Journal, clock: SteadyClock, pair: PairState,
        metrics: SOSMetrics, logger: Logger
    ) {
        (self.registry, self.texts, self.names, self.retry, self.nextAfter, self.store) = (registry, texts, names, retry, nextAfter, store)
        self.secondAfter = secondAfter
        (self.journal, self.clock, self.pair, self.metrics, self.logger) = (journal, clock, pair, metrics, logger)
    }

    /// Who is told when a call is acknowledged, and when the integrator that had acknowledged has rejected and nobody has taken the call in its
    /// place. Set before anything is restored: supervision, which is told, sends through this dispatcher and so is made after it; a stream between
    /// the two would let an emergency service be answered before its word is stored.
    func tells(acknowledged: @escaping Acknowledged, rejected: @escaping Rejected) {
        (self.acknowledged, self.rejected) = (acknowledged, rejected)
    }

    // MARK: What is to be sent

    /// Knows again what the last process was sending, before anything is heard of the other dispatcher: what follows from its news goes to
    /// whoever was called.
    /// - Parameter drills: to whom those emergencies go that are drills.
    func restore(_ outboxes: [EmergencyID: (person: PersonID, outbox: DispatchMachine)], drills: [EmergencyID: String] = [:]) {
        for (emergency, known) in outboxes {
            let drill = drills[emergency]
            let file = CallPurpose(of: known.person, drill: drill, names.synthetic).admitted(known.outbox)
            works[emergency] = Work(
                person: known.person, file: file, drill: drill, closedAt: drill == nil ? nil : clock.now, since: clock.now)
        }
    }

    /// After a start: sends at once whatever has not ended.
    func resume() {
        for emergency in Array(works.keys) {
            change(emergency) { file, order in
                for message in file.unassigned { file.add(message, order: order, at: clock.now) }
            }
        }
    }

    /// Takes a message that has been decided; its first attempt begins at once.
    /// - Parameter drill: the one integrator that it goes to, where it is in play only.
    func send(_ message: OutboxMessage, of person: PersonID, drill: String? = nil) {
        let emergency = message.id.emergency
        if works[emergency] == nil {
            works[emergency] = Work(person: person, drill: drill, closedAt: drill == nil ? nil : clock.now, since: clock.now)
        }
        works[emergency]?.closedAt = drill == nil ? nil : clock.now
        // Help is called for again: what becomes of this call counts.
        if message.kind == .alert { works[emergency]?.isStopped = false }
        if works[emergency]?.file.latestAlert == nil { give(message) }
        if let work = works[emergency], purpose(of: work) == .canary, registry.probe == nil {
            logger.error("a test emergency has no receiver: it is sent to nobody", metadata: ["emergency": "\(emergency)"])
        }
        change(emergency) { file, order in
            file.add(message, order: order, at: clock.now)
        }
        tellIfTaken(message.id)
    }

    /// What the other dispatcher had acknowledged before this one came to decide it: the word came too early for the machine.
    func tellIfTaken(_ id: MessageID) {
        guard let work = works[id.emergency], work.drill == nil, work.file.latestAlert?.id == id, work.file.isTaken else { return }
        let told = work.file.lines.keys.compactMap { pair.acknowledgement(of: id, by: $0)?.at }
        Task { await acknowledged(work.person, id.emergency, told.min()) }
    }

    /// So that the place in the first message is known before anybody is chosen.
    private func give(_ message: OutboxMessage) {
        guard let work = works[message.id.emergency], work.file.decided.isEmpty else { return }
        works[message.id.emergency]?.file = DispatchMachine([message])
    }

    /// The person said that help is here: nothing more is sent of what is unacknowledged.
    func stop(_ emergency: EmergencyID) {
        guard works[emergency] != nil else { return }
        works[emergency]?.isStopped = true
        change(emergency) { file, _ in _ = file.stop() }
    }

    /// Nothing more will be decided in it.
    func closed(_ emergency: EmergencyID) {
        works[emergency]?.closedAt = clock.now
    }

    /// Whether a message about the person is still to be sent or answered, apart from releases.
    func isCarrying(for person: PersonID) -> Bool {
        works.values.contains { $0.person == person && !$0.isIdle && ($0.file.isOver || !$0.file.isSettled) }
    }

    /// Nothing more is sent about the person, or heard.
    func stopAll(of person: PersonID) {
        for (emergency, work) in works where work.person == person {
            stop(emergency)
            abandonAttempts(in: emergency)
        }
    }

    /// What was said of the person is not known here any more.
    func forget(_ person: PersonID) {
        stopAll(of: person)
        works = works.filter { $0.value.person != person || !$0.value.isIdle }
    }

    // MARK: What follows from a change

    /// Changes an emergency's file; what is new in it is noted, what has ended is called off, what is due is sent.
    @discardableResult
    func change<Value>(_ emergency: EmergencyID, _ body: (inout DispatchMachine, [String]) -> Value) -> Value? {
        guard var file = works[emergency]?.file else { return nil }
        let before = file
        let value = body(&file, order(emergency))
        works[emergency]?.file = file
        var batch = StoreBatch()
        for (integrator, outbox) in file.lines {
            let known = before.lines[integrator]
            for message in outbox.messages {
                let was = known?.message(message.id)
                guard was != message else { continue }
                // Whoever has taken the call is not told of its repetition.
                let isTold = was != nil || message.end != .acknowledged
                batch.lines[LineID(message: message.id, integrator: integrator)] = LineState(
                    message: message, stream: isTold ? registry.integrator(integrator)?.stream : nil)
                // Stored with the word that it follows from.
                if was == nil, message.id.isRelease || message.id.isRepetition, let person = works[emergency]?.person {
                    batch.messages[message.id] = (person, message)
                }
                if message.end != nil, was?.end == nil { abandonTexts(of: message.id, integrator) }
            }
            guard known?.current?.id != outbox.current?.id else { continue }
            for rest in works[emergency]?.lines[integrator]?.rests.values.map(\.self) ?? [] { rest.cancel() }
        }
        if !batch.isEmpty { journal.note(batch) }
        startDeliveryWorkers(emergency)
        return value
    }

    /// In which order integrators are asked about this emergency: by the newest place that any of its messages names.
    private func order(_ emergency: EmergencyID) -> [String] {
        guard let work = works[emergency] else { return [] }
        return purpose(of: work).receivers(probe: registry.probe, services: registry.order(for: work.file.place))
    }

    func purpose(of work: Work) -> CallPurpose { CallPurpose(of: work.person, drill: work.drill, names.synthetic) }

    /// A text that is not handed over yet tells nobody anything any more. Attempts at addresses wait on: their answers count (SOS-39).
    private func abandonTexts(of message: MessageID, _ integrator: String) {
        let attempts = works[message.emergency]?.lines[integrator]?.attempts.values.map(\.self) ?? []
        for attempt in attempts where attempt.message == message && attempt.way == .text { attempt.task.cancel() }
    }

    /// Nobody's answer is waited for any more.
    private func abandonAttempts(in emergency: EmergencyID) {
        let attempts = works[emergency]?.lines.values.flatMap { $0.attempts.values.map(\.task) } ?? []
        for attempt in attempts { attempt.cancel() }
    }

    // MARK: Delivery workers

    func startDeliveryWorkers(_ emergency: EmergencyID) {
        guard !isStopping, let work = works[emergency] else { return }
        let purpose = purpose(of: work)
        for (id, outbox) in work.file.lines where outbox.current != nil && purpose.admits(id) {
            guard let integrator = registry.integrator(id) else { continue }
            for way in DispatchWay.allCases where integrator.takes(way) && work.lines[id]?.workers[way] == nil {
                works[emergency]?.lines[id, default: Line()].workers[way] = Task { await carry(emergency, id, way) }
            }
        }
    }

    private func carry(_ emergency: EmergencyID, _ id: String, _ way: DispatchWay) async {
        while !isStopping, let work = works[emergency], let message = work.file.lines[id]?.current,
            let integrator = registry.integrator(id), integrator.takes(way)
        {
            if await isSettledElsewhere(message, integrator, work) { continue }
            let allowed = isReal(work) ? pair.mayAttempt(message, to: id) : message.createdAt
            let wait = max(due(way, message, work.lines[id]), allowed) - clock.now
            if wait <= .zero, makesRoom(for: message.id, id, way) {
                begin(message, integrator, way)
            } else {
                await rest(emergency, id, way, wait > .zero ? wait : retry)
            }
        }
        works[emergency]?.lines[id]?.workers[way] = nil
    }

    /// Whether one more attempt may wait for its answer. The first one of a message takes the place of the oldest, which is about a message
    /// that has ended: news is not delayed.
    private func makesRoom(for message: MessageID, _ id: String, _ way: DispatchWay) -> Bool {
        let waiting = works[message.emergency]?.lines[id]?.attempts.filter { $0.value.way == way } ?? [:]
        guard waiting.count >= (way == .text ? 1 : DispatchOutbox.attemptsAtOnce) else { return true }
        guard !waiting.values.contains(where: { $0.message == message }), let oldest = waiting.min(by: { $0.key < $1.key }) else {
            return false
        }
        oldest.value.task.cancel()
        works[message.emergency]?.lines[id]?.attempts[oldest.key] = nil
        return true
    }

    private func due(_ way: DispatchWay, _ message: OutboxMessage, _ line: Line?) -> Timestamp {
        message.due(
            by: way, last: line?.begun[way].flatMap { $0.message == message.id ? $0.at : nil },
            hasFirstFailed: line?.failed[.first] == message.id, secondAfter: secondAfter, pause: pause(after: message))
    }

    private func rest(_ emergency: EmergencyID, _ id: String, _ way: DispatchWay, _ duration: Duration) async {
        let rest = Task<Void, Never> { try? await Task.sleep(for: duration) }
        works[emergency]?.lines[id]?.rests[way] = rest
        await rest.value
        works[emergency]?.lines[id]?.rests[way] = nil
    }

    private func begin(_ message: OutboxMessage, _ integrator: Integrator, _ way: DispatchWay) {
        let (emergency, id, now) = (message.id.emergency, integrator.id, clock.now)
        works[emergency]?.lines[id, default: Line()].begun[way] = (message.id, now)
        if way != .text { change(emergency) { file, _ in file.attempted(message.id, by: id, at: now) } }
        tellAttempt(message, to: integrator)
        attemptNumber += 1
        let number = attemptNumber
        let task = Task { await attempt(message, integrator, way, number) }
        works[emergency]?.lines[id]?.attempts[number] = (message.id, way, task)
    }

    private func attempt(_ message: OutboxMessage, _ integrator: Integrator, _ way: DispatchWay, _ number: Int) async {
        let emergency = message.id.emergency
        let isDrill = works[emergency]?.drill != nil
        let text = max(message.texts, TextSchedule.latest(after: clock.now - message.createdAt))
        let delivery =
            way == .text
            ? await texts.send(message, number: text, to: integrator, about: isDrill ? nil : works[emergency]?.person)
            : await integrator.deliver(message, earlier: works[emergency]?.file.earlier(than: message.id) ?? [], by: way)
        works[emergency]?.lines[integrator.id]?.attempts[number] = nil
        guard !Task.isCancelled else { return }
        // Of a message that has ended meanwhile only words count: whether it arrived is of no interest any more.
        let hasEnded = works[emergency]?.file.lines[integrator.id]?.message(message.id)?.end != nil
        guard delivery.isWord || !hasEnded else { return }
        if !hasEnded { heed(delivery, of: message.id, by: way, to: integrator) }
        if case .texted = delivery { change(emergency) { file, _ in file.texted(message.id, by: integrator.id, text + 1) } }
        if integrator.id != Integrator.probeID {
            if !isDrill { metrics.attempted(delivery.outcome) }
            tell(delivery, of: message, to: integrator, by: way, ordinal: way == .text ? text + 1 : message.attempts + 1)
        }
        if case .answered(let acknowledgement) = delivery {
            await take(acknowledgement, message.id, by: integrator, form: "answer")
        }
    }

    /// To the audit log and the operator.
    private func tell(_ delivery: Delivery, of message: OutboxMessage, to integrator: Integrator, by way: DispatchWay, ordinal: Int) {
        if !backsOff(message) || ordinal <= DispatchOutbox.notedAttempts {
            note(
                "dispatch-attempted", message.id, by: "dispatcher",
                "\(message.kind.rawValue) \(message.id.sequence) to \(integrator.name) by \(way.rawValue), attempt \(ordinal): \(delivery.detail)"
            )
        }
        logger.log(
            level: ordinal == 1 ? .notice : .info, "dispatch attempted",
            metadata: [
                "emergency": "\(message.id.emergency)", "integrator": "\(integrator.name)", "way": "\(way.rawValue)",
                "attempt": "\(ordinal)", "outcome": "\(delivery.outcome)",
            ])
    }

    func note(_ action: String, _ id: MessageID, by actor: String, at time: Timestamp = .now, _ detail: String) {
        var batch = StoreBatch()
        batch.audit = [AuditNote(at: time, actor: actor, action: action, object: "\(id.emergency)", detail: detail)]
        journal.note(batch)
    }

    // MARK: Running

    /// Counts what waits until it is told to stop; then lets attempts end that have begun.
    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await lookAround()
                try? await Task.sleep(for: .seconds(1))
            }
        }
        await finish()
    }

    private func lookAround() async {
        let now = clock.now
        for (emergency, work) in works {
            if let closedAt = work.closedAt, work.isIdle, now - closedAt > Dispatcher.memory {
                works[emergency] = nil
            } else if work.drill != nil, !work.file.isOver, now - work.since > Dispatcher.drillTimeout {
                stop(emergency)
                if let message = work.file.decided.last { note("given-up", message.id, by: "dispatcher", "a drill that nobody answered") }
                await store.endDrill(emergency, "given-up", after: now - work.since)
            } else {
                giveUp(in: emergency)
                escalate(emergency)
                askAgain(emergency)
                // An integrator may have got another way meanwhile.
                startDeliveryWorkers(emergency)
            }
        }
        let waiting = works.values.filter(isReal).reduce(0) { $0 + $1.file.lines.values.count { $0.current != nil } }
        metrics.waiting(messages: waiting, oldest: oldestWaiting)
    }

    private func finish() async {
        isStopping = true
        let lines = works.values.flatMap(\.lines.values)
        for rest in lines.flatMap(\.rests.values) { rest.cancel() }
        let attempts = lines.flatMap { $0.attempts.values.map(\.task) }
        let timeout = Task {
            try await Task.sleep(for: Dispatcher.lastAnswers)
            for attempt in attempts { attempt.cancel() }
        }
        for attempt in attempts { await attempt.value }
        timeout.cancel()
        for worker in lines.flatMap(\.workers.values) { await worker.value }
        try? await journal.commit()
    }
}

extension Dispatcher.Work {
    /// Whether nothing is to be sent and nobody's answer is waited for.
    var isIdle: Bool { file.isOver && lines.values.allSatisfy { $0.attempts.isEmpty && $0.workers.isEmpty } }
}
