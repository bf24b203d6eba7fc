// Who else is called while nobody has taken the call, and what those hear who were called in vain.

import Contracts
import Logging
import ServiceKit

extension Dispatcher {
    /// How much later than the first the second calls one more: by then it has heard that the first did.
    private static let patienceOfTheSecond = Duration.seconds(2)

    private var escalatesAfter: Duration { pair.place == .second ? nextAfter + Dispatcher.patienceOfTheSecond : nextAfter }

    /// The next integrator of the order is called as well, where those who were called have not answered for too long.
    func escalate(_ emergency: EmergencyID) {
        let (bound, now) = (escalatesAfter, clock.now)
        guard let work = works[emergency], isReal(work), let due = work.file.escalation(after: bound), due <= now,
            registry.hasFurther(than: work.file.asked)
        else { return }
        let next = change(emergency) { file, order in file.escalate(after: bound, order: order, at: now) } ?? nil
        guard let next, let alert = work.file.latestAlert else { return }
        let name = registry.integrator(next)?.name ?? next
        note("called-in-addition", alert.id, by: "dispatcher", "\(name): nobody has answered for \(nextAfter.components.seconds) s")
        logger.error(
            "no emergency service has answered: another one is called as well",
            metadata: ["emergency": "\(emergency)", "integrator": "\(name)"])
    }

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
