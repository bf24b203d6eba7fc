// The other end: two integrators with ledgers of their own, of manners that the plan changes.

import Contracts

@testable import SOSDispatcher

struct SimulatedIntegrator {
    /// Every message that came in, and its bytes when it came first.
    var received: [DispatchID: [UInt8]] = [:]
    var accepted: Set<DispatchID> = []
    /// Call-backs that the dispatcher has confirmed.
    var answered: Set<DispatchID> = []
    var calling: Set<DispatchID> = []
}

extension SimulatedWorld {
    func handleAtIntegrator(_ event: SimulatedEvent) {
        switch event {
        case .received(let integrator, let message, let attempt, let process): receive(message, integrator, attempt, process)
        case .calledBack(let id, let integrator):
            guard !integrators[integrator].answered.contains(id) else { return }
            after(1000, .calledBack(id, integrator: integrator))
            receive(id, from: integrator)
        default: break
        }
    }

    private func receive(_ message: OutboxMessage, _ index: Int, _ attempt: Int, _ process: Int) {
        let manners = plan.manners(of: index, at: now)
        note("integrator \(index) (\(manners)) gets \(message.id), \(message.kind.rawValue)")
        func answers(after delay: Int64, _ answer: SimulatedAnswer?) {
            after(delay, .attemptEnded(message.id.emergency, attempt: attempt, answer, process: process))
        }
        let honest = SimulatedAnswer(message: message.id, isSigned: true, accepts: true)
        switch manners {
        case .isDown: return answers(after: 5, nil)
        case .blackHole: return answers(after: DispatchOutbox.answerDeadline.wholeMilliseconds, nil)
        default: break
        }
        if let first = integrators[index].received[message.id] {
            // A cancel that was lost with its process is said again, at another time of day.
            if first != message.body, message.kind != .cancel { violation("\(message.id) came again with other bytes") }
        } else {
            integrators[index].received[message.id] = message.body
        }
        switch manners {
        case .accepts:
            integrators[index].accepted.insert(message.id)
            answers(after: dice.between(20, 300), honest)
        case .answersSlowly:
            integrators[index].accepted.insert(message.id)
            answers(after: dice.between(3000, 9000), honest)
        case .callsBack:
            integrators[index].accepted.insert(message.id)
            answers(after: 20, nil)
            guard integrators[index].calling.insert(message.id).inserted else { return }
            after(dice.between(100, 400), .calledBack(message.id, integrator: index))
        case .rejects: answers(after: 30, SimulatedAnswer(message: message.id, isSigned: true, accepts: false))
        case .forges: answers(after: 30, SimulatedAnswer(message: message.id, isSigned: false, accepts: true))
        case .confusesMessages:
            let other = DispatchID(emergency: message.id.emergency, sequence: message.id.sequence + 1)
            answers(after: 30, SimulatedAnswer(message: other, isSigned: true, accepts: true))
        case .failsOrJustDelivers, .isDown, .blackHole: answers(after: 30, nil)
        }
    }
}
