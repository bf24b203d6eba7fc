// How an emergency and its messages are named: derived, so that judging the same entries again finds the same names.

import Contracts

enum EmergencyName {
    /// What is hashed under the service's identity key (`docs/sos-rules.md` §5).
    static func text(person: PersonID, trigger: Trigger) -> [UInt8] {
        let answeredBefore = trigger.answeredBefore.map { "|\($0)" } ?? ""
        return Array("\(person)|\(trigger.word)|\(trigger.at.milliseconds)\(answeredBefore)".utf8)
    }

    /// The emergency that has this authentication code; nil for one that is shorter than 128 bits.
    static func emergency(named code: [UInt8]) -> EmergencyID? {
        EmergencyID(bytes: code.prefix(16))
    }
}

/// Names one message of one emergency: `emg_…-0`. Also its `webhook-id`, in which Standard Webhooks allows no full stop.
struct MessageID: Hashable, Sendable, CustomStringConvertible {
    let emergency: EmergencyID
    /// 0 for the first alert, then one more for each message.
    let sequence: Int

    init(emergency: EmergencyID, sequence: Int) {
        (self.emergency, self.sequence) = (emergency, sequence)
    }

    /// nil for anything but an emergency id, a hyphen and a number as `description` writes it.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let emergency = EmergencyID(parts[0]), let sequence = Int(parts[1]), sequence >= 0,
            String(sequence) == parts[1]
        else { return nil }
        self.init(emergency: emergency, sequence: sequence)
    }

    var description: String { "\(emergency)-\(sequence)" }
}

extension MessageID {
    /// Numbers from here on are repeated calls', and from `firstRelease` on releases': apart from those that supervision gives, so that both
    /// dispatchers name one alike unasked.
    private static let firstRepetition = 500_000
    private static let firstRelease = 1_000_000
    /// Numbers of repeated calls that each alert has; the first stands for the alert itself.
    private static let repetitions = 32

    /// Tells whoever was called in vain that somebody else has taken this alert.
    var release: MessageID { MessageID(emergency: emergency, sequence: MessageID.firstRelease + sequence) }

    var isRelease: Bool { sequence >= MessageID.firstRelease }

    /// This alert once more, for those who were released from it before its taker rejected it; nil where it was repeated 31 times.
    var repetition: MessageID? {
        let next = isRepetition ? sequence + 1 : MessageID.firstRepetition + sequence * MessageID.repetitions + 1
        guard next % MessageID.repetitions != 0, next < MessageID.firstRelease else { return nil }
        return MessageID(emergency: emergency, sequence: next)
    }

    /// Whether this is the alert of that name once more, or one of its further repetitions.
    func repeats(_ alert: MessageID) -> Bool {
        isRepetition && alert.place < place && alert.place / (2 * MessageID.repetitions) == place / (2 * MessageID.repetitions)
    }

    var isRepetition: Bool { (MessageID.firstRepetition..<MessageID.firstRelease).contains(sequence) }

    /// Where it stands among the emergency's messages: a release right behind its alert, a repeated call behind both.
    var place: Int {
        let alert = isRelease ? sequence - MessageID.firstRelease : sequence
        let isRepeated = (MessageID.firstRepetition..<MessageID.firstRelease).contains(alert)
        let count = isRepeated ? alert - MessageID.firstRepetition : alert * MessageID.repetitions
        return count * 2 + (isRelease ? 1 : 0)
    }
}
