// Watches every subscriber: entries, answers and time go to the machines, what they want done is stored and then done.

import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit

/// Decides in memory, without waiting for anything; what was decided is stored in one transaction with how far the streams have
/// been heard; effects follow. Judging the same entries again after a crash gives the same emergencies.
actor SupervisionService {
    /// A call does not wait longer than this for the disk (P6: it may go out twice, never not at all).
    static let storeTimeout = Duration.milliseconds(150)
    /// After a pause of its own the dispatcher receives what it missed before it takes silence for a sign, but not for longer.
    static let catchUp = Duration.milliseconds(300)

    /// Ingest says something several times a second; after so long without it, a person's silence is nobody's news.
    static let deafAfter = Duration.seconds(5)

    let rules: SupervisionRules
    private let letterhead: DispatchLetterhead
    let names: Names
    let keys: PersonKeys
    let store: SOSStore
    let journal: Journal
    let dispatcher: Dispatcher
    let clock: SteadyClock
    let pair: PairState
    let beganAt: Timestamp
    /// Where what happened is told to those who show and send it.
    nonisolated let events: SupervisionEventBus
    /// Who has become known without an emergency card (`CardReading`).
    nonisolated let missingCards = MissingCards()
    private let metrics: SOSMetrics
    private let logger: Logger
    private let decoder = JSONDecoder()

    var people: [PersonID: Watched] = [:]
    /// Whose state could not be read at the start, until the other dispatcher has told how they are supervised, or the start goes on.
    var untold: Set<PersonID> = []
    /// Whether the store came from a copy, so that what was said and done since is not known here.
    private(set) var wasPutBack = false
    /// By the header's spelling, so that whoever is not supervised costs one look-up.
    var subjects: [String: PersonID] = [:]
    var records: [PersonID: EmergencyRecord] = [:]
    /// Messages made so far in the emergencies that may still make one.
    var sequences: [EmergencyID: Int] = [:]
    var changes = StoreBatch()
    /// Judged on ingest's fast path, and not heard in their place yet.
    var early = EarlyUploads()
    /// Critical readings that were judged, whichever way they came.
    var judged = RecentSet<JudgedReading>(kept: EarlyUploads.kept, most: EarlyUploads.most)
    /// How long what ingest says was on its way here.
    var transit = TransitDelay()
    /// What was decided by entries and is being stored and carried out.
    private var underWay: [Int: Task<Void, Never>] = [:]
    private var settlements = 0
    /// How long ago everything that ingest had said was known here.
    private let ingestSilentFor: @Sendable () -> Duration
    private var due = DueList<PersonID>()
    private var alarm: (at: Timestamp, task: Task<Void, Never>)?
    /// The epoch in which each partition was begun, and whether all of that is on disk.
    var begun: [String: String] = [:]
    private var isBeginningStored = true
    /// How far each partition has been judged.
    private(set) var reached: [String: StreamPosition] = [:]
    /// Partitions with facts that are known to exist and have not been heard yet, and since when.
    private var behind: [String: Timestamp] = [:]

    init(
        rules: SupervisionRules, letterhead: DispatchLetterhead, names: Names, keys: PersonKeys, store: SOSStore, journal: Journal,
        dispatcher: Dispatcher, clock: SteadyClock, pair: PairState, keep: @escaping SupervisionEventBus.Keep,
        ingestSilentFor: @escaping @Sendable () -> Duration, metrics: SOSMetrics, logger: Logger
    ) {
        (self.rules, self.letterhead, self.names, self.keys, self.store) = (rules, letterhead, names, keys, store)
        (self.journal, self.dispatcher, self.clock, self.pair) = (journal, dispatcher, clock, pair)
        (self.metrics, self.logger, beganAt) = (metrics, logger, clock.now)
        self.ingestSilentFor = ingestSilentFor
        events = SupervisionEventBus(journal: journal, keep: keep)
    }

    // MARK: Starting and stopping

    /// Goes on where the last process stopped: everything that has become due meanwhile happens at once.
    func resume(_ memory: SOSStore.Memory) async {
        var effects = Effects()
        for position in memory.positions { reached[position.stream] = position }
        for person in memory.subscribers.keys where people[person] != nil {
            takeAnswers(of: person, &effects)
            change(person, &effects) { machine in
                // First what was due before the stop, then the dispatcher's own silence is forgiven.
                let due = machine.emergencyRuns ? machine.timePassed(to: clock.now) : []
                machine.listeningAgain(at: clock.now)
                return due + machine.brought(to: memory, of: person, at: clock.now)
            }
            let known = records[person].flatMap { memory.outboxes[$0.id] }
            if known?.outbox.isTaken == true {
                change(person, &effects) { $0.acknowledged(at: clock.now) }
            }
        }
        superviseUnreadable(memory, &effects)
        await settle(effects)
        events.announce(running())
    }

    /// For those who may have missed something while nobody ran.
    func running() -> [SupervisionEvent] {
        people.compactMap { person, watched in
            let state = watched.subscriber.supervision
            guard let episode = state.episode, Supervision(rules: rules, state: state).emergencyRuns else { return nil }
            return SupervisionEvent(
                person: person, kind: .goesOn, emergency: names.emergency(of: person, episode.trigger), episode: episode, at: .now)
        }
    }

    /// Nothing is due any more after this: what was, has been stored and handed on.
    func stop() async {
        await wake()
        alarm?.task.cancel()
        alarm = nil
        for settlement in underWay.values { await settlement.value }
        try? await journal.commit()
        await events.quiet()
    }

    /// Whether the person's emergencies are tests of this very chain: nobody is told of them.
    func isSynthetic(_ person: PersonID) -> Bool { names.synthetic.contains(person) }

    /// Hands on what was changed without any effect.
    func storeChanges() async {
        await settle(Effects())
    }

    // MARK: Entries

    /// One gapless stretch of the ingest streams. Returns when it is decided: what follows is stored and done meanwhile, so that a
    /// slow disk makes nobody deaf.
    func apply(_ events: [StreamEvent], _ next: [StreamPosition]) async {
        for header in events.map(\.header) {
            behind[header.stream] = header.head > header.sequence ? behind[header.stream] ?? clock.now : nil
        }
        judge(events, before: next)
        await begin(next)
    }

    /// What a person's state has already is passed over. What follows is stored and done beside.
    func judge(_ events: [StreamEvent], before next: [StreamPosition] = []) {
        var effects = Effects()
        let places = places(of: events.map(\.header))
        let received = ReceiptOrder.settled(zip(events, places).map { ($0.header.stream, $1.at) })
        for ((event, place), settled) in zip(zip(events, places), received) {
            guard let person = subjects[event.header.subject], event.header.type == SamplesRecorded.type,
                var recorded = decode(event), people[person]?.receive(event.header) == true,
                let at = people[person]?.subscriber.supervision.taking(place, settled: settled)
            else { continue }
            guard leaveOutEarly(&recorded, of: person, at: at, &effects) else { continue }
            hear(recorded, of: person, at: at, &effects)
            // Not after the rest of the stretch, which may be long.
            if !effects.people.isEmpty {
                settleSoon(effects)
                effects = Effects()
            }
        }
        for position in next { (changes.positions[position.stream], reached[position.stream]) = (position, position) }
        settleSoon(effects)
    }

    /// Nil, and said in the log, for what cannot be read.
    func decode(_ event: StreamEvent) -> SamplesRecorded? {
        if let recorded = SamplesRecorded(scanning: event.payload) { return recorded }
        if let recorded = try? decoder.decode(SamplesRecorded.self, from: Data(event.payload)) { return recorded }
        metrics.couldNotDecode()
        logger.error("a fact of the ingest stream cannot be read", metadata: ["sequence": "\(event.header.sequence)"])
        return nil
    }

    /// Where a partition begins is stored at once: killed before, the dispatcher would begin it further on and pass over what was
    /// said in between.
    private func begin(_ positions: [StreamPosition]) async {
        for position in positions where begun[position.stream] != position.epoch {
            begun[position.stream] = position.epoch
            isBeginningStored = false
        }
        await storeBeginning()
    }

    /// While the disk refuses, whoever asks tries it again.
    private func storeBeginning() async {
        if !isBeginningStored { isBeginningStored = (try? await journal.commitEverything()) != nil }
    }

    /// Whether nothing that ingest says from here on can be skipped, whatever happens to this process.
    func isListening() async -> Bool {
        guard StreamFamily.samples.streams.allSatisfy({ begun[$0] != nil }) else { return false }
        await storeBeginning()
        return isBeginningStored
    }

    /// - Parameters:
    ///   - received: when ingest received it, on the steady clock.
    ///   - isRefused: whether ingest stores it nowhere.
    func hear(
        _ recorded: SamplesRecorded, of person: PersonID, at received: Timestamp, isRefused: Bool = false, _ effects: inout Effects
    ) {
        let upload = upload(recorded, at: received, isRefused: isRefused)
        change(person, &effects, after: upload) { $0.uploaded(upload) }
        noteJudged(recorded, of: person)
        metrics.decided(after: .now - recorded.receivedAt)
    }

    // MARK: Time

    /// Lets everybody's timers fire that are due.
    func wake() async {
        var effects = Effects()
        let now = clock.now
        let isDeaf = ingestSilentFor() > SupervisionService.deafAfter
        for person in due.take(dueBy: now) {
            if let since = behind[StreamFamily.samplesStream(of: person)], now < since + SupervisionService.catchUp {
                due.want(person, at: since + SupervisionService.catchUp)
            } else {
                change(person, &effects) { machine in
                    if isDeaf { machine.putOffContacts(at: now) }
                    return machine.timePassed(to: now)
                }
            }
        }
        await settle(effects)
    }

    private func setAlarm() {
        guard let earliest = due.earliest, alarm.map({ earliest < $0.at }) ?? true else { return }
        alarm?.task.cancel()
        let wait = max(.zero, earliest - clock.now)
        let task = Task {
            try? await Task.sleep(for: wait)
            if !Task.isCancelled { await alarmIsDue() }
        }
        alarm = (earliest, task)
    }

    private func alarmIsDue() async {
        alarm = nil
        await wake()
    }
}

