// How sending takes account of the other dispatcher: what it tells, and what it spares itself.

import Contracts
import ServiceKit

extension Dispatcher {
    // MARK: Telling

    /// The other side is told at once: it waits for nothing longer. Tests are told to nobody.
    func tellAttempt(_ message: OutboxMessage, to integrator: Integrator) {
        guard let work = works[message.id.emergency], isReal(work) else { return }
        pair.tell(
            .attempted(
                MadeAttempt(
                    person: work.person, emergency: message.id.emergency, sequence: message.id.sequence, kind: message.kind,
                    integrator: integrator.id, body: message.attempts == 0 ? String(decoding: message.body, as: UTF8.self) : nil,
                    at: .now)))
    }

    func tell(_ acknowledgement: Acknowledgement, by integrator: String, at time: Timestamp, in work: Work) {
        guard isReal(work) else { return }
        pair.tell(.acknowledged(TakenMessage(person: work.person, integrator: integrator, acknowledgement: acknowledgement, at: time)))
    }

    /// Neither a drill nor the canary's.
    func isReal(_ work: Work) -> Bool { purpose(of: work) == .emergency }

    // MARK: Hearing

    /// What the other side has sent and had answered. `PairState` has been told before.
    func heard(_ facts: [PairFact]) async {
        for fact in facts {
            switch fact {
            case .attempted(let attempt) where CallPurpose.emergency.admits(attempt.integrator): await adopt(attempt)
            case .acknowledged(let taken) where CallPurpose.emergency.admits(taken.integrator): await take(taken)
            // Of a test only its own dispatcher has to know.
            case .attempted, .acknowledged: break
            case .settings, .opened, .answered, .contact, .erased, .note: break
            }
        }
    }

    /// The same bytes go out from both sides, if this one must go on.
    private func adopt(_ attempt: MadeAttempt) async {
        let (id, person) = (attempt.message, attempt.person)
        try? await recall(id.emergency)
        wakeDeliveryWorkers(of: id.emergency)
        if !id.isRelease { join(attempt.integrator, id) }
        // What was sent longer ago this side comes to by itself, if it is still to be sent.
        guard let body = attempt.body, Timestamp.now - attempt.at < DispatchOutbox.adoptable else { return }
        let theirs = OutboxMessage(id: id, kind: attempt.kind, body: Array(body.utf8), createdAt: clock.now)
        if id.isRelease {
            change(id.emergency) { file, _ in file.released(attempt.integrator, by: theirs) }
            return
        }
        guard works[id.emergency]?.file.decided.contains(where: { $0.id == id }) == true else {
            var batch = StoreBatch()
            batch.messages[id] = (person, theirs)
            journal.note(batch)
            send(theirs, of: person)
            return join(attempt.integrator, id)
        }
        guard let displaced = works[id.emergency]?.file.adopt(theirs) else { return }
        // A message of this side's own that nobody has seen yet gives up its number.
        guard displaced.kind != theirs.kind, let next = works[id.emergency]?.file.nextSequence else { return }
        let new = MessageID(emergency: id.emergency, sequence: next)
        if let own = displaced.renumbered(new, code: names.code(of: new)) {
            var batch = StoreBatch()
            batch.messages[new] = (person, own)
            journal.note(batch)
            send(own, of: person)
        }
    }

    /// Goes on with emergencies of which nothing was known here, as they stand at the other dispatcher. Supervision has noted them for the
    /// journal with the states of their people.
    func takeOver(_ outboxes: [EmergencyID: (person: PersonID, outbox: DispatchMachine)]) {
        for (emergency, told) in outboxes {
            let file = CallPurpose(of: told.person, drill: nil, names.synthetic).admitted(told.outbox)
            var work = works[emergency] ?? Work(person: told.person, since: clock.now)
            work.file.takeIn(file)
            work.closedAt = nil
            works[emergency] = work
            startDeliveryWorkers(emergency)
            if let alert = work.file.latestAlert { tellIfTaken(alert.id) }
        }
    }

    /// Whoever was called there is called here too, if the call stands and one more may be called.
    private func join(_ integrator: String, _ id: MessageID) {
        guard let work = works[id.emergency], purpose(of: work).admits(integrator) else { return }
        let file = work.file
        guard let alert = file.latestAlert, file.isOpen, registry.integrator(integrator) != nil,
            id.place >= alert.id.place, file.lines[integrator]?.message(alert.id) == nil, !file.isOver
        else { return }
        let now = clock.now
        change(id.emergency) { file, _ in file.join(integrator, at: now) }
    }

    private func take(_ taken: TakenMessage) async {
        guard let id = MessageID(taken.acknowledgement.messageId), let integrator = registry.integrator(taken.integrator) else { return }
        try? await recall(id.emergency)
        if !id.isRelease { join(integrator.id, id) }
        guard works[id.emergency]?.file.lines[integrator.id]?.message(id) != nil else { return }
        await take(taken.acknowledgement, id, by: integrator, form: "the other dispatcher", heard: taken)
        wakeDeliveryWorkers(of: id.emergency)
    }

    private func wakeDeliveryWorkers(of emergency: EmergencyID) {
        for line in works[emergency]?.lines.values.map(\.self) ?? [] {
            for rest in line.rests.values { rest.cancel() }
        }
    }

    /// Whether the message need not be sent from here: the other side has its acknowledgement, or it calls off what nobody was told.
    func isSettledElsewhere(_ message: OutboxMessage, _ integrator: Integrator, _ work: Work) async -> Bool {
        if let taken = pair.acknowledgement(of: message.id, by: integrator.id) {
            await take(taken.acknowledgement, message.id, by: integrator, form: "the other dispatcher", heard: taken)
            return works[message.id.emergency]?.file.lines[integrator.id]?.current?.id != message.id
        }
        let isUntold =
            work.file.lines.values.allSatisfy { $0.messages.allSatisfy(\.isUntold) } && !pair.hasHeardAttempts(in: message.id.emergency)
        guard pair.role == .second, message.kind == .cancel, !message.id.isRelease, isUntold else { return false }
        change(message.id.emergency) { file, _ in _ = file.stop() }
        return true
    }

    // MARK: Tests of the chain

    /// Where tests go from now on; before, they go nowhere.
    func admit(probe: Integrator) {
        registry.hide(probe)
        endFlight()
    }

    /// Nothing more is sent or known about the canary.
    func endFlight() {
        for person in names.synthetic.all { stopAll(of: person) }
        works = works.filter { !names.synthetic.contains($0.value.person) }
    }

    /// How long the oldest unacknowledged call of a real person has been waiting.
    var oldestWaiting: Duration {
        let waiting = works.values.filter(isReal).flatMap { work in
            let refused = work.file.isRefused ? work.file.latestAlert : nil
            return work.file.lines.values.compactMap(\.current).filter { !$0.backsOff } + [refused].compactMap(\.self)
        }
        return waiting.map { clock.now - $0.createdAt }.max() ?? .zero
    }
}

extension DispatchOutbox {
    /// What the other side sent longer ago is not taken over from there.
    static let adoptable = Duration.seconds(5)
}

extension OutboxMessage {
    /// Whether nothing shows that an emergency service knows of it: sent from here, or answered to the other side.
    fileprivate var isUntold: Bool { attempts == 0 && end != .acknowledged && end != .refused }

    /// The same message under another number; nil where it cannot be read.
    func renumbered(_ new: MessageID, code: String) -> OutboxMessage? {
        DispatchMessage.renumbered(body, from: id, to: new, code: code).map {
            OutboxMessage(id: new, kind: kind, body: $0, createdAt: createdAt)
        }
    }
}
