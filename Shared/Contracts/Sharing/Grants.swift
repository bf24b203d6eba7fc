// What a person has allowed, and what was read by it: said by consent, enforced and reported by whoever holds the data.

/// Said by consent on `consent.grants` at every change; the snapshot holds the active ones. Data may leave only under an active
/// grant, inside its types and window, and at no finer step than its granularity.
package struct GrantState: Hashable, Codable, Sendable {
    package static let type = "grant-state.v1"

    package var grant: GrantID
    package var request: RequestID
    package var person: PersonID
    package var organisation: OrganisationID
    /// What is still allowed; withdrawing single types makes it shorter.
    package var types: [Metric]
    /// The window, `to` not included.
    package var from: Timestamp
    package var to: Timestamp
    package var granularity: GrantGranularity
    /// False once it was withdrawn or has ended; the last fact of a grant.
    package var active: Bool
    /// Counts up with every change, from 1.
    package var version: Int64

    package init(
        grant: GrantID, request: RequestID, person: PersonID, organisation: OrganisationID, types: [Metric], from: Timestamp,
        to: Timestamp, granularity: GrantGranularity, active: Bool, version: Int64
    ) {
        (self.grant, self.request, self.person, self.organisation) = (grant, request, person, organisation)
        (self.types, self.from, self.to, self.granularity) = (types, from, to, granularity)
        (self.active, self.version) = (active, version)
    }
}

/// Reads entries under a grant, oldest first; at most 1 MiB a page. `forbidden` with a reason where the grant does not allow it,
/// is not active, or consent has been silent too long.
package struct ReadSamples: BusRequest {
    package static let method = "read-samples"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = false

    /// `not-found` for one that is unknown here; so is another organisation's.
    package var grant: GrantID
    /// Whose grant it must be: with another one's it is `not-found`.
    package var organisation: OrganisationID
    /// One of the grant's; else `forbidden`.
    package var type: Metric
    /// Inside the grant's window, as `to`; else `forbidden`.
    package var from: Timestamp
    /// Not included; later than `from`.
    package var to: Timestamp
    /// `next` of the page before.
    package var after: String?
    /// 1 to 10,000.
    package var limit: Int

    package init(
        grant: GrantID, organisation: OrganisationID, type: Metric, from: Timestamp, to: Timestamp, after: String?, limit: Int
    ) {
        (self.grant, self.organisation, self.type) = (grant, organisation, type)
        (self.from, self.to, self.after, self.limit) = (from, to, after, limit)
    }

    package struct Reply: Codable, Sendable {
        /// One for each second, minute or hour that holds any and is over: the mean of what was measured in it, or the first position,
        /// at the step's beginning, or at the window's where that cuts a step. Places that came with other values are left out. Personal.
        package var columns: SampleColumns
        /// What to send as `after` for the following page; nil at the end.
        package var next: String?
        /// Where entries of the asked period are stored and cannot be read any more; absent where there are none.
        package var damaged: [DamagedPeriod]?

        package init(columns: SampleColumns, next: String?, damaged: [DamagedPeriod]? = nil) {
            (self.columns, self.next, self.damaged) = (columns, next, damaged)
        }
    }
}

/// From the first to the last of the entries that cannot be read any more, cut to the period that was asked for.
package struct DamagedPeriod: Hashable, Codable, Sendable {
    package var from: Timestamp
    package var to: Timestamp

    package init(from: Timestamp, to: Timestamp) {
        (self.from, self.to) = (from, to)
    }
}

/// Said by ingest on `ingest.arrivals` with the upload that brought it: there are new entries of this type between the two times.
/// The subject is the person. Late and corrected entries are told of as well; what was measured is asked for with `read-samples`.
package struct DataArrived: Hashable, Codable, Sendable {
    package static let type = "data-arrived.v1"

    package var metric: Metric
    /// Of the oldest and, excluded, after the newest new entry.
    package var from: Timestamp
    package var to: Timestamp

    package init(metric: Metric, from: Timestamp, to: Timestamp) {
        (self.metric, self.from, self.to) = (metric, from, to)
    }
}

/// Said by ingest on `ingest.accesses` before a page leaves it; the person can see it (SHR-24).
package struct DataRead: Hashable, Codable, Sendable {
    package static let type = "data-read.v1"

    package var grant: GrantID
    package var organisation: OrganisationID
    package var metric: Metric
    /// Beginning of the first step that was handed out.
    package var from: Timestamp
    /// End of the last one, not included.
    package var to: Timestamp
    /// How many entries the page holds.
    package var count: Int

    package init(grant: GrantID, organisation: OrganisationID, metric: Metric, from: Timestamp, to: Timestamp, count: Int) {
        (self.grant, self.organisation, self.metric) = (grant, organisation, metric)
        (self.from, self.to, self.count) = (from, to, count)
    }
}
