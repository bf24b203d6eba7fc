// What an operator asks the gateway about organisations. Nothing here is anybody's health.

/// How far an organisation's account is.
package enum OrganisationState: String, Codable, CaseIterable, Hashable, Sendable {
    /// The form is right, the log-in is being made; nobody has been told yet.
    case registering
    /// The mailed link has not been followed (ORG-08).
    case unconfirmed
    /// An operator looks at it first (`org.approval_required`).
    case awaitingApproval = "awaiting-approval"
    case active
    /// By an operator: everybody is refused, nothing is delivered.
    case suspended
    /// For good (ORG-16). What is unpaid stays due.
    case closed
}

/// What an organisation may receive of groups.
package enum OrganisationTier: String, Codable, CaseIterable, Hashable, Sendable {
    /// Records and statistics.
    case goodStanding = "good-standing"
    /// Statistics alone; records only where `org.untrusted_records` says so, and under the stricter guard.
    case untrusted
}

/// The organisations in the order of their registration.
package struct ListOrganisations: BusRequest {
    package static let method = "list-organisations"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false
    /// Items of a page.
    package static let page = 500

    /// Only those; all without it.
    package var state: OrganisationState?
    /// The `next` of the page before.
    package var after: Int64?

    package init(state: OrganisationState? = nil, after: Int64? = nil) {
        (self.state, self.after) = (state, after)
    }

    package struct Item: Codable, Hashable, Sendable {
        package var organisation: OrganisationID
        package var name: String
        package var state: OrganisationState
        package var registeredAt: Timestamp
        /// The operator's, or the usual one; absent from a gateway that knows none.
        package var tier: OrganisationTier?

        package init(
            organisation: OrganisationID, name: String, state: OrganisationState, registeredAt: Timestamp, tier: OrganisationTier? = nil
        ) {
            (self.organisation, self.name, self.state, self.registeredAt) = (organisation, name, state, registeredAt)
            self.tier = tier
        }
    }

    package struct Reply: Codable, Sendable {
        /// At most 500.
        package var items: [Item]
        /// What to send as `after` for the following page; absent at the end.
        package var next: Int64?

        package init(items: [Item], next: Int64?) {
            (self.items, self.next) = (items, next)
        }
    }
}

/// What an organisation says of itself, for whoever has to approve it. `not-found` where there is none.
package struct ShowOrganisation: BusRequest {
    package static let method = "show-organisation"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false

    package var organisation: OrganisationID

    package init(organisation: OrganisationID) {
        self.organisation = organisation
    }

    /// Personal in part.
    package struct Reply: Codable, Sendable {
        package var item: ListOrganisations.Item
        /// In capitals, with the two letters of its country as VIES writes them, without spaces.
        package var vatNumber: String
        /// In one line.
        package var legalAddress: String
        /// Where its messages go.
        package var email: String
        package var sector: String
        package var description: String
        package var website: String?
        /// Name and surname; nil once it is closed.
        package var representative: String?
        /// Of the representative, E.164; absent once it is closed.
        package var phone: String?
        package var members: Int

        package init(
            item: ListOrganisations.Item, vatNumber: String, legalAddress: String, email: String, sector: String, description: String,
            website: String?, representative: String?, phone: String?, members: Int
        ) {
            (self.item, self.vatNumber, self.legalAddress, self.email) = (item, vatNumber, legalAddress, email)
            (self.sector, self.description, self.website) = (sector, description, website)
            (self.representative, self.phone, self.members) = (representative, phone, members)
        }
    }
}

/// Lets third parties in again that are held since the gateway's store was restored from a copy, once what was taken away after the copy is
/// taken away anew. Ids that the copy does not have are passed over, and where nothing is held the same is deleted.
package struct ReopenThirdParties: BusRequest {
    package static let method = "reopen-third-parties"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    /// That were deleted since, or whose secret was replaced because somebody else had it.
    package var apiClients: [ClientID]
    /// Likewise.
    package var endpoints: [WebhookEndpointID]

    package init(apiClients: [ClientID] = [], endpoints: [WebhookEndpointID] = []) {
        (self.apiClients, self.endpoints) = (apiClients, endpoints)
    }

    package struct Reply: Codable, Sendable {
        package var wasHeld: Bool
        /// How many of those that were named.
        package var deleted: Int

        package init(wasHeld: Bool, deleted: Int) {
            (self.wasHeld, self.deleted) = (wasHeld, deleted)
        }
    }
}

/// What an operator decides; the organisation is told by mail. The same again changes nothing; `conflict` in a state in which it cannot be.
package struct JudgeOrganisation: BusRequest {
    package static let method = "judge-organisation"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    package enum Judgement: String, Codable, CaseIterable, Sendable {
        case approve, suspend, resume
        /// In place of the mailed link, where the operator knows who it is; no approval is waited for then.
        case confirm
    }

    package var organisation: OrganisationID
    package var judgement: Judgement

    package init(organisation: OrganisationID, judgement: Judgement) {
        (self.organisation, self.judgement) = (organisation, judgement)
    }

    package struct Reply: Codable, Sendable {
        package var state: OrganisationState

        package init(state: OrganisationState) {
            self.state = state
        }
    }
}

/// What an organisation may receive of groups from the next question on. The same again changes nothing; `not-found` where there is none.
package struct SetOrganisationTier: BusRequest {
    package static let method = "set-organisation-tier"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = Nothing

    package var organisation: OrganisationID
    package var tier: OrganisationTier

    package init(organisation: OrganisationID, tier: OrganisationTier) {
        (self.organisation, self.tier) = (organisation, tier)
    }
}
