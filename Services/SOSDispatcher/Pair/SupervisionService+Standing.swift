// How somebody of whom nothing is known here goes on being supervised as the other dispatcher does it.

import Contracts
import ServiceKit

extension SupervisionService {
    /// Messages that the other dispatcher has told of, for this one's dispatcher.
    typealias ToldOutboxes = [EmergencyID: (person: PersonID, outbox: DispatchMachine)]

    /// A newcomer goes on from where the other side stands: an emergency that runs there has the same name here, and the same messages.
    func stand(_ person: PersonID, _ standing: PersonSettings.Standing, _ effects: inout Effects, _ outboxes: inout ToldOutboxes) {
        var watched = people[person] ?? Watched()
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

    /// Somebody who is known here, in an emergency of which only the other dispatcher's memory tells: this one's last process may have known
    /// it as well, and has ended before its disk took it.
    func goOn(with running: PersonSettings, _ effects: inout Effects, _ outboxes: inout ToldOutboxes) {
        let person = running.person
        guard let mine = people[person]?.subscriber, mine.supervision.subscribed, mine.supervision.episode == nil,
            var standing = running.standing, standing.emergency != nil, let episode = standing.subscriber.supervision.episode
        else { return }
        standing.subscriber = SubscriberSettings(mine).applied(to: standing.subscriber)
        stand(person, standing, &effects, &outboxes)
        effects.people.insert(person)
        let emergency = names.emergency(of: person, episode.trigger)
        effects.events.append(SupervisionEvent(person: person, kind: .goesOn, emergency: emergency, episode: episode, at: .now))
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

    /// What the other dispatcher is told when it starts: whoever's emergency, or word in one, this side's disk does not take. What is merely
    /// on its way to the disk comes in its place, after the entries that it follows from.
    func unstored(after: PersonID?) async -> ReadUnstored.Reply {
        let unstored = journal.unstored
        let told = Dictionary(grouping: unstored.told.compactMap(\.ofEmergency)) { $0.subject }
        let people = Set(unstored.emergencies.values.map(\.person)).union(told.keys.compactMap(\.self))
        var reply = ReadUnstored.Reply(facts: [], next: nil)
        var size = 0
        for person in people.sorted(by: { $0.bits < $1.bits }) where !isSynthetic(person) && after.map({ $0.bits < person.bits }) ?? true {
            var facts = (told[person] ?? []).suffix(PairTables.wordsPerPerson)
            if let running = await running(person) { facts.insert(.settings(running), at: facts.startIndex) }
            let payloads = facts.compactMap { try? $0.encoded() }
            reply.facts += payloads.map { String(decoding: $0, as: UTF8.self) }
            size += payloads.reduce(0) { $0 + $1.count }
            guard size < PairTables.messageBytesPerPage else {
                reply.next = person
                break
            }
        }
        return reply
    }

    /// The person's supervision with the emergency that runs; nil where none does. Of no version: nobody has set anything by it.
    private func running(_ person: PersonID) async -> PersonSettings? {
        guard let begun = records[person]?.id else { return nil }
        let file = await dispatcher.works[begun]?.file ?? DispatchMachine()
        guard let record = records[person], record.id == begun, record.closedAt == nil, let watched = people[person],
            let episode = watched.subscriber.supervision.episode, names.emergency(of: person, episode.trigger) == begun
        else { return nil }
        let standing = PersonSettings.Standing(
            subscriber: watched.subscriber, steady: clock.now, wall: .now, answered: watched.answersToTell,
            emergency: StandingEmergency(record, file))
        return PersonSettings(
            person: person, version: .none, settings: SubscriberSettings(watched.subscriber), standing: standing)
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

extension PairFact {
    /// As it is told from memory, where it is about an emergency; nil for all else, which comes in its place.
    fileprivate var ofEmergency: PairFact? {
        switch self {
        case .answered, .acknowledged, .contact: return self
        case .attempted(var attempt):
            // With the emergency's messages its bytes are told.
            attempt.body = nil
            return .attempted(attempt)
        case .settings, .opened, .erased, .note: return nil
        }
    }
}
