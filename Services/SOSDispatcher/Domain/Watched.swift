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

    /// How many answers that the other dispatcher was given have gone into the state.
    struct Answered: Hashable, Codable, Sendable {
        var emergency: EmergencyID
        var count: Int
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
