// SQL sentences about the addresses that take what is new; addresses and secrets are sealed under the service's own key.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// An organisation's address for webhooks.
struct Endpoint: Sendable {
    /// A shared secret, and until when it still signs beside its successor.
    struct Secret: Codable, Hashable, Sendable {
        var text: String
        var until: Timestamp?
    }

    /// What is sealed.
    struct Details: Codable, Hashable, Sendable {
        var url: String
        var description: String
        /// The newest first.
        var secrets: [Secret]
    }

    let id: WebhookEndpointID
    let organisation: OrganisationID
    var state: EndpointState
    var details: Details
    var health: EndpointHealth
    let createdAt: Timestamp

    func secrets(at now: Timestamp) -> [String] {
        details.secrets.filter { $0.until.map { now < $0 } ?? true }.map(\.text)
    }
}

struct EndpointStore: Sendable {
    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key
    }

    func insert(_ db: Database, _ endpoint: Endpoint) throws {
        try db.execute(
            sql: "INSERT INTO endpoints (endpoint, organisation, state, sealed, health, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [
                endpoint.id, endpoint.organisation, endpoint.state.rawValue, try sealed(endpoint),
                try Self.text(endpoint.health), endpoint.createdAt,
            ])
    }

    /// Everything that can change.
    func save(_ db: Database, _ endpoint: Endpoint) throws {
        try db.cachedStatement(sql: "UPDATE endpoints SET state = ?, sealed = ?, health = ? WHERE endpoint = ?").execute(arguments: [
            endpoint.state.rawValue, try sealed(endpoint), try Self.text(endpoint.health), endpoint.id,
        ])
    }

    func find(_ db: Database, _ id: WebhookEndpointID) throws -> Endpoint? {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT endpoint, organisation, state, sealed, health, created_at FROM endpoints WHERE endpoint = ?"),
            arguments: [id]
        ).flatMap(endpoint)
    }

    /// Oldest first.
    func all(_ db: Database, of organisation: OrganisationID) throws -> [Endpoint] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT endpoint, organisation, state, sealed, health, created_at FROM endpoints WHERE organisation = ?
                ORDER BY created_at, endpoint
                """, arguments: [organisation]
        ).compactMap(endpoint)
    }

    /// Those that messages are sent to.
    func active(_ db: Database) throws -> [(id: WebhookEndpointID, organisation: OrganisationID)] {
        try Row.fetchAll(db, sql: "SELECT endpoint, organisation FROM endpoints WHERE state = 'active'").compactMap { row in
            guard let id: WebhookEndpointID = row.value(0), let organisation: OrganisationID = row.value(1) else { return nil }
            return (id, organisation)
        }
    }

    /// With everything that waits for it.
    func delete(_ db: Database, _ id: WebhookEndpointID) throws {
        try db.execute(sql: "DELETE FROM endpoints WHERE endpoint = ?", arguments: [id])
    }

    /// From here on it gets what comes next of every subscription that runs; what it has had before stays had.
    func join(_ db: Database, _ id: WebhookEndpointID, of organisation: OrganisationID) throws {
        try db.execute(
            sql: """
                INSERT INTO endpoint_feeds (endpoint, feed, queued) SELECT ?, number, head FROM feeds
                WHERE organisation = ? AND state = 'running' ON CONFLICT DO NOTHING
                """, arguments: [id, organisation])
    }

    private func endpoint(_ row: Row) throws -> Endpoint? {
        guard let id: WebhookEndpointID = row.value(0), let organisation: OrganisationID = row.value(1),
            let state = EndpointState(rawValue: row[2])
        else { return nil }
        let plain = try Seal.open(row[3] as Data, key: key, context: Self.context(id))
        return Endpoint(
            id: id, organisation: organisation, state: state, details: try JSONDecoder().decode(Endpoint.Details.self, from: Data(plain)),
            health: try JSONDecoder().decode(EndpointHealth.self, from: Data((row[4] as String).utf8)), createdAt: row[5])
    }

    private func sealed(_ endpoint: Endpoint) throws -> Data {
        Data(try Seal.seal(try JSONEncoder().encode(endpoint.details), key: key, context: Self.context(endpoint.id)))
    }

    private static func text(_ health: EndpointHealth) throws -> String {
        String(decoding: try JSONEncoder().encode(health), as: UTF8.self)
    }

    /// Binds a seal to its row.
    private static func context(_ id: WebhookEndpointID) -> [UInt8] {
        Array("endpoints|\(id)".utf8)
    }
}
