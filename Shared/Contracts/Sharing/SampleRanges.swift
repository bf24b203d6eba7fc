// Many small reads under many grants in one question: what keeps subscriptions going.

/// Reads what has become readable of many series at once; each stretch is judged by its own grant, as `ReadSamples` would judge it,
/// and each read is told to the person.
package struct ReadSampleRanges: BusRequest {
    package static let method = "read-sample-ranges"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = false
    /// Stretches of one question.
    package static let mostStretches = 200

    /// 1 to `mostStretches`.
    package var stretches: [Stretch]

    package init(stretches: [Stretch]) {
        self.stretches = stretches
    }

    /// Its members are those of `read-samples`.
    package struct Stretch: Hashable, Codable, Sendable {
        package var grant: GrantID
        package var organisation: OrganisationID
        package var type: Metric
        package var from: Timestamp
        /// Not included.
        package var to: Timestamp

        package init(grant: GrantID, organisation: OrganisationID, type: Metric, from: Timestamp, to: Timestamp) {
            (self.grant, self.organisation, self.type, self.from, self.to) = (grant, organisation, type, from, to)
        }
    }

    package struct Reply: Codable, Sendable {
        /// One for each stretch, in the same order.
        package var outcomes: [Outcome]

        package init(outcomes: [Outcome]) {
            self.outcomes = outcomes
        }
    }

    /// Either samples with `readTo`, or a denial.
    package struct Outcome: Codable, Sendable {
        /// What `ReadSamples` would give of the stretch, oldest first, one by one: mostly there is one. Personal.
        package var samples: [Sample]
        /// Everything before this instant that there is is in `samples`; the rest is not over yet, or had no room. Absent where denied.
        package var readTo: Timestamp?
        /// Why nothing was read.
        package var denial: Failure?
        /// As of `ReadSamples`: what of the stretch cannot be read any more.
        package var damaged: [DamagedPeriod]?

        package init(samples: [Sample], readTo: Timestamp?, denial: Failure? = nil, damaged: [DamagedPeriod]? = nil) {
            (self.samples, self.readTo, self.denial, self.damaged) = (samples, readTo, denial, damaged)
        }
    }
}
