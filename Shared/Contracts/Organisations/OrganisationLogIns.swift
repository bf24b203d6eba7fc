// What the gateway asks of consent about an organisation as a whole: its first log-in, its address, its end.

/// Makes the first log-in of an organisation that is being registered, with the password that was typed, or, where passwords are mailed,
/// with a temporary one that the answer holds. It claims no address, and whose that is already changes nothing: nobody logs in by it before
/// `change-member-address` says that somebody there has confirmed it. Nothing is mailed: the gateway does that with its confirmation. Asking
/// again for the same organisation gives the same member, with the password of the last time. `invalid`: the password cannot be taken; the
/// reason says why.
package struct MakeFirstMember: BusRequest {
    package static let method = "make-first-member"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true

    package var organisation: OrganisationID
    /// Personal.
    package var email: String
    package var language: Language
    /// Secret. Nil where none was typed.
    package var password: String?

    package init(organisation: OrganisationID, email: String, language: Language, password: String?) {
        (self.organisation, self.email, self.language, self.password) = (organisation, email, language, password)
    }

    package struct Reply: Codable, Sendable {
        package var member: MemberID
        /// Secret: to be mailed and forgotten. Nil where the typed one was taken.
        package var temporaryPassword: String?

        package init(member: MemberID, temporaryPassword: String?) {
            (self.member, self.temporaryPassword) = (member, temporaryPassword)
        }
    }
}

/// The address for a member to log in by from now on: another one, or the one that was registered, which somebody there has confirmed.
/// `conflict`: it is in use (ACC-04, CON-06).
package struct ChangeMemberAddress: BusRequest {
    package static let method = "change-member-address"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true
    package typealias Reply = Nothing

    package var member: MemberID
    /// Personal.
    package var email: String

    package init(member: MemberID, email: String) {
        (self.member, self.email) = (member, email)
    }
}

/// An organisation is gone (ORG-16): its members' log-ins and sessions end, its pending requests are EXPIRED, its grants ENDED, and the
/// people concerned are told. Asking again is the same as once.
package struct CloseOrganisation: BusRequest {
    package static let method = "close-organisation"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true

    package var organisation: OrganisationID

    package init(organisation: OrganisationID) {
        self.organisation = organisation
    }

    /// What ended now, not before.
    package struct Reply: Codable, Sendable {
        package var members: Int
        package var requests: Int

        package init(members: Int, requests: Int) {
            (self.members, self.requests) = (members, requests)
        }
    }
}
