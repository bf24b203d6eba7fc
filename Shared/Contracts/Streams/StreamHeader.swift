// What stands before every payload on the bus: which stream, which place in it, what kind of fact, about whom.

/// The header frame. Its JSON has exactly these keys in this order and no spaces, so that a small scanner reads it:
/// `{"v":1,"stream":"ingest.devices","epoch":"…","sequence":2,"head":2,"type":"device-state.v1","subject":"per_…","at":1,"trace":"…"}`.
/// Strings hold printable ASCII without quotes and backslashes.
package struct StreamHeader: Hashable, Codable, Sendable {
    package static let version = 1

    /// Form of the header; a frame with another one is not read.
    package var v: Int
    package var stream: String
    /// Made at random with the publisher's store or at a restore, never at a restart. Another one means: what you knew of a state is
    /// void; of other streams a replay says where you go on.
    package var epoch: String
    /// The fact's place, gapless per stream from 1. A heartbeat has 0, and so has a fact that is said provisionally.
    package var sequence: Int64
    /// The stream's last sequence when the frame was made.
    package var head: Int64
    /// Kind and version of the payload; `erased` for a fact whose person is gone: it keeps its place and has no payload.
    package var type: String
    /// The person that the fact is about, so that a consumer can skip it unread; empty where it is about nobody.
    package var subject: String
    /// When the fact was made, by the publisher's clock; in a snapshot it may be 0.
    package var at: Timestamp
    /// Follows one piece of work through the services' logs; opaque, at most 64 characters, empty where there is none.
    package var trace: String

    /// Type of a fact whose person was erased; it keeps its sequence and has no payload.
    package static let erased = "erased"
    package static let heartbeat = "heartbeat.v1"

    package init(
        stream: String, epoch: String, sequence: Int64, head: Int64, type: String, subject: String, at: Timestamp, trace: String
    ) {
        v = StreamHeader.version
        (self.stream, self.epoch, self.sequence, self.head) = (stream, epoch, sequence, head)
        (self.type, self.subject, self.at, self.trace) = (type, subject, at, trace)
    }
}

/// The payload of a publisher's heartbeat: the heads of all streams of one family. Sent on `<family>.heartbeat`.
package struct Heartbeat: Codable, Sendable {
    /// As in headers; one for all streams of the family.
    package var epoch: String
    /// Stream name to the sequence of its last fact; 0 where there was none yet.
    package var heads: [String: Int64]

    package init(epoch: String, heads: [String: Int64]) {
        (self.epoch, self.heads) = (epoch, heads)
    }
}

/// One fact as a consumer gets it: applied once, in order, without gaps.
package struct StreamEvent: Sendable {
    package var header: StreamHeader
    /// UTF-8 JSON of the type that the header names; empty for `erased`.
    package var payload: [UInt8]

    package init(header: StreamHeader, payload: [UInt8]) {
        (self.header, self.payload) = (header, payload)
    }
}

/// How far a consumer is with one stream: the next sequence that it will apply. Stored in the transaction of the effect.
package struct StreamPosition: Hashable, Codable, Sendable {
    package var stream: String
    /// The one in which `next` counts.
    package var epoch: String
    package var next: Int64

    package init(stream: String, epoch: String, next: Int64) {
        (self.stream, self.epoch, self.next) = (stream, epoch, next)
    }
}
