// The simulated dispatcher's supervision: what the service does around its machines, one event at a time.

import Contracts

@testable import Bus
@testable import SOSDispatcher

/// Memory that a crash takes away.
struct SimulatedDispatcher {
    static let patience: Int64 = 150
    static let laziness: Int64 = 500

    let process: Int
    let beganAt: Timestamp
    var consumer: ConsumerMachine
    var people: [PersonID: SimulatedWatched] = [:]
    var due = DueList<PersonID>()
    var alarmAt: Timestamp?
    var sequences: [EmergencyID: Int] = [:]
    var lines: [EmergencyID: SimulatedLine] = [:]
    var changes = SimulatedBatch()
    var journal = SimulatedJournal()
    var waiterNumber = 0
    /// Calls that wait for the disk, by waiter.
    var waiting: [Int: SimulatedWaiter] = [:]
}

struct SimulatedEffects {
    var messages: [(person: PersonID, message: OutboxMessage)] = []
    var people: Set<PersonID> = []
}

extension SimulatedWorld {
    func handleAtDispatcher(_ event: SimulatedEvent) {
        dispatcherSteps += 1
        switch event {
        case .dispatcherCrashes(let duration): crashDispatcher(for: duration)
        case .dispatcherStarts: startDispatcher()
        case .alarm(let process): if isCurrent(process) { ring() }
        case .storing(let process): if isCurrent(process) { storeLazily() }
        case .stored(let process, let isDurable, let isKnown): stored(process, isDurable, isKnown)
        case .patienceOver(let waiter, let process): if isCurrent(process) { losePatience(waiter) }
        case .courier(let emergency, let process): if isCurrent(process) { carry(emergency) }
        case .attemptEnded(let emergency, let attempt, let answer, let process):
            if isCurrent(process) { attemptEnded(emergency, attempt, answer) }
        case .personAnswers(let life): personAnswers(life)
        case .personHears(let life): account.answered.insert(plan.lives[life].person)
        default: break
        }
    }

    private func isCurrent(_ process: Int) -> Bool { dispatcher?.process == process }

    // MARK: Starting and crashing

    func crashDispatcher(for duration: Int64) {
        guard dispatcher != nil else { return }
        note("dispatcher crashes for \(duration) ms")
        // What is on its way to the disk may get there or not.
        if let writing = dispatcher?.journal.writing, dice.happens(50) { makeDurable(writing.batch) }
        dispatcher = nil
        account.dispatcherDownSince = now
        after(duration, .dispatcherStarts)
    }

    func startDispatcher() {
        guard dispatcher == nil else { return }
        if let since = account.dispatcherDownSince { account.downs.append(Span(from: since, until: now)) }
        account.dispatcherDownSince = nil
        dispatcherProcess += 1
        let streams = ingest.logs.keys.sorted()
        var positions = streams.compactMap { kept.positions[$0] }
        if flaw == .skipsReplayAfterRestart, dispatcherProcess > 1 { positions = [] }
        let consumer = ConsumerMachine(family: .samples, streams: streams, positions: positions, now: instant)
        dispatcher = SimulatedDispatcher(process: dispatcherProcess, beganAt: dispatcherClock, consumer: consumer)
        account.restarted(streams: kept.positions)
        note("dispatcher runs as process \(dispatcherProcess)")
        resume()
        after(50, .look(process: dispatcherProcess))
        after(SimulatedDispatcher.laziness, .storing(process: dispatcherProcess))
    }

