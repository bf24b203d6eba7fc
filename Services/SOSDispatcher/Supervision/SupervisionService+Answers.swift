// Answers that come again after help was called for: they are asked back, whoever was given them before.

import Contracts

extension SupervisionService {
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
