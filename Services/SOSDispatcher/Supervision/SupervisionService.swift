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
    var due = DueList<PersonID>()
    private var alarm: (at: Timestamp, task: Task<Void, Never>)?
    var progress = PartitionProgress()

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
        progress.judged(to: memory.positions)
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

    func noteStore(wasPutBack: Bool) {
        self.wasPutBack = wasPutBack
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
        progress.heard(events.map(\.header), at: clock.now)
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
        for position in next { changes.positions[position.stream] = position }
        progress.judged(to: next)
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
        progress.begin(positions)
        await storeBeginning()
    }

    /// While the disk refuses, whoever asks tries it again.
    private func storeBeginning() async {
        guard !progress.isBeginningStored else { return }
        let isStored = (try? await journal.commitEverything()) != nil
        progress.isBeginningStored = isStored
    }

    /// Whether nothing that ingest says from here on can be skipped, whatever happens to this process.
    func isListening() async -> Bool {
        guard progress.hasBegunEverywhere else { return false }
        await storeBeginning()
        return progress.isBeginningStored
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
            if let since = progress.behindSince(of: person), now < since + SupervisionService.catchUp {
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

    /// Everything that follows from what the machine has decided, and from a place that has become known since the call.
    private func followAll(
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
            changes.note(action, of: record, in: episode, at: at, rules)
            logger.notice("\(action.word)", metadata: ["emergency": "\(record.id)"])
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

    // MARK: Doing what was decided

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

// MARK: What the emergency service says of a call

extension SupervisionService {
    /// The emergency service has taken the call.
    /// - Parameter time: when it said so to the dispatcher that it told; nil for now.
    func acknowledged(_ person: PersonID, _ emergency: EmergencyID, at time: Timestamp? = nil) async {
        guard let state = people[person]?.subscriber.supervision, let episode = state.episode,
            names.emergency(of: person, episode.trigger) == emergency
        else { return }
        if let time, state.stage == .dispatching, var record = records[person], record.id == emergency {
            record.acknowledgedAt = record.acknowledgedAt ?? time
            records[person] = record
        }
        var effects = Effects()
        change(person, &effects) { $0.acknowledged(at: clock.now) }
        await settle(effects)
    }

    /// It rejects the call that it had taken, which is on its way again. Of an emergency that is closed nothing is shown any more; the
    /// dispatcher calls all the same.
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