    /// As `SupervisionService.resume` and `Dispatcher.resume`.
    private func resume() {
        var effects = SimulatedEffects()
        let emergencies = Set(kept.messages.keys.map(\.emergency)).sorted { $0.bits < $1.bits }
        for emergency in emergencies {
            let outbox = kept.outbox(of: emergency)
            dispatcher?.sequences[emergency] = outbox.nextSequence
            guard outbox.current != nil, let person = account.personOf[emergency], flaw != .forgetsOutbox else { continue }
            dispatcher?.lines[emergency] = SimulatedLine(person: person, outbox: outbox)
            startCourier(emergency, atOnce: true)
        }
        for life in plan.lives {
            guard let known = kept.people[life.person] else { continue }
            dispatcher?.people[life.person] = known
            change(life.person, &effects) { machine in
                let due = machine.state.episode == nil ? [] : machine.timePassed(to: dispatcherClock)
                machine.listeningAgain(at: dispatcherClock)
                return due
            }
            guard let episode = dispatcher?.people[life.person]?.watched.subscriber.supervision.episode else { continue }
            let outbox = kept.outbox(of: name(of: life.person, episode))
            if let alert = outbox.messages.last(where: { $0.kind == .alert }), alert.end == .acknowledged {
                change(life.person, &effects) { $0.acknowledged(at: dispatcherClock) }
            }
        }
        settle(effects)
    }

    // MARK: Hearing

    func handleOnBus(_ event: SimulatedEvent) {
        guard dispatcher != nil else { return }
        dispatcherSteps += 1
        switch event {
        case .heard(let fact): dispatcher?.consumer.heard(fact, at: instant)
        case .heardBeat(let heartbeat): dispatcher?.consumer.heard(heartbeat, at: instant)
        case .answered(let stream, let page, let process):
            guard isCurrent(process) else { return }
            if let page {
                dispatcher?.consumer.replayed(stream, page, at: instant)
            } else {
                dispatcher?.consumer.failed(stream, at: instant)
            }
        case .look(let process):
            guard isCurrent(process) else { return }
            after(100, .look(process: process))
        default: break
        }
        dispatcher?.consumer.passed(to: instant)
        for action in dispatcher?.consumer.take(at: instant) ?? [] {
            switch action {
            case .apply(let events, let next): apply(events, next)
            case .replay(let request): after(dice.between(1, 10), .asked(request, process: dispatcherProcess))
            case .putBack(let stream, let facts): note("the publisher of \(stream) has lost \(facts) facts")
            case .passOver(let stream, let facts): note("\(facts) facts of \(stream) are passed over")
            case .snapshot, .reopen: break
            }
        }
    }

    private func apply(_ events: [StreamEvent], _ next: [StreamPosition]) {
        var effects = SimulatedEffects()
        // As `SteadyClock.steady(fromWall:)`, and no later than what followed.
        let received = ReceiptOrder.settled(
            events.map { ($0.header.stream, min(dispatcherClock, dispatcherClock + ($0.header.at - wall))) })
        for (event, at) in zip(events, received) {
            let index = Int(String(decoding: event.payload, as: UTF8.self)).flatMap { uploads.indices.contains($0) ? $0 : nil }
            guard let index else {
                violation("a fact cannot be read")
                continue
            }
            if let fault = account.applied(event.header) { violation(fault) }
            let upload = uploads[index]
            let person = plan.lives[upload.life].person
            let isNew = dispatcher?.people[person]?.watched.hears(event.header) == true
            guard isNew || flaw == .hearsTwice else { continue }
            judge(upload, at, event.header.sequence, of: person, &effects)
        }
        for position in next { dispatcher?.changes.positions[position.stream] = position }
        settle(effects)
    }

    private func judge(
        _ upload: SimulatedUpload, _ at: Timestamp, _ sequence: Int64, of person: PersonID, _ effects: inout SimulatedEffects
    ) {
        let last = dispatcher?.people[person]?.lastJudged ?? 0
        if sequence <= last { violation("fact \(sequence) of life \(upload.life) is judged again") }
        dispatcher?.people[person]?.lastJudged = sequence
        dispatcher?.people[person]?.judged += 1
        let entry = Sample(type: .heartRate, at: upload.measuredAt, value: upload.value)
        let heard = Supervision.Upload(at: at, receivedAt: upload.wall, declaredInterval: nil, entries: [entry])
        change(person, &effects, after: heard) { $0.uploaded(heard) }
    }

    // MARK: Time

