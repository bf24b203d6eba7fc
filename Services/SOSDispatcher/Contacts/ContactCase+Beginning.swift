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
    init?(_ kind: Kind, _ event: SupervisionEvent, named id: OccasionID, _ facts: Facts, at time: Timestamp, alertedAt: Timestamp) {
        guard !facts.contacts.isEmpty else { return nil }
        self.init(
            id: id, person: event.person, kind: kind, emergency: event.emergency, name: facts.name,
            contacts: facts.contacts.map { Contact(who: $0) }, place: facts.place, happenedAt: time, beganAt: event.at,
            alertedAt: alertedAt)
    }

    /// The case that an event begins by itself; nil for all others. What an emergency begins is begun again by `goesOn`.
    init?(begunBy event: SupervisionEvent, of subscriber: Subscriber, _ capabilities: Capabilities, alertedAt: Timestamp) {
        let kind: Kind
        switch event.kind {
        case .silenceContacts: kind = .silence
        case .shakingAlarm: kind = .shaking
        case .doubted, .lateCritical, .helpTooLate: kind = .concern
        case .fallUnanswered: kind = .fall
        default: return nil
        }
        self.init(
            kind, event, named: event.emergency.map(ContactAlarms.occasion) ?? capabilities.occasion(event.name), Facts(subscriber),
            at: event.since ?? event.episode?.trigger.at ?? event.at, alertedAt: alertedAt)
    }
}
