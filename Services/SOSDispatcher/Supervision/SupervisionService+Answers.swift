// What supervision knows that a prompt shows, and the answer to exactly that prompt.

import Contracts

extension SupervisionService {
    // MARK: What is asked

    /// nil where no emergency of the person runs or is muted.
    func prompt(of person: PersonID, abortWindow: Duration) -> PromptState? {
        guard let state = people[person]?.subscriber.supervision else { return nil }
        var prompt = PromptState(state, record: records[person], rules: rules, abortWindow: abortWindow) {
            names.emergency(of: person, $0)
        }
        if let emergency = prompt?.emergency { prompt?.asksBackCallingOff = isAskedBack(about: emergency, of: person) }
        return prompt
    }

    /// What the person is asked or told about by this name.
    private func question(_ emergency: EmergencyID, of person: PersonID) -> Episode? {
        guard let state = people[person]?.subscriber.supervision else { return nil }
        return ([state.episode].compactMap(\.self) + state.beside).first { names.emergency(of: person, $0.trigger) == emergency }
    }

    /// Whether the answer still says something about it; what was answered with it before may have been called for again since.
    func awaits(_ answer: AnswerPrompt.Answer, about emergency: EmergencyID, of person: PersonID) -> Bool {
        guard let state = people[person]?.subscriber.supervision, let question = question(emergency, of: person) else { return false }
        return Supervision(rules: rules, state: state).awaits(answer, about: question.trigger)
    }

    /// Whether something else than this is asked or called for by now.
    func hasMovedOn(from emergency: EmergencyID, of person: PersonID) -> Bool {
        guard let asked = asked(of: person, .fine), asked != emergency else { return false }
        return awaits(.fine, about: asked, of: person)
    }

    /// When this very answer was given, by the wall clock, if it is the last that counted in the emergency, whichever dispatcher was given it.
    func timeOf(_ answer: AnswerPrompt.Answer, in emergency: EmergencyID, of person: PersonID) -> Timestamp? {
        guard let known = people[person]?.answers(in: emergency), known.last == answer else { return nil }
        return known.lastAt.map { clock.wall(fromSteady: $0) }
    }

    /// What an answer without a name is about; nil where nothing runs or is asked. Of what is called off nothing is asked any more, so that
    /// the fall beside it is meant, as the prompt shows it; help is called for again in what was called off.
    func asked(of person: PersonID, _ answer: AnswerPrompt.Answer) -> EmergencyID? {
        guard let state = people[person]?.subscriber.supervision else { return nil }
        let running = state.stage == .stoodDown && answer != .help ? state.beside.first ?? state.episode : state.episode
        return (running ?? state.beside.first).map { names.emergency(of: person, $0.trigger) }
    }

    // MARK: Answering

    /// Takes the answer if it is about what runs or is asked; a late answer must not call off the next one, nor what was called for after
    /// it was given. A call for help always counts (SOS-35).
    func answerPrompt(
        _ person: PersonID, about emergency: EmergencyID, _ given: AnswerPrompt.Answer,
        further: @Sendable (AnswerPrompt.Reply) -> SealedBatchStore.FurtherWrite?
    ) async throws -> AnswerPrompt.Reply {
        guard given == .help || question(emergency, of: person) != nil else {
            throw Failure(.conflict, "this emergency is over")
        }
        // What is called off awaits it no more. A fall that came since has its own name.
        if given.callsOff, !awaits(given, about: emergency, of: person),
            people[person]?.answers(in: emergency).said?.contains(given) == true
        {
            throw Failure(.conflict, "it was answered")
        }
        if let reply = askingBack(given, about: emergency, of: person) { return reply }
        return try await answerPrompt(person, given, further: further)
    }

    func answerPrompt(
        _ person: PersonID, _ given: AnswerPrompt.Answer,
        further: @Sendable (AnswerPrompt.Reply) -> SealedBatchStore.FurtherWrite?
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
        let asksBack = outcome?.asksBack == true
        if let outcome, outcome.refusal == nil {
            tellAnswer(given, of: person, with: outcome, at: timeOfAnswer(of: person, now), wall: wall)
        }
        let reply = AnswerPrompt.Reply(
            alreadyDispatched: outcome?.alreadyDispatched ?? false,
            emergency: (outcome?.episode).map { names.emergency(of: person, $0.trigger) }, asksBack: asksBack ? true : nil)
        // What is asked back waits for no disk: whoever gets no reply sends it again, which would count.
        try await finish(
            effects, of: person, "answered", further(reply), outcome?.refusal, detail: given.rawValue, waitsForDisk: !asksBack)
        return reply
    }

    // MARK: Answers that come again after help was called for: they are asked back, whoever was given them before

    /// "I am fine", or a false alarm, that was given before and would change something once more: help was called for since, at either
    /// dispatcher or with a device. A program whose first reply was lost sends it again, and must not call that off. It counts when it is
    /// said once more; nil where it counts now.
    func askingBack(_ answer: AnswerPrompt.Answer, about emergency: EmergencyID, of person: PersonID) -> AnswerPrompt.Reply? {
        guard answer.callsOff, var watched = people[person], awaits(answer, about: emergency, of: person) else { return nil }
        var known = watched.answers(in: emergency)
        let help = watched.subscriber.supervision.help?.at
        guard known.said?.contains(answer) == true, !known.isAskedBack(answer, help: help, at: clock.now) else { return nil }
        known.askedBack = Watched.Answered.AskedBack(answer: answer, at: clock.now, help: help)
        watched.note(known)
        people[person] = watched
        changes.put(watched, of: person)
        let hasDispatched = Supervision(rules: rules, state: watched.subscriber.supervision).hasDispatched
        return AnswerPrompt.Reply(alreadyDispatched: hasDispatched, emergency: emergency, asksBack: true)
    }

    /// Whether the person was asked whether what runs is really to be called off.
    func isAskedBack(about emergency: EmergencyID, of person: PersonID) -> Bool {
        guard let watched = people[person], awaits(.fine, about: emergency, of: person) else { return false }
        return watched.answers(in: emergency).isAskedBack(nil, help: watched.subscriber.supervision.help?.at, at: clock.now)
    }
}
