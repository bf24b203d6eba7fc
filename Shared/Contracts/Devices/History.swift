// What AutomatedSOS asks about a person's devices and about the weeks before, to subscribe people and to fit their bounds.

/// What the person's active devices deliver, so that nobody is promised a supervision that cannot see anything (SOS-02).
package struct ReadAbilities: BusRequest {
    package static let method = "read-abilities"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.sosDispatcher, .sosDeputy]
    package static let mutates = false

    package var person: PersonID

    package init(person: PersonID) {
        self.person = person
    }

    /// One active device.
    package struct Ability: Codable, Sendable {
        /// What is tracked from it now; never empty.
        package var metrics: [Metric]
        /// How often it measures, in ms, as it declared; nil where it did not.
        package var intervalMs: Int64?

        package init(metrics: [Metric], intervalMs: Int64?) {
            (self.metrics, self.intervalMs) = (metrics, intervalMs)
        }
    }

    package struct Reply: Codable, Sendable {
        /// Empty for a person who is unknown here or has not accepted the conditions: nothing may be acquired of them.
        package var devices: [Ability]

        package init(devices: [Ability]) {
            self.devices = devices
        }
    }
}

/// One metric of one person over a period: every value, or the sums of whole minutes. Personal. A page is less than 1 MiB.
package struct ReadHistory: BusRequest {
    package static let method = "read-history"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.sosDispatcher, .sosDeputy]
    package static let mutates = false

    /// What one row of the answer is.
    package enum Grain: String, Codable, Sendable {
        case entry
        case minute
    }

    /// One who is unknown or erased has no history, which is no failure.
    package var person: PersonID
    /// One with numbers; others are `invalid`.
    package var type: Metric
    package var grain: Grain
    /// At most 400 days before `to`.
    package var from: Timestamp
    /// Not included.
    package var to: Timestamp

    package init(person: PersonID, type: Metric, grain: Grain, from: Timestamp, to: Timestamp) {
        (self.person, self.type, self.grain, self.from, self.to) = (person, type, grain, from, to)
    }

    /// In order of time, as columns of equal length: one row is one entry, or one minute that has entries.
    package struct Reply: Codable, Sendable {
        /// Of the entry, or of the minute's beginning.
        package var times: [Timestamp]
        /// The entry's value, or the minute's mean.
        package var values: [Double]
        /// Of minutes alone: the least and the greatest value, and how many there were.
        package var least: [Double]?
        /// Of minutes alone, as `least`.
        package var greatest: [Double]?
        /// Of minutes alone: how many entries each holds.
        package var counts: [Int]?
        /// What to send as `from` for the following page; nil at the end.
        package var next: Timestamp?
        /// Where entries of this page's time are stored and cannot be read any more; absent where there are none.
        package var damaged: [DamagedPeriod]?

        package init(
            times: [Timestamp], values: [Double], least: [Double]? = nil, greatest: [Double]? = nil, counts: [Int]? = nil,
            next: Timestamp?, damaged: [DamagedPeriod]? = nil
        ) {
            (self.times, self.values, self.least, self.greatest) = (times, values, least, greatest)
            (self.counts, self.next, self.damaged) = (counts, next, damaged)
        }
    }
}
