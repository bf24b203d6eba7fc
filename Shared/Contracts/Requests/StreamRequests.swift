// What every publisher answers beside its streams: replay of what a consumer missed, the current facts, a consumer's progress.
// These three exist once per publishing service, so their owner is not fixed by the type: the client names it.

/// Facts `from...through` of one stream, oldest first; a page holds at most 1000 facts and 1 MiB, but always one fact.
package struct ReplayStream: Codable, Sendable {
    package static let method = "replay-stream"

    package var stream: String
    /// The one that the client knows; where the log has another one, no facts are given.
    package var epoch: String
    /// 1 or more.
    package var from: Int64
    /// Included; may lie beyond the head.
    package var through: Int64
    /// Gives the facts about this person alone, and looks at no more than `mostSearched` places from `from` on. Earlier releases pass over
    /// it and give everybody's.
    package var subject: PersonID?

    /// As far as a replay of one person's facts looks.
    package static let mostSearched: Int64 = 65_536

    package init(stream: String, epoch: String, from: Int64, through: Int64, subject: PersonID? = nil) {
        (self.stream, self.epoch, self.from, self.through, self.subject) = (stream, epoch, from, through, subject)
    }

    package struct Fact: Codable, Sendable {
        package var header: StreamHeader
        /// The frame as it was published, byte for byte.
        package var payload: String

        package init(header: StreamHeader, payload: String) {
            (self.header, self.payload) = (header, payload)
        }
    }

    package struct Reply: Codable, Sendable {
        /// The log's own.
        package var epoch: String
        /// The stream's last sequence, which may lie beyond the page.
        package var head: Int64
        /// The oldest sequence that the log still holds; a consumer that needs an earlier one takes a snapshot. Where the client's epoch is
        /// another one: the sequence at which it goes on in the log's, behind everything that it has heard.
        package var oldest: Int64
        /// Starts at `from`, or at the person's first fact behind it; empty where the epoch is another one or `from` is older than `oldest`.
        package var facts: [Fact]

        package init(epoch: String, head: Int64, oldest: Int64, facts: [Fact]) {
            (self.epoch, self.head, self.oldest, self.facts) = (epoch, head, oldest, facts)
        }
    }
}

/// The current facts of a state stream, valid at one sequence; pages of at most 1 MiB, `after` continues.
package struct SnapshotStream: Codable, Sendable {
    package static let method = "snapshot-stream"

    package var stream: String
    /// `next` of the page before; nil for the first.
    package var after: String?

    package init(stream: String, after: String?) {
        (self.stream, self.after) = (stream, after)
    }

    package struct Reply: Codable, Sendable {
        /// The same on every page; where it changes in between, the snapshot is begun anew.
        package var epoch: String
        /// The facts include everything up to here; the consumer replays from `sequence` + 1. The first page's counts.
        package var sequence: Int64
        package var facts: [ReplayStream.Fact]
        /// What to send as `after` for the following page; nil at the end.
        package var next: String?

        package init(epoch: String, sequence: Int64, facts: [ReplayStream.Fact], next: String?) {
            (self.epoch, self.sequence, self.facts, self.next) = (epoch, sequence, facts, next)
        }
    }
}

/// Says how far the asking peer has applied each stream durably: the publisher's log may forget what everybody has.
package struct ConfirmPositions: Codable, Sendable {
    package static let method = "confirm-positions"

    /// Of streams that the peer may hear; a single other one makes the whole question `forbidden`.
    package var positions: [StreamPosition]

    package init(positions: [StreamPosition]) {
        self.positions = positions
    }
}

/// Lets the log forget a consumer that is gone for good (`trackme consumers forget NAME`).
package struct ForgetConsumer: Codable, Sendable {
    package static let method = "forget-consumer"
    package static let clients: Set<Peer> = [.trackme]

    /// Counts again as soon as it confirms something.
    package var consumer: Peer
    /// Also where it confirmed or asked something a moment ago; refused as a conflict unless told.
    package var evenRunning: Bool?

    package init(consumer: Peer, evenRunning: Bool? = nil) {
        (self.consumer, self.evenRunning) = (consumer, evenRunning)
    }

    package struct Reply: Codable, Sendable {
        /// Whether it had been forgotten before and has confirmed nothing since; nil from earlier releases.
        package var wasForgotten: Bool?

        package init(wasForgotten: Bool?) {
            self.wasForgotten = wasForgotten
        }
    }
}
