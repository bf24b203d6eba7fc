// What is said and asked about the people who have an account, and about those who log in for somebody else.

/// Said by consent on `consent.people` when an account becomes active, changes or ends; the snapshot holds all that exist.
/// Nothing of a person may be acquired before a fact with `active` has been heard (ACC-05, ING-10).
package struct PersonState: Hashable, Codable, Sendable {
    package static let type = "person-state.v1"

    package var person: PersonID
    /// Whether data may be acquired: the conditions are accepted and, for a child, the guardian has consented (ACC-36).
    package var active: Bool
    /// The version of the conditions that was accepted; empty before.
    package var termsVersion: String
    /// In which the person is addressed (UI-04).
    package var language: Language
    /// Devices that were paired before deliver entries, and read nothing any more: the person has taken the account back, and does not
    /// know whose they are. Absent where that never happened.
    package var readersSince: Timestamp?
    /// Types that are shared anonymously, in the order of the registry, so that sums of them alone are told to the anonymiser; absent for
    /// none. It says nothing of who the person is.
    package var sharesAnonymously: [CohortOptIn]?

    package init(
        person: PersonID, active: Bool, termsVersion: String, language: Language, readersSince: Timestamp? = nil,
        sharesAnonymously: [CohortOptIn]? = nil
    ) {
        (self.person, self.active, self.termsVersion, self.language) = (person, active, termsVersion, language)
        (self.readersSince, self.sharesAnonymously) = (readersSince, sharesAnonymously)
    }
}

/// Makes a log-in for an operator and mails a temporary password. A second call for the same address mails a new one.
package struct MakeOperator: BusRequest {
    package static let method = "make-operator"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    /// Personal.
    package var email: String
    /// Of the mail.
    package var language: Language

    package init(email: String, language: Language) {
        (self.email, self.language) = (email, language)
    }

    package struct Reply: Codable, Sendable {
        /// The same for the same address.
        package var `operator`: OperatorID
        /// Secret. As it is mailed, for where no mail can be sent yet: valid for the first log-in and shown this once.
        package var temporaryPassword: String

        package init(operator: OperatorID, temporaryPassword: String) {
            (self.operator, self.temporaryPassword) = (`operator`, temporaryPassword)
        }
    }
}

/// Ends sessions at once, in every service: of whoever has an address, or of everybody (after a theft of keys, say).
/// `not-found`: nobody has that address.
package struct EndSessions: BusRequest {
    package static let method = "end-sessions"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    /// Personal. Nil: everybody's.
    package var email: String?

    package init(email: String?) {
        self.email = email
    }

    package struct Reply: Codable, Sendable {
        /// How many ended.
        package var sessions: Int

        package init(sessions: Int) {
            self.sessions = sessions
        }
    }
}

/// Makes a log-in for somebody who works for an organisation and mails the invitation. Roles are the gateway's own.
package struct InviteMember: BusRequest {
    package static let method = "invite-member"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true

    package var organisation: OrganisationID
    /// As the invitation shows it; at most 200 characters.
    package var organisationName: String
    /// Personal. Unique over all kinds of account (ACC-04): `conflict` where it is in use.
    package var email: String
    /// Of the invitation.
    package var language: Language

    package init(organisation: OrganisationID, organisationName: String, email: String, language: Language) {
        (self.organisation, self.organisationName, self.email, self.language) = (organisation, organisationName, email, language)
    }

    package struct Reply: Codable, Sendable {
        /// The same for an invitation that is sent again.
        package var member: MemberID

        package init(member: MemberID) {
            self.member = member
        }
    }
}

/// Ends a member's log-in and sessions, and frees the address.
package struct RemoveMember: BusRequest {
    package static let method = "remove-member"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.thirdPartyGateway]
    package static let mutates = true
    package typealias Reply = Nothing

    /// One who is gone already is no failure.
    package var member: MemberID

    package init(member: MemberID) {
        self.member = member
    }
}
