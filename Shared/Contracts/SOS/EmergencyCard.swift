// What an emergency service may be told of a subscriber besides measurements, and who is a subscriber.

/// Said by the SOS dispatcher on `sos.subscriptions` (state): who is subscribed to AutomatedSOS, so that consent tells what an
/// emergency service may need of exactly these people, and of nobody else.
package struct SubscriptionState: Hashable, Codable, Sendable {
    package static let type = "subscription-changed.v1"

    package var person: PersonID
    package var subscribed: Bool

    package init(person: PersonID, subscribed: Bool) {
        (self.person, self.subscribed) = (person, subscribed)
    }
}

/// Said by consent on `consent.emergency-cards` (state), for people subscribed to AutomatedSOS only. Personal, and sealed at rest
/// by both ends; `card` is nil once the subscription is over.
package struct EmergencyCardState: Hashable, Codable, Sendable {
    package static let type = "emergency-card-changed.v1"

    package var person: PersonID
    package var card: EmergencyCard?

    package init(person: PersonID, card: EmergencyCard?) {
        (self.person, self.card) = (person, card)
    }
}

/// The cards of these people, for a dispatcher that learns of a subscription only after it has heard the card on the stream. Personal.
package struct ReadEmergencyCards: BusRequest {
    package static let method = "read-emergency-cards"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.sosDispatcher, .sosDeputy]
    package static let mutates = false
    /// Their cards are far below 1 MiB.
    package static let mostPeople = 100

    /// At most 100.
    package var people: [PersonID]

    package init(people: [PersonID]) {
        self.people = people
    }

    package struct Reply: Codable, Sendable {
        /// Of whom consent knows as subscribed, as the stream says them; who has no account, or cannot be read, is absent.
        package var cards: [EmergencyCardState]

        package init(cards: [EmergencyCardState]) {
            self.cards = cards
        }
    }
}

/// The part of a profile that a call for help carries (SOS-16, SOS-20).
package struct EmergencyCard: Hashable, Codable, Sendable {
    /// Name and surname.
    package var name: String
    /// E.164, as it is rung back.
    package var telephone: String?
    /// `it` or `en`: what the person speaks.
    package var language: String
    package var birthYear: Int?
    /// `female` or `male`, by the profile, else by the fiscal code; nil where neither says.
    package var sex: String?
    /// Where the person lives, in one line; told only where no position was ever known, and marked as such.
    package var address: String?
    /// Illnesses, allergies, medicines: only as far as the person consented to their being told; nil otherwise.
    package var medicalNotes: String?

    package init(
        name: String, telephone: String?, language: String, birthYear: Int?, sex: String?, address: String?, medicalNotes: String?
    ) {
        (self.name, self.telephone, self.language, self.birthYear) = (name, telephone, language, birthYear)
        (self.sex, self.address, self.medicalNotes) = (sex, address, medicalNotes)
    }
}
