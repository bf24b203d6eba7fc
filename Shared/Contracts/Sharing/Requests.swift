// A third party's request for one person's data: what is asked of consent and what consent says of it (SHR).

/// The states of table SHR-S.
package enum RequestStatus: String, Codable, Sendable, CaseIterable {
    case pending = "PENDING"
    case approved = "APPROVED"
    case declined = "DECLINED"
    case expired = "EXPIRED"
    case revoked = "REVOKED"
    case ended = "ENDED"
}

/// The finest step at which granted data are handed out (SHR-12).
package enum GrantGranularity: String, Codable, Sendable, CaseIterable {
    case seconds, minutes, hours
}

/// Puts a request before a person. `not-found`: the fiscal code belongs to nobody (SHR-03); `conflict`: an open request of the
/// same organisation already covers a part of this one; the reason ends with its id (SHR-18).
package struct OpenRequest: BusRequest {
    package static let method = "open-request"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true

    package var organisation: OrganisationID
    /// As the person sees it; 1 to 200 characters.
    package var organisationName: String
    /// Personal.
    package var fiscalCode: String
    /// At least one, each once.
    package var types: [Metric]
    /// The period, `to` not included; reaching into the future makes it a subscription (SHR-13).
    package var from: Timestamp
    /// At most ten years from now.
    package var to: Timestamp
    package var granularity: GrantGranularity
    /// What for, as the person sees it; 1 to 1000 characters.
    package var purpose: String

    package init(
        organisation: OrganisationID, organisationName: String, fiscalCode: String, types: [Metric], from: Timestamp, to: Timestamp,
        granularity: GrantGranularity, purpose: String
    ) {
        (self.organisation, self.organisationName, self.fiscalCode) = (organisation, organisationName, fiscalCode)
        (self.types, self.from, self.to, self.granularity, self.purpose) = (types, from, to, granularity, purpose)
    }

    package struct Reply: Codable, Sendable {
        package var request: RequestID
        package var status: RequestStatus
        /// Whether the period reaches into the future (SHR-13).
        package var isSubscription: Bool
        /// Counts as declined unless answered by then (SHR-07).
        package var answerBy: Timestamp

        package init(request: RequestID, status: RequestStatus, isSubscription: Bool, answerBy: Timestamp) {
            (self.request, self.status, self.isSubscription, self.answerBy) = (request, status, isSubscription, answerBy)
        }
    }
}

/// The state of one's own request; `not-found` for another organisation's.
package struct ReadRequest: BusRequest {
    package static let method = "read-request"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = false
    package typealias Reply = RequestState

    package var organisation: OrganisationID
    package var request: RequestID

    package init(organisation: OrganisationID, request: RequestID) {
        (self.organisation, self.request) = (organisation, request)
    }
}

/// The third party stops by itself (SHR-25), or has delivered everything after the period: an approved request is ENDED. Asking again
/// is the same as once; `conflict` in every other state, which table SHR-S does not let end (SHR-17).
package struct EndRequest: BusRequest {
    package static let method = "end-request"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true
    package typealias Reply = RequestState

    package var organisation: OrganisationID
    package var request: RequestID

    package init(organisation: OrganisationID, request: RequestID) {
        (self.organisation, self.request) = (organisation, request)
    }
}

/// Said by consent on `consent.requests` at every transition. Names nobody to the third party: the person is the header's subject.
package struct RequestState: Hashable, Codable, Sendable {
    package static let type = "request-state.v1"

    package var request: RequestID
    package var organisation: OrganisationID
    package var status: RequestStatus
    /// Those still granted; where no grant is in force, those asked for.
    package var types: [Metric]
    /// The period that was asked for, `to` not included.
    package var from: Timestamp
    package var to: Timestamp
    package var granularity: GrantGranularity
    /// nil where the request was never approved.
    package var grant: GrantID?
    /// When `status` came to hold.
    package var changedAt: Timestamp
    /// As the answer to `open-request` told it.
    package var answerBy: Timestamp
    /// The signed consent receipt of this transition, a compact JWS (ISO/IEC TS 27560 fields).
    package var receipt: String?

    package init(
        request: RequestID, organisation: OrganisationID, status: RequestStatus, types: [Metric], from: Timestamp, to: Timestamp,
        granularity: GrantGranularity, grant: GrantID?, changedAt: Timestamp, answerBy: Timestamp, receipt: String?
    ) {
        (self.request, self.organisation, self.status, self.types) = (request, organisation, status, types)
        (self.from, self.to, self.granularity, self.grant) = (from, to, granularity, grant)
        (self.changedAt, self.answerBy, self.receipt) = (changedAt, answerBy, receipt)
    }
}