// MARK: Deciding

extension SupervisionService {
    /// What is to be done once it is stored.
    struct Effects {
        var messages: [(person: PersonID, message: OutboxMessage, t0: Timestamp)] = []
        var stops: [EmergencyID] = []
        var events: [SupervisionEvent] = []
        /// For whom something happened: their state is stored before it takes effect.
        var people: Set<PersonID> = []
    }

    /// Asks the person's machine and takes note of everything that follows.
    func change(
        _ person: PersonID, _ effects: inout Effects, after upload: Supervision.Upload? = nil,
        _ body: (inout Supervision) -> [SupervisionAction]
    ) {
        guard var watched = people[person] else { return }
        let wasSubscribed = watched.subscriber.supervision.subscribed
        var machine = Supervision(rules: rules, state: watched.subscriber.supervision)
        if let upload {
            // What was due before it is written without it: whoever was awake then had not heard it, and the bytes are the same (INV-15).
            let due = machine.timePassed(to: upload.at)
            if !due.isEmpty {
                watched.subscriber.supervision = machine.state
                followAll(due, machine, &watched, person, &effects)
            }
        }
        let actions = body(&machine)
        if machine.state.subscribed != wasSubscribed, !isSynthetic(person) {
            changes.subscriptions.append(SubscriptionState(person: person, subscribed: machine.state.subscribed))
            effects.people.insert(person)
            if machine.state.subscribed, watched.subscriber.card == nil { missingCards.note([person]) }
        }
        watched.subscriber.supervision = machine.state
        if let upload, machine.state.subscribed { watched.subscriber.note(upload, watches: machine.thresholds.watches) }
        if watched.answered?.askedBack != nil, upload?.entries.contains(where: { $0.type == .help }) == true {
            watched.answered?.askedBack = nil
        }
        followAll(actions, machine, &watched, person, &effects)
        if let ended = watched.calledOff, clock.now - ended.at > Self.answersTravel { watched.calledOff = nil }
        keep(watched, person, machine)
        if machine.state.episode != nil || !machine.state.beside.isEmpty { takeAnswers(of: person, &effects) }
    }

