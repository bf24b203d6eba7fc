// Subscriptions to the data of groups: what is opened, what is told when a window closes, and how one ends (ANO-13).

/// What was opened. Every window of the grid that begins from `from` on and ends by `to` is judged when it closes.
package struct GroupSubscription: Hashable, Codable, Sendable {
    package var product: String
    /// In the order of the catalogue.
    package var types: [String]
    /// The beginning of the first window.
    package var from: Timestamp
    /// Not included.
    package var to: Timestamp
    /// The length of a window; those that were too small are released together, longer than that.
    package var granularity: String
    /// Sorted.
    package var attributes: [String]

    package init(product: String, types: [String], from: Timestamp, to: Timestamp, granularity: String, attributes: [String]) {
        (self.product, self.types, self.from, self.to) = (product, types, from, to)
        (self.granularity, self.attributes) = (granularity, attributes)
    }
}

/// What became of one window, or of some that were joined.
package enum GroupWindowStatus: String, Codable, Sendable, CaseIterable {
    /// Its tables can be read.
    case released
    /// The group was too small for too long; what was measured then is in no table of the subscription.
    case withheld
}

/// Said by the anonymiser on `anonymiser.windows`, in the transaction that keeps what was released. Of nobody, and without entries: they
/// are read by `ReadGroupRelease` with the number as `window`. If lost, replayed from the log.
package struct GroupWindowClosed: Hashable, Codable, Sendable {
    package static let type = "group-window-closed.v1"

    package var request: GroupRequestID
    /// From 1, without gaps; one that was said is never said with something else.
    package var sequence: Int
    package var from: Timestamp
    /// Not included. No two of a subscription overlap.
    package var to: Timestamp
    package var status: GroupWindowStatus

    package init(request: GroupRequestID, sequence: Int, from: Timestamp, to: Timestamp, status: GroupWindowStatus) {
        (self.request, self.sequence, self.from, self.to, self.status) = (request, sequence, from, to, status)
    }
}

/// No further window is judged; windows that waited to be joined are withheld. What was released can be read for ever. Again is the same as
/// once, also where the period is over. `not-found` for what is no subscription of the organisation.
package struct EndGroupSubscription: BusRequest {
    package static let method = "end-group-subscription"
    package static let owner = Peer.anonymiser
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true
    package typealias Reply = Nothing

    package var request: GroupRequestID
    package var organisation: OrganisationID

    package init(request: GroupRequestID, organisation: OrganisationID) {
        (self.request, self.organisation) = (request, organisation)
    }
}
