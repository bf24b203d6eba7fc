// What supervision knows that a prompt shows, and the answer to exactly that prompt.

import Contracts
import ServiceKit

extension SupervisionService {
    /// nil where no emergency of the person runs or is muted.
    func prompt(of person: PersonID, abortWindow: Duration) -> PromptState? {
        guard let state = people[person]?.subscriber.supervision else { return nil }
        return PromptState(state, record: records[person], rules: rules, abortWindow: abortWindow) {
            names.emergency(of: person, $0)
        }
    }

    /// Whether it is what the person is asked or told about.
    private func isAsked(_ emergency: EmergencyID, of person: PersonID) -> Bool {
        guard let state = people[person]?.subscriber.supervision else { return false }
        return ([state.episode].compactMap(\.self) + state.beside).contains { names.emergency(of: person, $0.trigger) == emergency }
    }

    /// Takes the answer if it is about what runs or is asked; a late answer must not call off the next one. A call for help always
    /// counts (SOS-35).
    func answerPrompt(
        _ person: PersonID, about emergency: EmergencyID, _ given: AnswerPrompt.Answer,
        answer: @Sendable (AnswerPrompt.Reply) -> RememberedAnswer?
    ) async throws -> AnswerPrompt.Reply {
        guard given == .help || isAsked(emergency, of: person) else {
            throw Failure(.conflict, "this emergency is over")
        }
        return try await answerPrompt(person, given, answer: answer)
    }

    /// What an answer without a name is about; nil where nothing runs or is asked.
    func asked(of person: PersonID) -> EmergencyID? {
        guard let state = people[person]?.subscriber.supervision, let episode = state.episode ?? state.beside.first else { return nil }
        return names.emergency(of: person, episode.trigger)
    }

    /// Announces it once it is stored, together with what the person is told of it.
    func tell(_ tiding: Tiding, _ subscriber: Subscriber, _ effects: inout Effects) {
        effects.tidings.append(tidings.keep(tiding, of: subscriber, in: &changes))
    }

    /// The message that an action makes. What the other dispatcher was told while it had heard of no call from here needs not be taken back.
    func message(of action: SupervisionAction, in emergency: EmergencyID, at time: Timestamp) -> DispatchMessage.Kind? {
        let kind = action.message(since: beganAt, now: time)
        guard action.kind == .muted, !pair.answers(in: emergency).isEmpty else { return kind }
        return pair.number(of: .cancel, in: emergency, from: 0) == 0 ? nil : kind
    }

    /// How the person is addressed, and in which language.
    func address(of person: PersonID) -> (name: String, language: Language) {
        let subscriber = people[person]?.subscriber
        return (subscriber?.card?.name ?? "", subscriber?.language ?? .italian)
    }
}