    private func keep(_ watched: Watched, _ person: PersonID, _ machine: Supervision) {
        if machine.state.stage == .off {
            people[person] = nil
            subjects["\(person)"] = nil
            records[person] = nil
            changes.remove(person)
        } else {
            people[person] = watched
            subjects["\(person)"] = machine.state.subscribed ? person : nil
            changes.put(watched, of: person)
            if let next = machine.nextDue { due.want(person, at: next) }
        }
    }

    /// - Parameter at: when it was decided, as people call it.
    private func follow(
        _ action: SupervisionAction, at: Timestamp, _ machine: Supervision, _ watched: inout Watched, _ person: PersonID,
        _ effects: inout Effects
    ) {
        effects.people.insert(person)
        guard let episode = action.episode else {
            guard !isSynthetic(person) else { return }
            // Beside an emergency the person is asked under the name that it would have.
            let asked = action.question.map { names.emergency(of: person, $0.trigger) }
            if let asked, action.asks { watched.noteAsked(asked) }
            var event = SupervisionEvent(person: person, kind: SupervisionEvent.Kind(action.kind), at: at, since: action.since)
            (event.emergency, event.episode, event.sounds) = (asked, action.question, action.sounds)
            // Where nothing at all is heard the warning names no parameter.
            if case .signalLost(let signal) = action.kind, machine.state.stage != .suspended { event.signal = signal }
            event.noteJoining(of: watched.subscriber)
            tell(event, watched.subscriber, &effects)
            changes.audit.append(
                AuditNote(
                    at: at, actor: action.actor, action: action.word, object: asked.map { "\($0)" } ?? names.auditName(of: person),
                    detail: action.detail))
            return
        }
        let emergency = names.emergency(of: person, episode.trigger)
        if action.asks { watched.noteAsked(emergency) }
        if action.kind == .dispatched(.asked) {
            watched.noteCalledFor(emergency, since: action.at - SupervisionRules.askedBackFor)
        }
        noteCalledOff(by: action, emergency, of: &watched)
        var record =
            records[person].flatMap { $0.id == emergency ? $0 : nil }
            ?? EmergencyRecord(id: emergency, person: person, t0: episode.receivedAt)
        if record.closedAt != nil, action.kind == .opened || action.kind == .askedAgain { record.t0 = episode.receivedAt }
        record.follow(action.kind, at: at)
        records[person] = record
        changes.emergencies[emergency] = record
        if !isSynthetic(person) {
            note(action, of: record, at)
            if action.kind == .opened || action.kind == .askedAgain, let tried = episode.firstTriedAt {
                // By the device's clock: it stands first, and whatever follows can be counted from it (SOS-41).
                changes.audit.append(AuditNote(at: tried, actor: "device", action: "first-tried", object: "\(record.id)", detail: ""))
            }
            var event = SupervisionEvent(
                person: person, kind: SupervisionEvent.Kind(action.kind), emergency: emergency, episode: episode, at: at)
            if case .worse(let worse) = action.kind { event.worse = worse }
            tell(event, watched.subscriber, &effects)
        }
        if let kind = message(of: action, in: emergency, at: at) {
            send(kind, action, episode, watched.subscriber, person, emergency, &effects)
        }
        if action.kind == .helpArrived { effects.stops.append(emergency) }
        if record.closedAt != nil, action.kind != .muted, action.kind != .transient || episode.dueAt == nil {
            let next = sequences.removeValue(forKey: emergency)
            if watched.calledOff?.emergency == emergency { watched.calledOff?.nextSequence = next }
            Task { await dispatcher.closed(emergency) }
        }
    }

