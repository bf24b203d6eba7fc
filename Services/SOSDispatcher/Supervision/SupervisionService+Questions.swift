// What people and the emergency service say to supervision, and what is asked about it.

import Contracts
import Foundation
import ServiceKit

extension SupervisionService {
    /// - Parameter amend: what is kept of the subscriber beside, from the beginning.
    func subscribe(
        _ person: PersonID, own: [Metric: Bounds], interval: Duration?, answer: RememberedAnswer?,
        amend: @Sendable (inout Subscriber) -> Void = { _ in }
    ) async throws {
        var effects = Effects()
        var watched = people[person] ?? Watched()
        amend(&watched.subscriber)
        people[person] = watched
        change(person, &effects) { $0.subscribed(own: own, declaredInterval: interval, at: clock.now) }
        try await finish(effects, of: person, "subscribed", answer)
    }

    func unsubscribe(_ person: PersonID, answer: RememberedAnswer?) async throws {
        guard isSubscribed(person) else { throw Failure(.notFound, "this person is not subscribed") }
        var effects = Effects()
        change(person, &effects) { $0.unsubscribed(at: clock.now) }
        try await finish(effects, of: person, "unsubscribed", answer)
    }

    func pause(_ person: PersonID, _ isPaused: Bool, interval: Duration?, answer: RememberedAnswer?) async throws {
        guard isSubscribed(person) else { throw Failure(.notFound, "this person is not subscribed") }
        var effects = Effects()
        var refusal: Failure?
        change(person, &effects) { machine in
            let outcome = isPaused ? machine.paused(at: clock.now) : machine.resumed(declaredInterval: interval, at: clock.now)
            refusal = outcome.refusal
            return outcome.actions
        }
        if refusal == nil { notePause(of: person, isPaused) }
        try await finish(effects, of: person, isPaused ? "paused" : "resumed", answer, refusal)
    }

    func answerPrompt(
        _ person: PersonID, _ given: AnswerPrompt.Answer, answer: @Sendable (AnswerPrompt.Reply) -> RememberedAnswer?
    ) async throws -> AnswerPrompt.Reply {
        guard people[person] != nil else { throw Failure(.notFound, "this person is not subscribed") }
        var effects = Effects()
        var outcome: Supervision.Outcome?
        let now = clock.now
        let wall = clock.wall(fromSteady: now)
        change(person, &effects) { machine in
            let answered = machine.answered(given, at: now, wall: wall)
            outcome = answered
            return answered.actions
        }
        if outcome?.refusal == nil { tellAnswer(given, of: person, in: outcome?.episode, at: timeOfAnswer(of: person, now), wall: wall) }
        let reply = AnswerPrompt.Reply(
            alreadyDispatched: outcome?.alreadyDispatched ?? false,
            emergency: (outcome?.episode).map { names.emergency(of: person, $0.trigger) }, asksBack: outcome?.asksBack == true ? true : nil)
        try await finish(effects, of: person, "answered", answer(reply), outcome?.refusal, detail: given.rawValue)
        return reply
    }

    /// The emergency service has taken the call.
    func acknowledged(_ person: PersonID, _ emergency: EmergencyID) async {
        guard let episode = people[person]?.subscriber.supervision.episode, names.emergency(of: person, episode.trigger) == emergency else {
            return
        }
        var effects = Effects()
        change(person, &effects) { $0.acknowledged(at: clock.now) }
        await settle(effects)
    }

    /// Whether emergencies of the person are looked for.
    func status(of person: PersonID) -> ReadSupervision.Reply {
        let state = people[person]?.subscriber.supervision
        return ReadSupervision.Reply(
            subscribed: state?.subscribed ?? false, paused: state?.stage == .paused || state?.monitoringPaused == true,
            standing: (state?.standing ?? .off).rawValue)
    }

    /// The person has paused or resumed monitoring (ACC-28); who is not subscribed is passed over.
    func monitoring(_ pause: MonitoringState) async {
        let known = people[pause.person]?.subscriber.supervision
        guard let known, (known.monitoringPaused ?? false) != pause.paused else { return }
        let interval = try? await store.longestInterval(of: pause.person)
        var effects = Effects()
        change(pause.person, &effects) { $0.monitoring(isPaused: pause.paused, declaredInterval: interval, at: clock.now) }
        effects.people.insert(pause.person)
        changes.audit.append(
            AuditNote(
                at: .now, actor: "person", action: pause.paused ? "monitoring-paused" : "monitoring-resumed",
                object: names.auditName(of: pause.person)))
        await settle(effects)
    }

    /// As a snapshot has it: everybody else's monitoring is not paused.
    func monitoringPaused(by paused: Set<PersonID>) async {
        for person in Array(people.keys) { await monitoring(MonitoringState(person: person, paused: paused.contains(person))) }
    }

    func isSubscribed(_ person: PersonID) -> Bool {
        people[person]?.subscriber.supervision.subscribed ?? false
    }

    /// Stores what a person has said, in the transaction of its answer.
    func finish(
        _ effects: Effects, of person: PersonID, _ action: String, _ answer: RememberedAnswer?, _ refusal: Failure? = nil,
        detail: String = ""
    ) async throws {
        var effects = effects
        effects.people.insert(person)
        if refusal == nil {
            changes.audit.append(
                AuditNote(at: .now, actor: "person", action: action, object: names.auditName(of: person), detail: detail))
            if let answer { changes.answers.append(answer) }
            if let kind = Tiding.Kind(rawValue: action) { effects.tidings.append(Tiding(person: person, kind: kind, at: .now)) }
        }
        await settle(effects)
        if let refusal { throw refusal }
        do {
            try await journal.commit()
        } catch {
            throw Failure(.unavailable, "it is in force, but could not be stored yet: ask again")
        }
    }
}
