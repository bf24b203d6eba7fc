// How an alarm of contacts begins; one without an emergency is stored with what it follows from, since nothing tells of it twice.

import Contracts

extension ContactCase {
    /// Whom the person wants told, how the person is called, and where they were last.
    struct Facts: Sendable {
        var contacts: [EmergencyContact] = []
        var name = ""
        var place: LatestPlaces.Place?

        init() {}

        init(_ subscriber: Subscriber) {
            (contacts, name, place) = (subscriber.contacts ?? [], subscriber.card?.name ?? "", subscriber.places.places.first)
        }
    }

    /// nil where there is nobody to be told.
    init?(_ kind: Kind, _ tiding: SupervisionEvent, named id: OccasionID, _ facts: Facts, at time: Timestamp, alertedAt: Timestamp) {
        guard !facts.contacts.isEmpty else { return nil }
        self.init(
            id: id, person: tiding.person, kind: kind, emergency: tiding.emergency, name: facts.name,
            contacts: facts.contacts.map { Contact(who: $0) }, place: facts.place, happenedAt: time, beganAt: tiding.at,
            alertedAt: alertedAt)
    }

    /// The case that a tiding begins by itself; nil for all others. What an emergency begins is begun again by `goesOn`.
    init?(begunBy tiding: SupervisionEvent, of subscriber: Subscriber, _ capabilities: Capabilities, alertedAt: Timestamp) {
        let kind: Kind
        switch tiding.kind {
        case .silenceContacts: kind = .silence
        case .shakingAlarm: kind = .shaking
        case .doubted, .lateCritical, .helpTooLate: kind = .concern
        case .fallUnanswered: kind = .fall
        default: return nil
        }
        self.init(
            kind, tiding, named: tiding.emergency.map(ContactAlarms.occasion) ?? capabilities.occasion(tiding.name), Facts(subscriber),
            at: tiding.since ?? tiding.episode?.trigger.at ?? tiding.at, alertedAt: alertedAt)
    }
}
