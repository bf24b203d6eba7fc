// One subscriber together with how far the stream about them has been heard.

import Contracts

/// What is stored of one subscriber as one whole, so that after a crash no fact is judged twice and none is passed over,
/// whatever else had got to the disk.
struct Watched: Hashable, Codable, Sendable {
    /// The last fact of the person's partition that went into the state.
    struct Heard: Hashable, Codable, Sendable {
        var epoch: String
        var sequence: Int64
    }

    /// The answers in one emergency.
    struct Answered: Hashable, Codable, Sendable {
        var emergency: EmergencyID
        /// How many that the other dispatcher was given have gone into the state.
        var count: Int
        /// The last that counted, whoever was given it, and how long after `t0`.
        var last: AnswerPrompt.Answer?
        var lastMs: Int64?

        /// Whether it was given before what has counted already: the person's last word counts, whichever dispatcher heard it first. Of two
        /// at one time the call for help does.
        func hasOvertaken(_ answer: AnswerPrompt.Answer, afterMs: Int64) -> Bool {
            guard answer != .helpIsHere, let last, let lastMs else { return false }
            return afterMs < lastMs || afterMs == lastMs && last == .help && answer != .help
        }

        mutating func note(_ answer: AnswerPrompt.Answer, afterMs: Int64) {
            if answer != .helpIsHere { (last, lastMs) = (answer, afterMs) }
        }
    }

    var subscriber = Subscriber()
    var heard: Heard?
    var answered: Answered?

    /// Takes note of a fact; false if it is in the state already.
    mutating func hears(_ header: StreamHeader) -> Bool {
        if let heard, heard.epoch == header.epoch, header.sequence <= heard.sequence { return false }
        heard = Heard(epoch: header.epoch, sequence: header.sequence)
        return true
    }
}
