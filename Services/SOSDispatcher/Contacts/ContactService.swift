// What a subscriber can do with the contacts: see and change who is told in an emergency, and in which order.

import Contracts

struct ContactService: Sendable {
    let supervision: SupervisionService
    let changes: ProtectionChanges

    func contacts(of person: PersonID) async throws -> [EmergencyContact] {
        guard let subscriber = await supervision.subscriber(of: person), subscriber.supervision.subscribed else {
            throw Failure(.notFound, "this person is not subscribed")
        }
        return subscriber.contacts ?? []
    }

    /// The person is told of what is lost, each time; of anything else that is changed once an hour.
    /// - Throws: `ContactList.Fault`.
    func changeContacts(
        of person: PersonID, _ action: String, losing losses: [Weakening] = [],
        _ body: @escaping @Sendable ([EmergencyContact]) throws -> [EmergencyContact]
    ) async throws -> [EmergencyContact] {
        let further: SupervisionService.Further = { subscriber in
            guard losses.isEmpty else { return changes.telling(person, subscriber.language, losses) }
            let known = subscriber.contacts ?? []
            return try body(known) == known ? nil : changes.telling(person, subscriber.language, .contacts)
        }
        try await supervision.amend(person, action, further: further) { $0.contacts = try body($0.contacts ?? []) }
        return try await contacts(of: person)
    }
}
