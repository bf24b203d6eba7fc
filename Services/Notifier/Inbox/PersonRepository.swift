// What the notifier keeps for a person to see and choose: inbox, push endpoints, channels.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// A message in the inbox, opened.
struct InboxItem: Hashable, Sendable {
    var number: Int64
    var message: MessageID
    var at: Timestamp
    var readAt: Timestamp?
    var content: MessageContent
}

/// A push endpoint, opened.
struct Endpoint: Hashable, Sendable {
    var id: PushEndpointID
    var address: String
    var createdAt: Timestamp
}

struct PersonRepository: Sendable {
    let store: Store
    let envelopes: Envelopes
    private let inbox = InboxStore()
    private let channels = ChannelStore()

    init(_ store: Store, envelopes: Envelopes) {
        (self.store, self.envelopes) = (store, envelopes)
    }

    // MARK: Inbox

    /// Newest first. Empty for a person whose key is destroyed.
    func inboxPage(of person: PersonID, before number: Int64, limit: Int) async throws -> [InboxItem] {
        let rows = try await store.read { try inbox.page($0, of: person, before: number, limit: limit) }
        return try opened(rows, of: person)
    }

    /// Oldest first.
    func inboxItems(of person: PersonID, after number: Int64, limit: Int) async throws -> [InboxItem] {
        let rows = try await store.read { try inbox.following($0, of: person, after: number, limit: limit) }
        return try opened(rows, of: person)
    }

    private func opened(_ rows: [StoredInboxItem], of person: PersonID) throws -> [InboxItem] {
        guard !rows.isEmpty, let key = try envelopes.key(of: person) else { return [] }
        return try rows.map { row in
            InboxItem(
                number: row.number, message: row.message, at: row.at, readAt: row.readAt,
                content: try envelopes.open(row.sealed, in: .inbox(row.message), key: key))
        }
    }

    func inboxHead(of person: PersonID) async throws -> (newest: Int64, unread: Int) {
        try await store.read { db in (try inbox.newest(db, of: person), try inbox.unread(db, of: person)) }
    }

    /// False where the person has no such message.
    func markRead(_ message: MessageID, of person: PersonID, at: Timestamp) async throws -> Bool {
        try await store.write { try inbox.markRead($0, message, of: person, at: at) }
    }

    func markAllRead(of person: PersonID, at: Timestamp) async throws {
        try await store.write { try inbox.markAllRead($0, of: person, at: at) }
    }

    /// Of the latest message, as nobody tells the notifier otherwise; English where there is none.
    func language(of person: PersonID) async throws -> Language {
        try await inboxPage(of: person, before: .max, limit: 1).first?.content.language ?? .english
    }

    /// As the other, in the caller's transaction; English also where it cannot be opened.
    func language(_ db: Database, of person: PersonID, key: SymmetricKey) throws -> Language {
        guard let latest = try inbox.page(db, of: person, before: .max, limit: 1).first else { return .english }
        let content = try? envelopes.open(latest.sealed, as: MessageContent.self, in: .inbox(latest.message), key: key)
        return content?.language ?? .english
    }

    // MARK: Push endpoints

    func endpoints(of person: PersonID) async throws -> [Endpoint] {
        let rows = try await store.read { try channels.endpoints($0, of: person) }
        guard !rows.isEmpty, let key = try envelopes.key(of: person) else { return [] }
        return try rows.map { row in
            Endpoint(id: row.id, address: try envelopes.open(row.sealed, in: .endpoint(row.id), key: key), createdAt: row.createdAt)
        }
    }

    /// The address behind a number; nil where it was removed or its person erased.
    func endpointAddress(number: Int64) async throws -> String? {
        guard let row = try await store.read({ try channels.endpoint($0, number: number) }), let key = try envelopes.key(of: row.person)
        else { return nil }
        return try envelopes.open(row.sealed, in: .endpoint(row.id), key: key)
    }

    /// The endpoint and whether it is new; nil where the person has as many as they may.
    /// - Parameters:
    ///   - session: which the endpoint ends with.
    ///   - admitting: run first; what it throws refuses everything.
    ///   - telling: run before a new endpoint is stored, so that what it sends does not go to that one.
    func register(
        _ address: String, of person: PersonID, by session: SessionID? = nil, most: Int, at: Timestamp,
        admitting: @escaping MessageRepository.Write = { _ in }, telling: @escaping MessageRepository.Write = { _ in }
    ) async throws -> (endpoint: Endpoint, isNew: Bool)? {
        let key = try await envelopes.makeKey(for: person)
        let id = PushEndpointID.random()
        let sealed = try envelopes.seal(address, in: .endpoint(id), key: key)
        let lookup = envelopes.lookup(address)
        return try await store.write { db in
            try admitting(db)
            if let known = try channels.endpoint(db, of: person, lookup: lookup) {
                if let session { try channels.setSession(db, known.number, to: session) }
                return (Endpoint(id: known.id, address: address, createdAt: known.createdAt), false)
            }
            guard try channels.endpoints(db, of: person).count < most else { return nil }
            try telling(db)
            try channels.insert(db, id, of: person, by: session, lookup: lookup, sealed: sealed, at: at)
            return (Endpoint(id: id, address: address, createdAt: at), true)
        }
    }

    /// Its server has answered that it is gone.
    func dropEndpoint(number: Int64) async throws {
        try await store.write { try channels.delete($0, number: number) }
    }

    // MARK: Channels

    /// The channels that the person has switched off.
    func switchedOff(of person: PersonID) async throws -> Set<Channel> {
        guard let sealed = try await store.read({ try channels.choices($0, of: person) }), let key = try envelopes.key(of: person) else {
            return []
        }
        return try envelopes.open(sealed, in: .choices(person), key: key)
    }

    func switchOff(_ off: Set<Channel>, of person: PersonID) async throws {
        let key = try await envelopes.makeKey(for: person)
        let sealed = try envelopes.seal(off.sorted { $0.rawValue < $1.rawValue }, in: .choices(person), key: key)
        try await store.write { try channels.saveChoices($0, of: person, sealed: sealed) }
    }
}