    private func note(_ action: SupervisionAction, of record: EmergencyRecord, _ at: Timestamp) {
        let trace = String("\(record.id)".suffix(Crockford.digits))
        if let said = action.said {
            let changed = EmergencyChanged(
                emergency: record.id, person: record.person, change: said, at: at,
                measurementsPerSecond: action.keepsAlert ? rules.alertRate : nil)
            changes.facts.append(EmergencyFact(changed: changed, trace: trace))
        }
        logger.notice("\(action.word)", metadata: ["emergency": "\(record.id)"])
        // The acknowledgement itself is noted where it arrives, with who gave it.
        guard action.kind != .acknowledged else { return }
        changes.audit.append(
            AuditNote(at: at, actor: action.actor, action: action.word, object: "\(record.id)", detail: action.detail))
    }

    private func send(
        _ kind: DispatchMessage.Kind, _ action: SupervisionAction, _ episode: Episode, _ subscriber: Subscriber, _ person: PersonID,
        _ emergency: EmergencyID, _ effects: inout Effects
    ) {
        let id = MessageID(
            emergency: emergency, sequence: pair.number(of: kind, in: emergency, from: sequences[emergency] ?? kind.first))
        sequences[emergency] = id.sequence + 1
        // Counted from ingest's receipt, not read off a clock: judged again after a crash, the message is the same byte for byte.
        let decidedAt = episode.wall(action.at)
        let facts = DispatchFacts(
            id: id, kind: kind, episode: episode, subscriber: subscriber, rules: rules, pid: names.pid(of: person), decidedAt: decidedAt,
            sent: decidedAt, calledOffBy: action.calledOffBy, isLocated: action.kind == .located, worse: action.worse,
            trace: String("\(emergency)".suffix(Crockford.digits)),
            code: names.code(of: id))
        do {
            var letterhead = letterhead
            if isSynthetic(person) { letterhead.status = .system }
            let body = try DispatchMessage(facts, under: letterhead).encoded()
            let message = OutboxMessage(id: id, kind: kind, body: body, createdAt: clock.now)
            changes.messages[id] = (person, message)
            effects.messages.append((person, message, episode.receivedAt))
        } catch {
            // Only a value that JSON cannot write gets here, and none such passes ingest.
            logger.critical("a message cannot be written", metadata: ["emergency": "\(emergency)"])
        }
    }

    /// Hands what was decided to the store, and then does it. A call waits for the disk only so long.
    func settle(_ decided: Effects) async {
        var effects = decided
        handOn(&effects)
        await carryOut(effects)
    }

    /// As `settle`, for those who must go on hearing: what was decided is done while they do.
    func settleSoon(_ decided: Effects) {
        var effects = decided
        handOn(&effects)
        guard !effects.people.isEmpty else { return }
        settlements += 1
        let number = settlements
        underWay[number] = Task { [effects] in
            await carryOut(effects)
            underWay[number] = nil
        }
    }

