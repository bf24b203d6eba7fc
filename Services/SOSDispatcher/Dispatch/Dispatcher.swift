// Sends what supervision decided, again and again, until the emergency service has taken it.

import Contracts
import Logging
import ServiceKit
import ServiceLifecycle

/// Owns every message that is on its way. Emergencies do not wait for one another: each has a courier of its own.
actor Dispatcher: Service {
    typealias Acknowledged = @Sendable (_ person: PersonID, _ emergency: EmergencyID) async -> Void

    struct Line {
        let person: PersonID
        var outbox = DispatchOutbox()
        var courier: Task<Void, Never>?
        /// The courier's rest between two attempts; cancelled when there is something new.
        var rest: Task<Void, Never>?
        /// Attempts that wait for their answers, by a number of their own.
        var attempts: [Int: (message: MessageID, task: Task<Void, Never>)] = [:]
    }

    /// How long a stop waits for the answers of attempts that have begun.
    private static let lastAnswers = Duration.seconds(1)

    let integrator: Integrator
    private let retry: Duration
    let store: SOSStore
    let journal: Journal
    let clock: SteadyClock
    /// What the other dispatcher is doing about the same emergencies.
    let pair: PairDesk
    private let metrics: SOSMetrics
    private let logger: Logger
    var lines: [EmergencyID: Line] = [:]
    private var acknowledged: Acknowledged = { _, _ in }
    /// Whose calls are tests, and who takes them.
    var canary: (person: PersonID, ear: Integrator)?
    private var isStopping = false
    private var attemptNumber = 0

    init(
        _ integrator: Integrator, retry: Duration, store: SOSStore, journal: Journal, clock: SteadyClock, pair: PairDesk,
        metrics: SOSMetrics, logger: Logger
    ) {
        (self.integrator, self.retry, self.store, self.journal) = (integrator, retry, store, journal)
        (self.clock, self.pair, self.metrics, self.logger) = (clock, pair, metrics, logger)
    }

    /// Who is told when a call is acknowledged.
    func whenAcknowledged(_ acknowledged: @escaping Acknowledged) {
        self.acknowledged = acknowledged
    }

    // MARK: What is to be sent

    /// After a start: sends at once whatever has not ended.
    func resume(_ outboxes: [EmergencyID: (person: PersonID, outbox: DispatchOutbox)]) {
        for (emergency, known) in outboxes where known.outbox.current != nil {
            lines[emergency] = Line(person: known.person, outbox: known.outbox)
            startCourier(emergency, atOnce: true)
        }
    }

    /// Takes a message that has been decided; its first attempt begins at once.
    func send(_ message: OutboxMessage, of person: PersonID) {
        let emergency = message.id.emergency
        let before = lines[emergency]?.outbox.messages ?? []
        lines[emergency, default: Line(person: person)].outbox.add(message)
        noteEnds(before, of: emergency)
        lines[emergency]?.rest?.cancel()
        startCourier(emergency, atOnce: false)
    }

    /// The person said that help is here: nothing more is sent of what is unacknowledged.
    func stop(_ emergency: EmergencyID) {
        guard let before = lines[emergency]?.outbox.messages else { return }
        lines[emergency]?.outbox.endAll(.stopped)
        noteEnds(before, of: emergency)
        lines[emergency]?.rest?.cancel()
    }

    /// Whether a message about the person is still to be sent or answered.
    func isCarrying(for person: PersonID) -> Bool {
        lines.values.contains { $0.person == person }
    }

    /// Nothing more is sent about the person.
    func stopAll(of person: PersonID) {
        for (emergency, line) in lines where line.person == person { stop(emergency) }
    }

    func noteEnds(_ before: [OutboxMessage], of emergency: EmergencyID) {
        guard let line = lines[emergency] else { return }
        let known = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0.end) })
        let ended = line.outbox.messages.filter { known[$0.id] != nil && known[$0.id] != $0.end }
        var batch = StoreBatch()
        for message in ended { batch.messages[message.id] = (line.person, message) }
        journal.note(batch)
        for message in ended { abandonAttempts(of: message.id) }
    }

    // MARK: Couriers

    private func startCourier(_ emergency: EmergencyID, atOnce: Bool) {
        guard !isStopping, lines[emergency]?.courier == nil else { return }
        lines[emergency]?.courier = Task { await carry(emergency, atOnce: atOnce) }
    }

    private func carry(_ emergency: EmergencyID, atOnce: Bool) async {
        var isDue = atOnce
        while !isStopping, let line = lines[emergency], let message = line.outbox.current {
            if await isSettledElsewhere(message, line) { continue }
            let due = isDue ? clock.now : line.outbox.nextAttempt(retry: retry) ?? clock.now
            let wait = max(due, pair.mayAttempt(message, to: integrator(for: line.person).name)) - clock.now
            if wait <= .zero, line.attempts.count < DispatchOutbox.attemptsAtOnce {
                isDue = false
                begin(message, of: line.person)
            } else {
                await rest(emergency, wait > .zero ? wait : retry)
            }
        }
        lines[emergency]?.courier = nil
        dropIfDone(emergency)
    }

    private func dropIfDone(_ emergency: EmergencyID) {
        guard let line = lines[emergency], line.courier == nil, line.outbox.current == nil, line.attempts.isEmpty else { return }
        lines[emergency] = nil
    }

    private func rest(_ emergency: EmergencyID, _ duration: Duration) async {
        let rest = Task<Void, Never> { try? await Task.sleep(for: duration) }
        lines[emergency]?.rest = rest
        await rest.value
        lines[emergency]?.rest = nil
    }

    private func begin(_ message: OutboxMessage, of person: PersonID) {
        let emergency = message.id.emergency
        lines[emergency]?.outbox.attempted(message.id, at: clock.now)
        if let tried = lines[emergency]?.outbox.messages.first(where: { $0.id == message.id }) { note(tried, of: person) }
        tellAttempt(message, of: person)
        attemptNumber += 1
        let number = attemptNumber
        let task = Task { await attempt(message, of: person, number) }
        lines[emergency]?.attempts[number] = (message.id, task)
    }

    private func attempt(_ message: OutboxMessage, of person: PersonID, _ number: Int) async {
        let emergency = message.id.emergency
        let delivery = await integrator(for: person).deliver(message)
        lines[emergency]?.attempts[number] = nil
        defer { dropIfDone(emergency) }
        // Called off, because another attempt's answer counts or another message has taken its place.
        guard !Task.isCancelled else { return }
        if canary?.person != person {
            metrics.attempted(delivery.outcome)
            let ordinal = message.attempts + 1
            note(
                "dispatch-attempted", message.id, by: "dispatcher",
                "\(message.kind.rawValue) \(message.id.sequence), attempt \(ordinal): \(delivery.detail)")
            logger.log(
                level: ordinal == 1 ? .notice : .info, "dispatch attempted",
                metadata: ["emergency": "\(emergency)", "attempt": "\(ordinal)", "outcome": "\(delivery.outcome)"])
        }
        if case .answered(let acknowledgement) = delivery, let known = lines[emergency] {
            await take(acknowledgement, message.id, in: known.outbox, of: person)
        }
    }

    private func abandonAttempts(of message: MessageID) {
        for attempt in lines[message.emergency]?.attempts.values.filter({ $0.message == message }) ?? [] { attempt.task.cancel() }
    }

    // MARK: Acknowledgements

    /// What became of an acknowledgement that came by itself.
    enum Reception: Sendable {
        case taken
        case unknownMessage
    }

    /// The integrator's word, after its identity has been proved. The same one again changes nothing.
    /// - Throws: when it could not be stored durably: to be sent again.
    func receive(_ acknowledgement: Acknowledgement) async throws -> Reception {
        guard let id = MessageID(acknowledgement.messageId) else { return .unknownMessage }
        if let line = lines[id.emergency], line.outbox.messages.contains(where: { $0.id == id }) {
            await take(acknowledgement, id, in: line.outbox, of: line.person)
        } else {
            // One that has ended already: it is only in the store.
            guard let (person, outbox) = try await store.outbox(of: id.emergency), outbox.messages.contains(where: { $0.id == id }) else {
                return .unknownMessage
            }
            await take(acknowledgement, id, in: outbox, of: person)
        }
        try await journal.commit()
        return .taken
    }

    /// - Parameter isHeard: whether the other dispatcher was told, and has told it here.
    func take(
        _ acknowledgement: Acknowledgement, _ id: MessageID, in known: DispatchOutbox, of person: PersonID, isHeard: Bool = false
    ) async {
        if !isHeard { tell(acknowledgement, of: person) }
        guard acknowledgement.accepts else {
            note("rejected", id, by: integrator.name, "\(id.sequence)")
            logger.warning("the emergency service rejected a message; it is sent on", metadata: ["emergency": "\(id.emergency)"])
            return
        }
        var outbox = known
        guard outbox.ended(id, .acknowledged), let message = outbox.messages.first(where: { $0.id == id }) else { return }
        lines[id.emergency]?.outbox.ended(id, .acknowledged)
        lines[id.emergency]?.rest?.cancel()
        abandonAttempts(of: id)
        note(message, of: person)
        if canary?.person == person { return await acknowledged(person, id.emergency) }
        let word = message.kind == .alert ? "acknowledged" : "\(message.kind.rawValue)-acknowledged"
        note(word, id, by: integrator.name, "\(message.kind.rawValue) \(id.sequence): \(acknowledgement.result.rawValue)")
        metrics.acknowledged(after: clock.now - message.createdAt)
        logger.notice(
            "acknowledged",
            metadata: [
                "emergency": "\(id.emergency)", "message": "\(message.kind.rawValue)",
                "after_ms": "\((clock.now - message.createdAt).wholeMilliseconds)",
            ])
        if outbox.isLatestAlert(id) { await acknowledged(person, id.emergency) }
    }

    private func note(_ action: String, _ id: MessageID, by actor: String, _ detail: String) {
        var batch = StoreBatch()
        batch.audit = [AuditNote(at: .now, actor: actor, action: action, object: "\(id.emergency)", detail: detail)]
        journal.note(batch)
    }

    func note(_ message: OutboxMessage, of person: PersonID) {
        var batch = StoreBatch()
        batch.messages[message.id] = (person, message)
        journal.note(batch)
    }

    // MARK: Running

    /// Counts what waits until it is told to stop; then lets attempts end that have begun.
    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            while !Task.isCancelled {
                await measure()
                try? await Task.sleep(for: .seconds(1))
            }
        }
        await finish()
    }

    private func measure() {
        metrics.waiting(messages: lines.values.count { $0.outbox.current != nil && $0.person != canary?.person }, oldest: oldestWaiting)
    }

    /// How long the oldest unacknowledged call of a real person has been waiting.
    var oldestWaiting: Duration {
        let waiting = lines.values.filter { $0.person != canary?.person }.compactMap(\.outbox.current)
        return waiting.map { clock.now - $0.createdAt }.max() ?? .zero
    }

    private func finish() async {
        isStopping = true
        for line in lines.values { line.rest?.cancel() }
        let attempts = lines.values.flatMap { $0.attempts.values.map(\.task) }
        let patience = Task {
            try await Task.sleep(for: Dispatcher.lastAnswers)
            for attempt in attempts { attempt.cancel() }
        }
        for attempt in attempts { await attempt.value }
        patience.cancel()
        for courier in lines.values.compactMap(\.courier) { await courier.value }
        try? await journal.commit()
    }
}
