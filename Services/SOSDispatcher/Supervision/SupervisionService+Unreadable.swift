// Watching somebody whose state cannot be read, as where their key is damaged.

import Contracts
import ServiceKit

extension SupervisionService {
    /// Rescue fails open: who cannot be watched as before is watched as the other dispatcher does, or else as anybody. What was called for
    /// goes on, under its name.
    func superviseUnreadable(_ memory: SOSStore.Memory, _ effects: inout Effects) {
        for (person, unreadable) in memory.unreadable {
            if people[person] == nil, !untold.contains(person) {
                // They have left, at the other dispatcher.
                if var open = unreadable.open {
                    open.follow(.closed, at: .now)
                    changes.emergencies[open.id] = open
                }
                continue
            }
            if people[person] == nil {
                begin(person, &effects)
                // Nobody has set this: it is not told, and what the other dispatcher knows takes its place.
                pair.settle(person, people[person].map { SubscriberSettings($0.subscriber) })
            }
            guard let open = unreadable.open else { continue }
            goOn(open, from: unreadable.nextSequence, memory.outboxes[open.id]?.outbox, &effects)
        }
        untold = []
    }

    /// As for one whose state cannot be read, with no emergency open.
    func superviseAnew(_ person: PersonID) async {
        var effects = Effects()
        begin(person, &effects)
        await settle(effects)
    }

    private func begin(_ person: PersonID, _ effects: inout Effects) {
        people[person] = Watched()
        change(person, &effects) { $0.subscribed(own: [:], declaredInterval: nil, at: clock.now) }
    }

    /// - Parameters:
    ///   - next: the number of the emergency's next message.
    ///   - file: its messages, as far as they can be read: those go on by themselves.
    private func goOn(_ record: EmergencyRecord, from next: Int, _ file: DispatchMachine?, _ effects: inout Effects) {
        var record = record
        let person = record.person
        let state = people[person]?.subscriber.supervision
        let running = state?.episode.map { names.emergency(of: person, $0.trigger) }
        let isToldToRun = running == record.id
        let alert = file?.latestAlert
        // A call that can be read goes out, and is taken back by the same answer.
        let isOff = alert == nil && pair.answers(in: record.id).last?.answer.callsOff == true
        // Before the call the next critical value, or the other dispatcher, opens another; after it nobody would send what cannot be read.
        guard isToldToRun || record.state == .dispatching && running == nil && untold.contains(person) && !isOff else {
            record.follow(.closed, at: .now)
            changes.emergencies[record.id] = record
            if isOff { supersede(before: next, in: record.id) }
            return
        }
        if isToldToRun, state?.stage == .dispatched { record.follow(.acknowledged, at: .now) }
        records[person] = record
        changes.emergencies[record.id] = record
        guard !isToldToRun || state?.stage == .dispatching else { return }
        let t0 = clock.steady(fromWall: record.t0)
        if alert == nil {
            sequences[record.id] = next
            supersede(before: next, in: record.id)
        }
        change(person, &effects) { machine in
            if !isToldToRun { machine.goOn(with: record.id, since: t0, receivedAt: record.t0) }
            return alert == nil ? [machine.call(.unanswered)] : []
        }
        // It goes out already, and the answer may have come before anybody here could hear it.
        if let alert { Task { [dispatcher] in await dispatcher.tellIfTaken(alert.id) } }
    }

    private func supersede(before next: Int, in emergency: EmergencyID) {
        changes.further.append { try SOSStore.supersede($0, before: next, in: emergency) }
    }
}