    private func handOn(_ effects: inout Effects) {
        tellPair(&effects)
        let decided = changes
        changes = StoreBatch()
        let (urgent, patient) = decided.parted(urgent: effects.people)
        journal.note(urgent, patient: patient)
        events.announce(effects.events)
        setAlarm()
        guard !effects.people.isEmpty else { return }
        journal.hurry()
        let open = records.values.count { $0.closedAt == nil && !isSynthetic($0.person) }
        metrics.counted(subscribers: subjects.count, openEmergencies: open)
    }

    private func carryOut(_ effects: Effects) async {
        guard !effects.people.isEmpty else { return }
        if effects.messages.isEmpty, effects.stops.isEmpty {
            try? await journal.commit()
            return
        }
        if await !journal.commit(within: SupervisionService.storeTimeout) {
            metrics.dispatchedBeforeStored()
            logger.error("a message goes out before it is stored")
        }
        for (person, message, t0) in effects.messages {
            if message.id.sequence == 0, !isSynthetic(person) { metrics.dispatched(after: .now - t0) }
            await dispatcher.send(message, of: person)
        }
        for emergency in effects.stops { await dispatcher.stop(emergency) }
    }
}

// MARK: What people and the emergency service say to supervision, and what is asked about it

extension SupervisionService {
    /// What goes into the transaction of a change, by what there is of the subscriber: asked in one step with the change, and before it.
    /// - Throws: what refuses the change.
    typealias Further = @Sendable (Subscriber) throws -> SealedBatchStore.FurtherWrite?

    /// - Parameter amend: what is kept of the subscriber beside, from the beginning.
    func subscribe(
        _ person: PersonID, own: [Metric: Bounds], interval: Duration?, further: Further,
        amend: @Sendable (inout Subscriber) -> Void = { _ in }
    ) async throws {
        var effects = Effects()
        var watched = people[person] ?? Watched()
        let write = try further(watched.subscriber)
        amend(&watched.subscriber)
        people[person] = watched
        let joins = watched.subscriber.supervision.joins
        change(person, &effects) { $0.subscribed(own: own, declaredInterval: interval, at: clock.now) }
        noteJoining(of: person, after: joins)
        try await finish(effects, of: person, "subscribed", write)
    }

    /// - Parameter before: how often supervision had begun to listen before what the person has just said.
    private func noteJoining(of person: PersonID, after before: Int?) {
        guard var watched = people[person], watched.subscriber.supervision.joins != before else { return }
        watched.subscriber.joinedAt = .now
        people[person] = watched
        changes.put(watched, of: person)
    }

    /// - Throws: `notFound`.
    func subscribed(_ person: PersonID) throws(Failure) -> Subscriber {
        guard let subscriber = people[person]?.subscriber, subscriber.supervision.subscribed else {
            throw Failure(.notFound, "this person is not subscribed")
        }
        return subscriber
    }

    func unsubscribe(_ person: PersonID, further: Further) async throws {
        let write = try further(subscribed(person))
        var effects = Effects()
        change(person, &effects) { $0.unsubscribed(at: clock.now) }
        try await finish(effects, of: person, "unsubscribed", write)
    }

    func pause(_ person: PersonID, _ isPaused: Bool, interval: Duration?, further: Further) async throws {
        let write = try further(subscribed(person))
        var effects = Effects()
        var refusal: Failure?
        let joins = people[person]?.subscriber.supervision.joins
        change(person, &effects) { machine in
            let outcome = isPaused ? machine.paused(at: clock.now) : machine.resumed(declaredInterval: interval, at: clock.now)
            refusal = outcome.refusal
            return outcome.actions
        }
        if refusal == nil { notePause(of: person, isPaused) }
        noteJoining(of: person, after: joins)
        try await finish(effects, of: person, isPaused ? "paused" : "resumed", write, refusal)
    }

    func noteStore(wasPutBack: Bool) {
        self.wasPutBack = wasPutBack
    }

    func answerPrompt(
        _ person: PersonID, _ given: AnswerPrompt.Answer,
        further: @Sendable (AnswerPrompt.Reply) -> SealedBatchStore.FurtherWrite?
    ) async throws -> AnswerPrompt.Reply {
        guard people[person] != nil else { throw Failure(.notFound, "this person is not subscribed") }
        var effects = Effects()
        var outcome: Supervision.Outcome?
        let now = clock.now
        let wall = clock.wall(fromSteady: now)
        change(person, &effects) { machine in
            let answered = machine.answered(given, at: now, wall: wall)
            outcome = answered
            return answered.actions
        }
        let asksBack = outcome?.asksBack == true
        if let outcome, outcome.refusal == nil {
            tellAnswer(given, of: person, with: outcome, at: timeOfAnswer(of: person, now), wall: wall)
        }
        let reply = AnswerPrompt.Reply(
            alreadyDispatched: outcome?.alreadyDispatched ?? false,
            emergency: (outcome?.episode).map { names.emergency(of: person, $0.trigger) }, asksBack: asksBack ? true : nil)
        // What is asked back waits for no disk: whoever gets no reply sends it again, which would count.
        try await finish(
            effects, of: person, "answered", further(reply), outcome?.refusal, detail: given.rawValue, waitsForDisk: !asksBack)
        return reply
    }

