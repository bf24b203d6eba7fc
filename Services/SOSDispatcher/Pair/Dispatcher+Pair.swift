// How sending takes account of the other dispatcher: what it tells, and what it spares itself.

import Contracts
import ServiceKit

extension Dispatcher {
    /// Who takes calls about this person.
    func integrator(for person: PersonID) -> Integrator {
        canary.flatMap { $0.person == person ? $0.ear : nil } ?? integrator
    }

    // MARK: Telling

    /// The other side is told at once: it waits for nothing longer.
    func tellAttempt(_ message: OutboxMessage, of person: PersonID) {
        guard canary?.person != person else { return }
        tell(
            .attempted(
                MadeAttempt(
                    person: person, emergency: message.id.emergency, sequence: message.id.sequence, kind: message.kind,
                    integrator: integrator.name, body: message.attempts == 0 ? String(decoding: message.body, as: UTF8.self) : nil,
                    at: .now)))
    }

    func tell(_ acknowledgement: Acknowledgement, of person: PersonID) {
        guard canary?.person != person else { return }
        tell(.acknowledged(TakenMessage(person: person, integrator: integrator.name, acknowledgement: acknowledgement)))
    }

    private func tell(_ fact: PairFact) {
        var batch = StoreBatch()
        batch.told = [fact]
        journal.note(batch)
        journal.hurry()
    }

    // MARK: Hearing

    /// What the other side has sent and had answered. `PairDesk` has been told before.
    func heard(_ facts: [PairFact]) async {
        for fact in facts {
            switch fact {
            case .attempted(let attempt): adopt(attempt)
            case .acknowledged(let taken): await take(taken)
            case .settings, .opened, .answered, .erased, .note: break
            }
        }
    }

    /// The same bytes go out from both sides, if this one must go on.
    private func adopt(_ attempt: MadeAttempt) {
        let (id, person) = (attempt.message, attempt.person)
        lines[id.emergency]?.rest?.cancel()
        // What was sent longer ago this side comes to by itself, if it is still to be sent.
        guard let body = attempt.body, Timestamp.now - attempt.at < DispatchOutbox.adoptable else { return }
        let theirs = OutboxMessage(id: id, kind: attempt.kind, body: Array(body.utf8), createdAt: clock.now)
        guard lines[id.emergency]?.outbox.messages.contains(where: { $0.id == id }) == true else {
            var batch = StoreBatch()
            batch.messages[id] = (person, theirs)
            journal.note(batch)
            return send(theirs, of: person)
        }
        guard let displaced = lines[id.emergency]?.outbox.adopt(theirs) else { return }
        if let adopted = lines[id.emergency]?.outbox.messages.first(where: { $0.id == id }) { note(adopted, of: person) }
        // A message of this side's own that nobody has seen yet gives up its number.
        guard displaced.kind != theirs.kind, let next = lines[id.emergency]?.outbox.nextSequence else { return }
        if let own = displaced.renumbered(MessageID(emergency: id.emergency, sequence: next)) {
            note(own, of: person)
            send(own, of: person)
        }
    }

    private func take(_ taken: TakenMessage) async {
        guard let id = MessageID(taken.acknowledgement.messageId), taken.integrator == integrator.name else { return }
        if let line = lines[id.emergency], line.outbox.messages.contains(where: { $0.id == id }) {
            await take(taken.acknowledgement, id, in: line.outbox, of: line.person, isHeard: true)
        } else if let (person, outbox) = try? await store.outbox(of: id.emergency) {
            await take(taken.acknowledgement, id, in: outbox, of: person, isHeard: true)
        }
    }

    /// Whether the message need not be sent from here: the other side has its acknowledgement, or it calls off what nobody was told.
    func isSettledElsewhere(_ message: OutboxMessage, _ line: Line) async -> Bool {
        if let taken = pair.acknowledgement(of: message.id, by: integrator.name) {
            await take(taken, message.id, in: line.outbox, of: line.person, isHeard: true)
            return lines[message.id.emergency]?.outbox.current?.id != message.id
        }
        let isUntold = line.outbox.messages.allSatisfy { $0.attempts == 0 } && !pair.hasHeardAttempts(in: message.id.emergency)
        guard pair.place == .second, message.kind == .cancel, isUntold else { return false }
        stop(message.id.emergency)
        return true
    }
}

extension DispatchOutbox {
    /// What the other side sent longer ago is not taken over from there.
    static let adoptable = Duration.seconds(5)

    /// Puts the other side's message in the place of one that was never sent from here; gives that one.
    mutating func adopt(_ theirs: OutboxMessage) -> OutboxMessage? {
        guard let own = messages.first(where: { $0.id == theirs.id }), own.attempts == 0, own.end == nil, own.body != theirs.body else {
            return nil
        }
        self = DispatchOutbox(messages.filter { $0.id != theirs.id } + [theirs])
        return own
    }
}

extension OutboxMessage {
    /// The same message under another number; nil where it cannot be read.
    func renumbered(_ new: MessageID) -> OutboxMessage? {
        DispatchMessage.renumbered(body, from: id, to: new).map { OutboxMessage(id: new, kind: kind, body: $0, createdAt: createdAt) }
    }
}
