// Who else is called while nobody has taken the call, and what those hear who were called in vain.

import Contracts
import Logging
import ServiceKit

extension Dispatcher {
    /// How much later than the first the second calls one more: by then it has heard that the first did.
    private static let delayOfTheSecond = Duration.seconds(2)

    private var escalatesAfter: Duration { pair.role == .second ? nextAfter + Dispatcher.delayOfTheSecond : nextAfter }

    /// How long nobody need acknowledge that the person is worse.
    private var worseEscalatesAfter: Duration { min(DispatchOutbox.worseAfter, nextAfter) + (escalatesAfter - nextAfter) }

    /// The next integrator of the order is called as well, where those who were called have not answered for too long, or nobody has
    /// acknowledged that the person is worse (SOS-32). Whoever the operator has removed is not waited for.
    func escalate(_ emergency: EmergencyID) {
        guard let file = works[emergency]?.file else { return }
        if !file.isTaken, let removed = latestAsked(in: file), removed.isRetired {
            return callNext(in: emergency, after: .zero, because: "\(removed.name) was removed")
        }
        guard let due = file.escalation(after: escalatesAfter, worse: worseEscalatesAfter), due <= clock.now else { return }
        let why = file.isTaken ? "nobody has acknowledged that the person is worse" : "nobody has answered for long enough"
        callNext(in: emergency, after: escalatesAfter, because: why)
    }

    /// Who was asked last to take the call that stands.
    private func latestAsked(in file: DispatchMachine) -> Integrator? {
        file.lines.keys.sorted().first { file.isLatestAsked($0) }.flatMap { registry.integrator($0) }
    }

    private func callNext(in emergency: EmergencyID, after bound: Duration, because why: String) {
        let (now, worse) = (clock.now, worseEscalatesAfter)
        guard let work = works[emergency], isReal(work), let alert = work.file.latestAlert,
            registry.hasFurther(than: work.file.asked) || work.file.isTaken && work.file.hasReleased
        else { return }
        let next = change(emergency) { file, order in
            file.escalate(after: bound, worse: worse, order: order, at: now, repetition: repetition(at: .now))
        }
        guard let next = next ?? nil else { return }
        let name = registry.integrator(next)?.name ?? next
        note("called-in-addition", alert.id, by: "dispatcher", "\(name): \(why)")
        logger.error(
            "no emergency service has answered: another one is called as well",
            metadata: ["emergency": "\(emergency)", "integrator": "\(name)"])
    }

    // MARK: Hard failures

    /// What failed hard is not waited for (SOS-39): the integrator's other ways go at once, and where all its addresses failed so, the next
    /// integrator is called.
    func heed(_ delivery: Delivery, of id: MessageID, by way: DispatchWay, to integrator: Integrator) {
        let emergency = id.emergency
        let isNew = works[emergency]?.lines[integrator.id]?.failed[way] != id
        works[emergency]?.lines[integrator.id]?.failed[way] = delivery.isHardFailure ? id : nil
        guard delivery.isHardFailure, isNew, let line = works[emergency]?.lines[integrator.id] else { return }
        for rest in line.rests.values { rest.cancel() }
        let addresses = integrator.addresses
        guard !addresses.isEmpty, addresses.allSatisfy({ line.failed[$0] == id }), let file = works[emergency]?.file,
            file.latestAlert?.id == id, file.isLatestAsked(integrator.id)
        else { return }
        callNext(in: emergency, after: .zero, because: "no address of \(integrator.name) can be reached")
    }

    // MARK: Refusals

    /// Makes an alert once more under its next name, for those who were released from it.
    /// - Parameter time: when it was decided.
    func repetition(at time: Timestamp) -> (_ alert: OutboxMessage, _ seq: Int) -> OutboxMessage? {
        let (now, names) = (clock.now, names)
        return { alert, seq in
            guard let next = alert.id.repetition else { return nil }
            let body = DispatchMessage.repetition(of: alert.body, as: next, seq: seq, at: time, code: names.code(of: next))
            return body.map { OutboxMessage(id: next, kind: .alert, body: $0, createdAt: now) }
        }
    }

    /// Whoever has refused is asked again after a while, where nobody else is left.
    func askAgain(_ emergency: EmergencyID) {
        let now = clock.now
        guard let work = works[emergency], isReal(work), !work.isStopped, !work.file.isTaken, !work.file.isCalledOff,
            let alert = work.file.latestAlert
        else { return }
        for again in change(emergency, { file, order in file.askAgain(after: nextAfter, order: order, at: now) }) ?? [] {
            note("asked-again", alert.id, by: "dispatcher", registry.integrator(again)?.name ?? again)
        }
    }

    // MARK: What does not go on for ever

    /// Drills back off as cancellations and releases do.
    func backsOff(_ message: OutboxMessage) -> Bool {
        message.backsOff || works[message.id.emergency]?.drill != nil
    }

    /// Alerts and updates are repeated each `retry`, without end.
    func pause(after message: OutboxMessage) -> Duration {
        backsOff(message) ? DispatchOutbox.pause(after: message, retry: retry) : retry
    }

    /// Cancellations and releases end after a day, or soon where their integrator was removed.
    func giveUp(in emergency: EmergencyID) {
        guard let work = works[emergency], isReal(work) else { return }
        let now = clock.now
        for (id, outbox) in work.file.lines {
            guard let message = outbox.current, message.backsOff else { continue }
            let integrator = registry.integrator(id)
            let isRemoved = integrator?.isRetired ?? true
            guard now - message.createdAt > (isRemoved ? DispatchOutbox.removedAfter : DispatchOutbox.givenUpAfter) else { continue }
            change(emergency) { file, _ in file.giveUp(message.id, with: id) }
            let what = "\(message.id.isRelease ? "release" : message.kind.rawValue) to \(integrator?.name ?? id)"
            let why = isRemoved ? "it was removed" : "no answer for a day"
            note("given-up", message.id, by: "dispatcher", "\(what): \(why), after \(message.attempts) attempts")
            logger.warning("a message is given up", metadata: ["emergency": "\(emergency)", "integrator": "\(integrator?.name ?? id)"])
        }
    }

    // MARK: Acceptances

    /// Takes an acceptance into the file, with the releases that follow from it. Says whether it is new.
    func take(_ id: MessageID, by integrator: Integrator, at time: Timestamp) -> Bool {
        let (now, names) = (clock.now, names)
        var isTold = false
        let isNew = change(id.emergency) { file, _ in
            file.acknowledged(id, by: integrator.id) { alert, seq in
                isTold = true
                let release = alert.id.release
                let body = DispatchMessage.release(
                    of: alert.body, as: release, seq: seq, takenBy: integrator.name, at: time, code: names.code(of: release))
                return body.map { OutboxMessage(id: release, kind: .cancel, body: $0, createdAt: now) }
            }
        }
        if isTold { note("released", id.release, by: "dispatcher", "the others are told that \(integrator.name) has taken the call") }
        return isNew ?? false
    }
}
