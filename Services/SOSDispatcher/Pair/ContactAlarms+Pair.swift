// How contacts' alarms are kept in step with the other dispatcher: what contacts say to one of them, both know.

import Contracts
import ServiceKit

extension ContactAlarms {
    /// The other side is told at once; a crash before that is stored costs a call that the notifier knows by its name.
    func tell(_ matter: ContactReply.Matter, by position: Int, of alarm: ContactCase) {
        let contact = alarm.contacts[position]
        var at = Timestamp.now
        if case .answered = matter, let answeredAt = contact.answeredAt { at = answeredAt }
        pair.tell(
            .contact(
                ContactReply(
                    person: alarm.person, occasion: alarm.id, round: alarm.round, contact: contact.who.id, matter: matter, at: at)))
    }

    /// Words are facts of their own, and are kept as such.
    nonisolated var participant: PairState.Participant {
        PairState.Participant(snapshot: { _ in [] }, apply: { _, _ in }, after: { await self.hearWords() })
    }

    /// Lets count what the other side has told of alarms that run here, each word once.
    func hearWords() {
        for occasion in Array(cases.keys) { hearWords(of: occasion) }
    }

    func hearWords(of occasion: OccasionID) {
        for word in pair.words(of: occasion) { hear(word) }
    }

    private func hear(_ word: ContactReply) {
        guard var alarm = cases[word.occasion], alarm.heard(word, at: clock.steady(fromWall: word.at)) else { return }
        cases[word.occasion] = alarm
        guard case .answered(let answer) = word.matter, let position = alarm.contacts.firstIndex(where: { $0.who.id == word.contact })
        else {
            return settle(word.occasion, [])
        }
        let said = note(
            "contact-answered", by: "contact \(position + 1)", "\(answer.rawValue), at the other dispatcher", of: word.occasion)
        settle(word.occasion, [said])
    }
}
