// How somebody of whom nothing is known here goes on being supervised as the other dispatcher does it.

import Contracts
import ServiceKit

extension SupervisionService {
    /// Messages that the other dispatcher has told of, for this one's dispatcher.
    typealias ToldOutboxes = [EmergencyID: (person: PersonID, outbox: DispatchMachine)]

    /// A newcomer goes on from where the other side stands: an emergency that runs there has the same name here, and the same messages.
    func stand(_ person: PersonID, _ standing: PersonSettings.Standing, _ effects: inout Effects, _ outboxes: inout ToldOutboxes) {
        var watched = Watched()
        watched.subscriber = standing.subscriber
        let offset = clock.steady(fromWall: standing.wall) - standing.steady
        watched.subscriber.supervision = standing.subscriber.supervision.shifted(by: offset)
        // Of the other one's clock.
        watched.subscriber.supervision.clockSkew = nil
        // Nobody knows whether the person has heard it.
        watched.subscriber.supervision.episode?.askedBackAt = nil
        // What was answered there has led to where that side stands: once more here it would call off what was called for since.
        for var known in (standing.answered ?? []).reversed() {
            known.count = pair.answers(in: known.emergency).count
            known.lastAt = known.lastAt.map { $0 + offset }
            watched.note(known)
        }
        for emergency in emergencies(watched.subscriber.supervision, of: person) {
            var known = watched.answers(in: emergency)
            known.count = pair.answers(in: emergency).count
            watched.note(known)
        }
        people[person] = watched
        if let episode = watched.subscriber.supervision.episode {
            takeUp(standing.emergency, episode, of: person, shiftedBy: offset, &outboxes)
        }
        if watched.subscriber.card == nil { missingCards.note([person]) }
        untold.remove(person)
        change(person, &effects) { machine in
            machine.listeningAgain(at: clock.now)
            return []
        }
    }

    /// The record, the messages and their numbers, in the transaction of the person's state.
    private func takeUp(
        _ told: StandingEmergency?, _ episode: Episode, of person: PersonID, shiftedBy offset: Duration, _ outboxes: inout ToldOutboxes
    ) {
        let emergency = names.emergency(of: person, episode.trigger)
        guard let told, told.emergency == emergency, let record = told.record(of: person) else {
            // From a release that tells no messages: under the number of one that was acknowledged nothing would be sent.
            let stage = people[person]?.subscriber.supervision.stage
            guard stage == .dispatching || stage == .dispatched || stage == .stoodDown else { return }
            sequences[emergency] = max(sequences[emergency] ?? 0, pair.numberBehind(in: emergency))
            return
        }
        if let next = told.next { sequences[emergency] = max(sequences[emergency] ?? 0, next) }
        // Of whom only the state cannot be read, this side has a record and messages of its own.
        guard !untold.contains(person) else { return }
        records[person] = record
        changes.emergencies[emergency] = record
        noteSteps(of: record)
        let file = told.file(shiftedBy: offset)
        guard !told.messages.isEmpty else { return }
        for message in file.standing { changes.messages[message.id] = (person, message) }
        for (integrator, outbox) in file.lines {
            // Whoever has answered is told nothing again.
            let stream = dispatcher.registry.integrator(integrator)?.stream
            for message in outbox.messages {
                changes.lines[LineID(message: message.id, integrator: integrator)] = LineState(
                    message: message, stream: message.end == nil ? stream : nil)
            }
        }
        outboxes[emergency] = (person, file)
    }

    /// For the timeline: the steps that the record dates. All of them are at the other dispatcher.
    private func noteSteps(of record: EmergencyRecord) {
        let steps: [(at: Timestamp?, word: String)] = [
            (record.t0, "alerted"), (record.dispatchedAt, "dispatched"), (record.acknowledgedAt, "acknowledged"),
        ]
        for step in steps {
            guard let at = step.at else { continue }
            changes.audit.append(
                AuditNote(
                    at: at, actor: "dispatcher", action: step.word, object: "\(record.id)", detail: "as the other dispatcher tells"))
        }
    }
}