    /// The emergency service has taken the call.
    func acknowledged(_ person: PersonID, _ emergency: EmergencyID) async {
        guard let episode = people[person]?.subscriber.supervision.episode, names.emergency(of: person, episode.trigger) == emergency else {
            return
        }
        var effects = Effects()
        change(person, &effects) { $0.acknowledged(at: clock.now) }
        await settle(effects)
    }

    /// Whether emergencies of the person are looked for.
    func status(of person: PersonID) -> ReadSupervision.Reply {
        let state = people[person]?.subscriber.supervision
        return ReadSupervision.Reply(
            subscribed: state?.subscribed ?? false, paused: state?.stage == .paused || state?.monitoringPaused == true,
            standing: (state?.standing ?? .off).rawValue)
    }

    /// The person has paused or resumed monitoring (ACC-28); who is not subscribed is skipped.
    func monitoring(_ pause: MonitoringState) async {
        let known = people[pause.person]?.subscriber.supervision
        guard let known, (known.monitoringPaused ?? false) != pause.paused else { return }
        let interval = try? await store.longestInterval(of: pause.person)
        var effects = Effects()
        change(pause.person, &effects) { $0.monitoring(isPaused: pause.paused, declaredInterval: interval, at: clock.now) }
        effects.people.insert(pause.person)
        changes.audit.append(
            AuditNote(
                at: .now, actor: "person", action: pause.paused ? "monitoring-paused" : "monitoring-resumed",
                object: names.auditName(of: pause.person)))
        await settle(effects)
    }

    func isSubscribed(_ person: PersonID) -> Bool {
        people[person]?.subscriber.supervision.subscribed ?? false
    }

    /// Stores what a person has said, in one transaction with `further`.
    func finish(
        _ effects: Effects, of person: PersonID, _ action: String, _ further: SealedBatchStore.FurtherWrite?,
        _ refusal: Failure? = nil, detail: String = "", waitsForDisk: Bool = true
    ) async throws {
        var effects = effects
        effects.people.insert(person)
        if refusal == nil {
            changes.audit.append(
                AuditNote(at: .now, actor: "person", action: action, object: names.auditName(of: person), detail: detail))
            if let further { changes.further.append(further) }
            if let kind = SupervisionEvent.Kind(rawValue: action) {
                effects.events.append(SupervisionEvent(person: person, kind: kind, at: .now))
            }
        }
        guard waitsForDisk else { return settleSoon(effects) }
        await settle(effects)
        if let refusal { throw refusal }
        do {
            try await journal.commit()
        } catch {
            throw Failure(.unavailable, "it is in force, but could not be stored yet: ask again")
        }
    }
}

// MARK: What supervision knows that a prompt shows, and the answer to exactly that prompt

extension SupervisionService {
    /// nil where no emergency of the person runs or is muted.
    func prompt(of person: PersonID, abortWindow: Duration) -> PromptState? {
        guard let state = people[person]?.subscriber.supervision else { return nil }
        var prompt = PromptState(state, record: records[person], rules: rules, abortWindow: abortWindow) {
            names.emergency(of: person, $0)
        }
        if let emergency = prompt?.emergency { prompt?.asksBackCallingOff = isAskedBack(about: emergency, of: person) }
        return prompt
    }

    /// What the person is asked or told about by this name.
    private func question(_ emergency: EmergencyID, of person: PersonID) -> Episode? {
        guard let state = people[person]?.subscriber.supervision else { return nil }
        return ([state.episode].compactMap(\.self) + state.beside).first { names.emergency(of: person, $0.trigger) == emergency }
    }

    /// Whether the answer still says something about it; what was answered with it before may have been called for again since.
    func awaits(_ answer: AnswerPrompt.Answer, about emergency: EmergencyID, of person: PersonID) -> Bool {
        guard let state = people[person]?.subscriber.supervision, let question = question(emergency, of: person) else { return false }
        return Supervision(rules: rules, state: state).awaits(answer, about: question.trigger)
    }

    /// Whether something else than this is asked or called for by now.
    func hasMovedOn(from emergency: EmergencyID, of person: PersonID) -> Bool {
        guard let asked = asked(of: person, .fine), asked != emergency else { return false }
        return awaits(.fine, about: asked, of: person)
    }

