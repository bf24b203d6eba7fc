// What supervision knows that a prompt shows, and the answer to exactly that prompt.

import Contracts
import ServiceKit

extension SupervisionService {
    /// nil where no emergency of the person runs or is muted.
    func prompt(of person: PersonID, abortWindow: Duration) -> PromptState? {
        guard let state = people[person]?.subscriber.supervision, let episode = state.episode else { return nil }
        let emergency = names.emergency(of: person, episode.trigger)
        return PromptState(
            state, emergency: emergency, record: records[person].flatMap { $0.id == emergency ? $0 : nil }, dispatchAt: rules.dispatchAt,
            abortWindow: abortWindow)
    }

    /// Takes the answer if it is about the emergency that runs; a late answer must not call off the next one.
    func answerPrompt(
        _ person: PersonID, about emergency: EmergencyID, _ given: AnswerPrompt.Answer,
        answer: @Sendable (AnswerPrompt.Reply) -> RememberedAnswer?
    ) async throws -> AnswerPrompt.Reply {
        guard let episode = people[person]?.subscriber.supervision.episode, names.emergency(of: person, episode.trigger) == emergency else {
            throw Failure(.conflict, "this emergency is over")
        }
        return try await answerPrompt(person, given, answer: answer)
    }

    /// Takes the word that shaking was nothing, unless an emergency runs: that one is answered by its name.
    func callOffShaking(_ person: PersonID, _ given: AnswerPrompt.Answer) async throws {
        guard given == .fine || given == .falseAlarm, people[person]?.subscriber.supervision.episode == nil else {
            throw Failure(.conflict, "name the emergency that is answered")
        }
        _ = try await answerPrompt(person, given) { _ in nil }
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
