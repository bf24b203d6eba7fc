// How available the chain from an entry to an acknowledged call is.

/// What came of the test emergencies that one SOS dispatcher sends through the whole chain every ten seconds (NFR-05).
package struct ReadAvailability: BusRequest {
    package static let method = "read-availability"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false
    /// Ninety days.
    package static let hours: ClosedRange<Int64> = 1...2160

    /// How far back, the running hour included.
    package var hours: Int64

    package init(hours: Int64) {
        self.hours = hours
    }

    package struct Reply: Codable, Sendable {
        /// Whose figures they are: each of the two counts its own.
        package var dispatcher: Peer
        /// When its first one was sent; nil where none was.
        package var since: Timestamp?
        /// Acknowledged in time.
        package var ok: Int
        /// Acknowledged more than a second later than budgeted.
        package var late: Int
        /// Never acknowledged, or not sent because the dispatcher was down.
        package var missed: Int
        /// When the last one was settled; nil where none was since the dispatcher's start.
        package var lastAt: Timestamp?
        /// `ok`, `late` or `missed`.
        package var last: String?
        /// How many of them all are in the dispatcher's memory alone, since its store does not take them; nil from earlier releases.
        package var uncounted: Int?
        /// How many people are subscribed, have not paused, and have no device that may deliver; nil from earlier releases.
        package var withoutDevice: Int?

        package init(
            dispatcher: Peer, since: Timestamp?, ok: Int, late: Int, missed: Int, lastAt: Timestamp?, last: String?, uncounted: Int? = nil,
            withoutDevice: Int? = nil
        ) {
            (self.dispatcher, self.since, self.ok, self.late, self.missed) = (dispatcher, since, ok, late, missed)
            (self.lastAt, self.last, self.uncounted, self.withoutDevice) = (lastAt, last, uncounted, withoutDevice)
        }
    }
}
