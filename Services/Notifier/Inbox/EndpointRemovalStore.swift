// Push endpoints that are removed, by their person or with the session that added them, and the message that says so.

import Contracts
import GRDB
import ServiceKit
import Storage

struct EndpointRemovalStore: Sendable {
    let people: PersonRepository
    let messages: MessageRepository
    /// What the person is told is on disk.
    let stored: @Sendable (SendMessage) -> Void
    private let channels = ChannelStore()

    init(people: PersonRepository, messages: MessageRepository, stored: @escaping @Sendable (SendMessage) -> Void) {
        (self.people, self.messages, self.stored) = (people, messages, stored)
    }

    /// False where the person has no such endpoint.
    func remove(_ id: PushEndpointID, of person: PersonID, at now: Timestamp) async throws -> Bool {
        try await people.store.write { db in
            guard let endpoint = try channels.endpoint(db, id, of: person) else { return false }
            try remove(db, endpoint, at: now)
            return true
        }
    }

    /// What consent says of accounts.
    func apply(_ db: Database, _ event: StreamEvent, at now: Timestamp) throws {
        if let ended = try event.fact(SessionEnded.self, type: SessionEnded.type) { try self.ended(db, ended, at: now) }
        if let revoked = try event.fact(LapsedSessionsRevoked.self, type: LapsedSessionsRevoked.type) {
            try lapsedRevoked(db, of: revoked.person, at: now)
        }
    }

    /// Somebody logged the app out, or whoever held its session was found out: it gets nothing more. A session that has merely lapsed takes
    /// nothing along, for its phone may be the one that wakes somebody; until there is another password.
    func ended(_ db: Database, _ session: SessionEnded, at now: Timestamp) throws {
        guard session.lapsed != true else { return try channels.noteLapsed(db, session.session) }
        for endpoint in try channels.endpoints(db, addedBy: session.session) { try remove(db, endpoint, at: now) }
    }

    /// The endpoints of a session that lives stay or go with it: also of one that began after the change, however late the notifier hears
    /// of that.
    func lapsedRevoked(_ db: Database, of person: PersonID, at now: Timestamp) throws {
        for endpoint in try channels.endpointsOfNoSession(db, of: person) { try remove(db, endpoint, at: now) }
    }

    private func remove(_ db: Database, _ endpoint: StoredEndpoint, at now: Timestamp) throws {
        try channels.delete(db, number: endpoint.number)
        guard let message = try notice(db, endpoint, at: now) else { return }
        // A row of the person's that cannot be opened must not hold up what consent says about everybody.
        do {
            try db.inSavepoint {
                try message.insert(db)
                return .commit
            }
        } catch let error as DatabaseError {
            throw error
        } catch {
            return
        }
        db.afterCommit { [stored] in stored(message.order) }
    }

    /// By the ways that are left; nil where the person was erased or the endpoint cannot be opened, which must not hold up its removal.
    private func notice(
        _ db: Database, _ endpoint: StoredEndpoint, at now: Timestamp
    ) throws -> (order: SendMessage, insert: MessageRepository.Write)? {
        let envelopes = people.envelopes
        guard let key = try? envelopes.key(of: endpoint.person),
            let address = try? envelopes.open(endpoint.sealed, as: String.self, in: .endpoint(endpoint.id), key: key)
        else { return nil }
        let order = SendMessage(
            message: .random(), recipient: Recipient(person: endpoint.person), channels: [.inbox, .push], template: .pushEndpointRemoved,
            language: try people.language(db, of: endpoint.person, key: key),
            values: ["time": now.rfc3339, "host": NewEndpoint(address: address).host])
        return (order, try messages.insertion(of: order, key: key, at: now, notAfter: now + MessageService.usualLife))
    }
}
