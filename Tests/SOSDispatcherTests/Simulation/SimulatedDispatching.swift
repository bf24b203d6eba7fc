// The simulated dispatcher's sending: one line per emergency, attempts to both integrators, acknowledgements judged and taken.

import Contracts

@testable import SOSDispatcher

struct SimulatedLine {
    let person: PersonID
    var outbox = DispatchOutbox()
    /// When the courier next looks; nil while there is none.
    var courierAt: Int64?
    /// Attempts that wait for their answers.
    var attempts: [Int: DispatchID] = [:]
}

extension SimulatedWorld {
    static let retry: Int64 = 1000

    /// A message that has been decided; its first attempt begins at once.
    func take(_ message: OutboxMessage, of person: PersonID) {
        guard dispatcher != nil else { return }
        let emergency = message.id.emergency
        let before = dispatcher?.lines[emergency]?.outbox.messages ?? []
        dispatcher?.lines[emergency, default: SimulatedLine(person: person)].outbox.add(message)
        noteEnds(before, of: emergency)
        startCourier(emergency, atOnce: false)
    }

    private func noteEnds(_ before: [OutboxMessage], of emergency: EmergencyID) {
        for message in dispatcher?.lines[emergency]?.outbox.messages ?? [] {
            guard let known = before.first(where: { $0.id == message.id }), known.end != message.end else { continue }
            note(message)
        }
    }

    private func note(_ message: OutboxMessage) {
        var batch = SimulatedBatch()
        batch.messages[message.id] = message
        dispatcher?.journal.note(urgent: batch, patient: SimulatedBatch())
    }

    // MARK: Couriers

    func startCourier(_ emergency: EmergencyID, atOnce: Bool) {
        guard let line = dispatcher?.lines[emergency] else { return }
        let next = line.outbox.nextAttempt(retry: .milliseconds(SimulatedWorld.retry))
        let wait = atOnce ? 0 : next.map { max(0, ($0 - dispatcherClock).wholeMilliseconds) } ?? 0
        if atOnce { dispatcher?.lines[emergency]?.courierAt = nil }
        rest(emergency, wait)
    }

    private func rest(_ emergency: EmergencyID, _ wait: Int64) {
        if let known = dispatcher?.lines[emergency]?.courierAt, known <= now + wait { return }
        dispatcher?.lines[emergency]?.courierAt = now + wait
        after(wait, .courier(emergency, process: dispatcherProcess))
    }

    /// The courier looks what is due; `courierAt` tells whether it is still the one that is meant.
    func carry(_ emergency: EmergencyID) {
        guard let line = dispatcher?.lines[emergency], line.courierAt == now else { return }
        dispatcher?.lines[emergency]?.courierAt = nil
        guard let message = line.outbox.current ?? repeated(line.outbox) else {
            if line.attempts.isEmpty { dispatcher?.lines[emergency] = nil }
            return
        }
        let isFirstHere = !account.begunHere.contains(.init(process: dispatcherProcess, message: message.id))
        let due = message.lastAttemptAt.map { $0 + .milliseconds(SimulatedWorld.retry) } ?? message.createdAt
        let wait = isFirstHere ? 0 : (due - dispatcherClock).wholeMilliseconds
        if wait <= 0, line.attempts.count < DispatchOutbox.attemptsAtOnce * SimulationPlan.integrators {
            begin(message, emergency)
            rest(emergency, SimulatedWorld.retry)
        } else {
            rest(emergency, wait > 0 ? wait : SimulatedWorld.retry)
        }
    }

    private func repeated(_ outbox: DispatchOutbox) -> OutboxMessage? {
        flaw == .repeatsAcknowledged ? outbox.messages.last { $0.end == .acknowledged } : nil
    }

    private func begin(_ message: OutboxMessage, _ emergency: EmergencyID) {
        account.begunHere.insert(.init(process: dispatcherProcess, message: message.id))
        if flaw == .givesUpAfterThree, message.attempts >= 3 { return }
        if account.acknowledgedDurably.contains(message.id) { violation("\(message.id) is sent after its acknowledgement was stored") }
        dispatcher?.lines[emergency]?.outbox.attempted(message.id, at: dispatcherClock)
        if let tried = dispatcher?.lines[emergency]?.outbox.messages.first(where: { $0.id == message.id }) { note(tried) }
        for integrator in 0..<SimulationPlan.integrators {
            account.attempts += 1
            dispatcher?.lines[emergency]?.attempts[account.attempts] = message.id
            after(
                dice.between(1, 30),
                .received(integrator: integrator, message, attempt: account.attempts, process: dispatcherProcess))
        }
    }

    func attemptEnded(_ emergency: EmergencyID, _ attempt: Int, _ answer: SimulatedAnswer?) {
        guard let message = dispatcher?.lines[emergency]?.attempts.removeValue(forKey: attempt) else { return }
        guard let answer else { return }
        let isBelieved = flaw == .believesAnyAcknowledgement || (answer.isSigned && answer.message == message)
        guard isBelieved, answer.accepts, let line = dispatcher?.lines[emergency] else { return }
        acknowledged(message, in: line.outbox, of: line.person)
    }

    // MARK: Acknowledgements

    /// As `Dispatcher.take`.
    private func acknowledged(_ id: DispatchID, in known: DispatchOutbox, of person: PersonID) {
        var outbox = known
        guard outbox.ended(id, .acknowledged), let message = outbox.messages.first(where: { $0.id == id }) else { return }
        dispatcher?.lines[id.emergency]?.outbox.ended(id, .acknowledged)
        note("\(id) is acknowledged")
        note(message)
        // What waited behind it is sent at once.
        if dispatcher?.lines[id.emergency]?.outbox.current != nil { startCourier(id.emergency, atOnce: true) }
        account.taken(id, at: now)
        guard outbox.isLatestAlert(id) else { return }
        let episode = dispatcher?.people[person]?.watched.subscriber.supervision.episode
        guard let episode, name(of: person, episode) == id.emergency else { return }
        var effects = SimulatedEffects()
        change(person, &effects) { $0.acknowledged(at: dispatcherClock) }
        settle(effects)
    }

    /// An integrator that acknowledges by itself, as `Dispatcher.receive`; it is answered once that is stored.
    func receive(_ id: DispatchID, from integrator: Int) {
        guard dispatcher != nil else { return }
        if let line = dispatcher?.lines[id.emergency], line.outbox.messages.contains(where: { $0.id == id }) {
            acknowledged(id, in: line.outbox, of: line.person)
        } else {
            let outbox = kept.outbox(of: id.emergency)
            guard let person = account.personOf[id.emergency], outbox.messages.contains(where: { $0.id == id }) else { return }
            acknowledged(id, in: outbox, of: person)
        }
        settle(SimulatedEffects(), callBack: (id, integrator))
    }
}
