// What the two dispatchers tell each other about emergency contacts: who has said what, and who was called again.

import Contracts

/// One thing that happened with one contact of one alarm on one side. Heard again it changes nothing.
struct ContactReply: Hashable, Codable, Sendable {
    enum Matter: Hashable, Codable, Sendable {
        case answered(ContactCase.Answer)
        /// The nth call down the list.
        case called(Int)
    }

    /// Of the module that receives it (`PairState.on`).
    static let kind = "contacts"

    var person: PersonID
    var occasion: OccasionID
    /// Of the alarm: what was said before it was called off does not count once it is taken up again.
    var round: Int
    /// The contact's own id: the lists of the two sides need not be the same.
    var contact: String
    var matter: Matter
    /// By the wall clock of the side on which it happened.
    var at: Timestamp
}

extension ContactCase {
    /// Takes over what happened on the other side; false where nothing changes. Of two answers of one contact the later one counts.
    /// - Parameter steady: when it happened, on this machine's time line.
    mutating func heard(_ word: ContactReply, at steady: Timestamp) -> Bool {
        guard word.occasion == id, word.round == round, let position = contacts.firstIndex(where: { $0.who.id == word.contact }) else {
            return false
        }
        switch word.matter {
        case .answered(let answer):
            guard contacts[position].answeredAt.map({ word.at > $0 }) ?? true else { return false }
            return answered(answer, by: position, at: word.at)
        case .called(let number):
            guard sent.insert(Notice(to: position, matter: .call(number))).inserted else { return false }
            calls = max(calls, number)
            lastCallAt = max(lastCallAt ?? steady, steady)
            return true
        }
    }
}