    private func ring() {
        dispatcher?.alarmAt = nil
        var effects = SimulatedEffects()
        let time = dispatcherClock
        for person in dispatcher?.due.take(dueBy: time) ?? [] { change(person, &effects) { $0.timePassed(to: time) } }
        settle(effects)
    }

    private func setAlarm() {
        guard let earliest = dispatcher?.due.earliest, dispatcher?.alarmAt.map({ earliest < $0 }) ?? true else { return }
        dispatcher?.alarmAt = earliest
        after((earliest - dispatcherClock).wholeMilliseconds, .alarm(process: dispatcherProcess))
    }

    // MARK: Deciding

    func change(
        _ person: PersonID, _ effects: inout SimulatedEffects, after upload: Supervision.Upload? = nil,
        _ body: (inout Supervision) -> [SupervisionAction]
    ) {
        guard var known = dispatcher?.people[person] else { return }
        var machine = Supervision(rules: rules, state: known.watched.subscriber.supervision)
        let actions = body(&machine)
        known.watched.subscriber.supervision = machine.state
        if let upload { known.watched.subscriber.note(upload) { _ in false } }
        dispatcher?.people[person] = known
        for action in actions { follow(action, person, &effects) }
        if let known = dispatcher?.people[person] { dispatcher?.changes.people[person] = known }
        if let next = machine.nextDue { dispatcher?.due.want(person, at: next) }
    }

    /// The emergency's name: derived, unless that is what is wrong.
    func name(of person: PersonID, _ episode: Episode) -> EmergencyID {
        guard flaw == .randomNames else { return names.emergency(of: person, episode.trigger) }
        if let drawn = dispatcher?.people[person]?.drawnName { return drawn }
        let drawn = EmergencyID(bits: UInt128(dice.next()) << 64 | UInt128(dice.next()))
        dispatcher?.people[person]?.drawnName = drawn
        return drawn
    }

    private func follow(_ action: SupervisionAction, _ person: PersonID, _ effects: inout SimulatedEffects) {
        effects.people.insert(person)
        guard let episode = action.episode, let life = persons[person] else { return }
        if action.kind == .opened { dispatcher?.people[person]?.drawnName = nil }
        let emergency = name(of: person, episode)
        account.personOf[emergency] = person
        note("life \(life) (\(plan.lives[life].role)): \(action.kind)")
        let role = plan.lives[life].role
        let isTime = (role == .fine && action.kind == .opened) || (role == .falseAlarm && action.kind == .dispatched(.unanswered))
        if isTime { after(plan.lives[life].answersAfter, .personAnswers(life: life)) }
        var kind = action.message(since: dispatcher?.beganAt ?? dispatcherClock, now: wall + (action.at - dispatcherClock))
        if flaw == .cancelsOnRecovery, action.kind == .closed { kind = .cancel }
        guard let kind else { return }
        let id = DispatchID(emergency: emergency, sequence: dispatcher?.sequences[emergency] ?? kind.first)
        dispatcher?.sequences[emergency] = id.sequence + 1
        let decidedAt = episode.receivedAt + (action.at - episode.t0)
        let message = OutboxMessage(
            id: id, kind: kind, body: Array("\(id) \(kind.rawValue) \(decidedAt.milliseconds)".utf8), createdAt: dispatcherClock)
        dispatcher?.changes.messages[id] = message
        effects.messages.append((person, message))
    }

    /// As `SupervisionService.settle`.
    func settle(_ effects: SimulatedEffects, answering life: Int? = nil, callBack: (message: DispatchID, integrator: Int)? = nil) {
        guard var changes = dispatcher?.changes else { return }
        dispatcher?.changes = SimulatedBatch()
        var patient = SimulatedBatch()
        patient.people = changes.people.filter { !effects.people.contains($0.key) }
        if flaw == .positionBeforeEffect {
            if !changes.positions.isEmpty { makeDurable(SimulatedBatch(positions: changes.positions)) }
        } else {
            patient.positions = changes.positions
        }
        changes.positions = [:]
        changes.people = changes.people.filter { effects.people.contains($0.key) }
        dispatcher?.journal.note(urgent: changes, patient: patient)
        setAlarm()
        guard !effects.people.isEmpty || life != nil || callBack != nil else { return }
        wait(SimulatedWaiter(number: 0, messages: effects.messages, answersLife: life, callBack: callBack))
    }