    /// When this very answer was given, by the wall clock, if it is the last that counted in the emergency, whichever dispatcher was given it.
    func timeOf(_ answer: AnswerPrompt.Answer, in emergency: EmergencyID, of person: PersonID) -> Timestamp? {
        guard let known = people[person]?.answers(in: emergency), known.last == answer else { return nil }
        return known.lastAt.map { clock.wall(fromSteady: $0) }
    }

    /// Takes the answer if it is about what runs or is asked; a late answer must not call off the next one, nor what was called for after
    /// it was given. A call for help always counts (SOS-35).
    func answerPrompt(
        _ person: PersonID, about emergency: EmergencyID, _ given: AnswerPrompt.Answer,
        further: @Sendable (AnswerPrompt.Reply) -> SealedBatchStore.FurtherWrite?
    ) async throws -> AnswerPrompt.Reply {
        guard given == .help || question(emergency, of: person) != nil else {
            throw Failure(.conflict, "this emergency is over")
        }
        // What is called off awaits it no more. A fall that came since has its own name.
        if given.callsOff, !awaits(given, about: emergency, of: person),
            people[person]?.answers(in: emergency).said?.contains(given) == true
        {
            throw Failure(.conflict, "it was answered")
        }
        if let reply = askingBack(given, about: emergency, of: person) { return reply }
        return try await answerPrompt(person, given, further: further)
    }

    /// What an answer without a name is about; nil where nothing runs or is asked. Of what is called off nothing is asked any more, so that
    /// the fall beside it is meant, as the prompt shows it; help is called for again in what was called off.
    func asked(of person: PersonID, _ answer: AnswerPrompt.Answer) -> EmergencyID? {
        guard let state = people[person]?.subscriber.supervision else { return nil }
        let running = state.stage == .stoodDown && answer != .help ? state.beside.first ?? state.episode : state.episode
        return (running ?? state.beside.first).map { names.emergency(of: person, $0.trigger) }
    }

    /// Announces it once it is stored, together with what the person is told of it.
    func tell(_ event: SupervisionEvent, _ subscriber: Subscriber, _ effects: inout Effects) {
        effects.events.append(events.keep(event, of: subscriber, in: &changes))
    }

    /// The message that an action makes. What the other dispatcher was told while it had heard of no call from here needs not be taken back.
    func message(of action: SupervisionAction, in emergency: EmergencyID, at time: Timestamp) -> DispatchMessage.Kind? {
        let kind = action.message(since: beganAt, now: time)
        guard action.kind == .muted, !pair.answers(in: emergency).isEmpty else { return kind }
        return pair.number(of: .cancel, in: emergency, from: 0) == 0 ? nil : kind
    }

    /// How the person is addressed, and in which language.
    func address(of person: PersonID) -> (name: String, language: Language) {
        let subscriber = people[person]?.subscriber
        return (subscriber?.card?.name ?? "", subscriber?.language ?? .italian)
    }
}

// MARK: Where a subscriber is, as supervision keeps it for whoever is called

extension SupervisionService {
    /// Everything that follows from what the machine has decided, and from a place that has become known since the call.
    func followAll(
        _ actions: [SupervisionAction], _ machine: Supervision, _ watched: inout Watched, _ person: PersonID, _ effects: inout Effects
    ) {
        // Read off the clocks once: what was decided together has one time, and no effect one before its cause.
        let now = clock.now
        let sinceSteady = clock.wall(fromSteady: now) - now
        for action in actions {
            follow(action, at: action.at + sinceSteady, machine, &watched, person, &effects)
            watched.subscriber.noteTold(action)
        }
        guard let located = watched.subscriber.located(machine) else { return }
        follow(located, at: located.at + sinceSteady, machine, &watched, person, &effects)
        watched.subscriber.noteTold(located)
    }

    /// What ingest knows of a person whom nothing was known of: where they are, above all. It may come after the call.
    func note(_ latest: [Sample], of person: PersonID) async {
        guard people[person] != nil else { return }
        people[person]?.subscriber.note(Supervision.Upload(at: clock.now, receivedAt: .now, entries: latest), watches: { _ in false })
        var effects = Effects()
        change(person, &effects) { $0.emergencyRuns ? $0.timePassed(to: clock.now) : [] }
        await settle(effects)
    }
}

// MARK: What devices say of themselves, and how it changes whether a person can be watched

extension SupervisionService {
    /// Devices of these people changed: who is on charge is suspended and told, who is off it is watched again (SOS-27).
    func devicesChanged(of changed: Set<PersonID>) async {
        for person in changed where people[person] != nil {
            // Unknown, it is left as it was: the next fact about the device, or silence, says more.
            guard let isCharging = try? await store.isCharging(person) else { continue }
            await charging(person, isCharging)
        }
    }

