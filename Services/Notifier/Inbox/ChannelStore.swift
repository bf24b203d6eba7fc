// SQL sentences over the tables `push_endpoints` and `channel_choices`.

import Contracts
import Foundation
import GRDB
import Storage

/// Where a person takes push messages.
enum PushEndpoint: Identified { static let prefix = "pep" }

typealias PushEndpointID = Identifier<PushEndpoint>

/// A push endpoint; its address is sealed.
struct StoredEndpoint: Sendable {
    var number: Int64
    var id: PushEndpointID
    var person: PersonID
    var sealed: [UInt8]
    var createdAt: Timestamp

    init?(_ row: Row) {
        guard let id: PushEndpointID = row.value("endpoint"), let person: PersonID = row.value("person") else { return nil }
        (self.id, self.person) = (id, person)
        number = row["number"]
        sealed = Array(row["sealed"] as Data)
        createdAt = row["created_at"]
    }
}

/// Every sentence runs in its caller's transaction.
struct ChannelStore: Sendable {
    func endpoints(_ db: Database, of person: PersonID) throws -> [StoredEndpoint] {
        try Row.fetchAll(db, sql: "SELECT * FROM push_endpoints WHERE person = ? ORDER BY number", arguments: [person])
            .compactMap(StoredEndpoint.init)
    }

    func endpoint(_ db: Database, number: Int64) throws -> StoredEndpoint? {
        try Row.fetchOne(db, sql: "SELECT * FROM push_endpoints WHERE number = ?", arguments: [number]).flatMap(StoredEndpoint.init)
    }

    /// The endpoint of that address, if the person has it already.
    func endpoint(_ db: Database, of person: PersonID, lookup: [UInt8]) throws -> StoredEndpoint? {
        try Row.fetchOne(
            db, sql: "SELECT * FROM push_endpoints WHERE person = ? AND lookup = ?", arguments: [person, Data(lookup)]
        ).flatMap(StoredEndpoint.init)
    }

    /// nil where the person has no such endpoint.
    func endpoint(_ db: Database, _ id: PushEndpointID, of person: PersonID) throws -> StoredEndpoint? {
        try Row.fetchOne(db, sql: "SELECT * FROM push_endpoints WHERE endpoint = ? AND person = ?", arguments: [id, person])
            .flatMap(StoredEndpoint.init)
    }

    func endpoints(_ db: Database, addedBy session: SessionID) throws -> [StoredEndpoint] {
        try Row.fetchAll(db, sql: "SELECT * FROM push_endpoints WHERE session = ? ORDER BY number", arguments: [session])
            .compactMap(StoredEndpoint.init)
    }

    /// Those whose session has lapsed, or was never known.
    func endpointsOfNoSession(_ db: Database, of person: PersonID) throws -> [StoredEndpoint] {
        try Row.fetchAll(
            db, sql: "SELECT * FROM push_endpoints WHERE person = ? AND (lapsed = 1 OR session IS NULL) ORDER BY number",
            arguments: [person]
        ).compactMap(StoredEndpoint.init)
    }

    func noteLapsed(_ db: Database, _ session: SessionID) throws {
        try db.execute(sql: "UPDATE push_endpoints SET lapsed = 1 WHERE session = ?", arguments: [session])
    }

    /// - Parameter session: that adds it; nil where nobody is logged in.
    func insert(
        _ db: Database, _ id: PushEndpointID, of person: PersonID, by session: SessionID?, lookup: [UInt8], sealed: [UInt8], at: Timestamp
    ) throws {
        try db.execute(
            sql: "INSERT INTO push_endpoints (endpoint, person, session, lookup, sealed, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            arguments: [id, person, session, Data(lookup), Data(sealed), at])
    }

    /// The app has logged in anew and named its address again.
    func setSession(_ db: Database, _ number: Int64, to session: SessionID) throws {
        try db.execute(sql: "UPDATE push_endpoints SET session = ?, lapsed = 0 WHERE number = ?", arguments: [session, number])
    }

    func delete(_ db: Database, number: Int64) throws {
        try db.execute(sql: "DELETE FROM push_endpoints WHERE number = ?", arguments: [number])
    }

    func choices(_ db: Database, of person: PersonID) throws -> [UInt8]? {
        try Data.fetchOne(db, sql: "SELECT sealed FROM channel_choices WHERE person = ?", arguments: [person]).map { Array($0) }
    }

    func saveChoices(_ db: Database, of person: PersonID, sealed: [UInt8]) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO channel_choices (person, sealed) VALUES (?, ?)", arguments: [person, Data(sealed)])
    }
}