    // MARK: Storing

    private func wait(_ waiter: SimulatedWaiter) {
        var waiter = waiter
        dispatcher?.waiterNumber += 1
        waiter.number = dispatcher?.waiterNumber ?? 0
        dispatcher?.journal.waiters.append(waiter)
        if !waiter.messages.isEmpty {
            dispatcher?.waiting[waiter.number] = waiter
            if flaw != .waitsForTheDisk {
                after(SimulatedDispatcher.patience, .patienceOver(waiter: waiter.number, process: dispatcherProcess))
            }
        }
        startWriting()
    }

    private func startWriting() {
        guard dispatcher?.journal.begin() == true else { return }
        switch plan.disk(at: now) {
        case nil: after(dice.between(2, 25), .stored(process: dispatcherProcess, isDurable: true, isKnown: true))
        case (.slow, _)?: after(dice.between(50, 600), .stored(process: dispatcherProcess, isDurable: true, isKnown: true))
        case (.hangs, let until)?: after(until - now, .stored(process: dispatcherProcess, isDurable: true, isKnown: true))
        // Refused: it may be on the disk all the same.
        case (.refuses, _)?: after(30, .stored(process: dispatcherProcess, isDurable: dice.happens(50), isKnown: false))
        }
    }

    private func storeLazily() {
        after(SimulatedDispatcher.laziness, .storing(process: dispatcherProcess))
        dispatcher?.journal.isPatientDue = true
        startWriting()
    }

    private func stored(_ process: Int, _ isDurable: Bool, _ isKnown: Bool) {
        guard isCurrent(process), let writing = dispatcher?.journal.writing else { return }
        if isDurable { makeDurable(writing.batch) }
        let waiters = dispatcher?.journal.end(isStored: isKnown) ?? []
        if !isKnown { note("the dispatcher's disk refuses") }
        for waiter in waiters {
            if !isKnown, flaw == .waitsForTheDisk {
                dispatcher?.journal.waiters.append(waiter)
                continue
            }
            send(waiter.number)
            guard isKnown else { continue }
            if let life = waiter.answersLife { after(20, .personHears(life: life)) }
            if let called = waiter.callBack { integrators[called.integrator].answered.insert(called.message) }
        }
        startWriting()
    }

    private func losePatience(_ waiter: Int) {
        if dispatcher?.waiting[waiter] != nil { note("a message goes out before it is stored") }
        send(waiter)
    }

    private func send(_ number: Int) {
        guard let waiter = dispatcher?.waiting.removeValue(forKey: number) else { return }
        for (person, message) in waiter.messages { take(message, of: person) }
    }

    private func makeDurable(_ batch: SimulatedBatch) {
        kept.take(batch)
        for message in batch.messages.values where message.end == .acknowledged { account.acknowledgedDurably.insert(message.id) }
    }

    // MARK: The person

    private func personAnswers(_ life: Int) {
        let person = plan.lives[life].person
        guard !account.answered.contains(person) else { return }
        // Whoever gets no answer asks again.
        after(700, .personAnswers(life: life))
        guard dispatcher != nil else { return }
        var effects = SimulatedEffects()
        let said: AnswerPrompt.Answer = plan.lives[life].role == .fine ? .fine : .falseAlarm
        var outcome: Supervision.Outcome?
        change(person, &effects) { machine in
            let answered = machine.answered(said, at: dispatcherClock)
            outcome = answered
            return answered.actions
        }
        account.said(person, at: now)
        note("life \(life) says \(said.rawValue)")
        // Only an answer to an emergency is one; before the dispatcher knows of it again, the person is asked again.
        settle(effects, answering: outcome?.episode == nil ? nil : life)
    }
}