    /// What ingest had said of the person's devices before anybody here supervised them: it is not said again.
    func readDevices(of person: PersonID) async {
        if (try? await store.isMonitoringPaused(person)) == true {
            await monitoring(MonitoringState(person: person, paused: true))
        }
        await devicesChanged(of: [person])
    }

    /// As `readDevices`, for one whom the other dispatcher was told to supervise: it does not say what interval their devices declared.
    func began(elsewhere person: PersonID) async {
        if let interval = try? await store.longestInterval(of: person) {
            var effects = Effects()
            change(person, &effects) { $0.declared(interval, at: clock.now) }
            await settle(effects)
        }
        await readDevices(of: person)
    }

    func charging(_ person: PersonID, _ isCharging: Bool) async {
        guard let known = people[person]?.subscriber.supervision, (known.charging ?? false) != isCharging else { return }
        let interval = try? await store.longestInterval(of: person)
        var effects = Effects()
        change(person, &effects) { $0.charging(isCharging, declaredInterval: interval, at: clock.now) }
        effects.people.insert(person)
        await settle(effects)
    }
}

extension Supervision {
    /// A pause or a charge may have been heard and stored without reaching the state. Where neither was, the machine's time stays where it
    /// is: entries that came meanwhile count from their receipt, not from the start (SOS-15, SOS-28).
    mutating func brought(to memory: SOSStore.Memory, of person: PersonID, at time: Timestamp) -> [SupervisionAction] {
        var actions: [SupervisionAction] = []
        let (isPaused, isCharging) = (memory.paused.contains(person), memory.charging.contains(person))
        if isPaused != (state.monitoringPaused ?? false) {
            actions += monitoring(isPaused: isPaused, declaredInterval: nil, at: time)
        }
        if isCharging != (state.charging ?? false) {
            actions += charging(isCharging, declaredInterval: nil, at: time)
        }
        return actions
    }
}

// MARK: What follows for the person when the emergency service that had taken the call rejects it

extension SupervisionService {
    /// The call is on its way again. Of an emergency that is closed nothing is shown any more; the dispatcher calls all the same.
    func rejected(_ person: PersonID, _ emergency: EmergencyID) async {
        guard let episode = people[person]?.subscriber.supervision.episode, names.emergency(of: person, episode.trigger) == emergency else {
            return
        }
        var effects = Effects()
        change(person, &effects) { $0.rejected(at: clock.now) }
        if var record = records[person], record.id == emergency, record.state == .dispatched {
            (record.state, record.acknowledgedAt) = (.dispatching, nil)
            records[person] = record
            changes.emergencies[emergency] = record
            effects.people.insert(person)
            effects.events.append(SupervisionEvent(person: person, kind: .goesOn, emergency: emergency, episode: episode, at: .now))
        }
        await settle(effects)
    }
}

// MARK: What becomes of a person's supervision when the person's data or account are erased

extension SupervisionService {
    /// Ends supervision for good. False while an emergency runs that is to be completed first.
    /// - Parameter atOnce: whatever runs; the person has asked for it long ago.
    func leave(_ person: PersonID, atOnce: Bool) async -> Bool {
        if isSubscribed(person) { try? await unsubscribe(person, further: { _ in nil }) }
        guard people[person] != nil else { return true }
        guard atOnce else { return false }
        people[person] = nil
        subjects["\(person)"] = nil
        if let record = records.removeValue(forKey: person) { sequences[record.id] = nil }
        changes.remove(person)
        return true
    }

    /// Forgets what was measured; the supervision goes on. False while an emergency runs, whose messages need it.
    func forgetCourse(of person: PersonID) -> Bool {
        guard var watched = people[person] else { return true }
        guard watched.subscriber.supervision.episode == nil else { return false }
        (watched.subscriber.places, watched.subscriber.course) = (LatestPlaces(), RecentCourse())
        var machine = Supervision(rules: rules, state: watched.subscriber.supervision)
        machine.forgetMeasured(at: clock.now)
        watched.subscriber.supervision = machine.state
        if let next = machine.nextDue { due.want(person, at: next) }
        (watched.calledOff, watched.subscriber.fit) = (nil, nil)
        people[person] = watched
        records[person] = nil
        return true
    }

    /// The person has a new key: the state is stored anew, or begun anew where a crash has taken it (rescue fails open).
    func superviseAfterErasure(_ person: PersonID) async {
        if let watched = people[person] {
            changes.put(watched, of: person)
            await storeChanges()
        } else {
            await superviseAnew(person)
        }
    }
}
