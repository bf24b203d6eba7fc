// SQL sentences about the links that are mailed to organisations: each opens one thing, once, for a time.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// What a link is good for; a link for one purpose is nothing for another.
enum OrganisationLinkPurpose: String, CaseIterable, Sendable {
    /// Completes the registration (ORG-08).
    case confirm
    /// Makes another address the corporate one (ORG-13).
    case changeAddress = "change-address"
}

struct OrganisationLink: Hashable, Sendable {
    let organisation: OrganisationID
    /// As it was given; empty where there was none.
    let payload: [UInt8]
}

/// `organisation_links`. A token is 256 random bits that only the mail shows: the store keeps its digest, and the payload is sealed
/// under a key derived from it.
struct OrganisationLinkStore: Sendable {
    /// Base64url of 32 bytes.
    static let tokenCharacters = 43

    /// Whether a link can have ended in it: what cannot be a token costs no look at the store.
    static func isToken(_ text: String) -> Bool {
        text.utf8.count == tokenCharacters
    }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE organisation_links (
                    digest BLOB PRIMARY KEY,
                    purpose TEXT NOT NULL,
                    organisation BLOB NOT NULL REFERENCES organisations (organisation) ON DELETE CASCADE,
                    payload BLOB NOT NULL,
                    made_at INTEGER NOT NULL,
                    until INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX organisation_links_by_organisation ON organisation_links (organisation, purpose);
                """)
    }

    /// Makes a link's token, to be mailed and forgotten; those for the same purpose before it end.
    func make(
        _ db: Database, _ purpose: OrganisationLinkPurpose, of organisation: OrganisationID, payload: [UInt8] = [], at: Timestamp,
        lasting: Duration
    ) throws -> String {
        try forget(db, purpose, of: organisation)
        let token = Base64URL.encode(Random.bytes(32))
        let sealed = try Seal.seal(payload, key: Self.payloadKey(token), context: Self.context(purpose, organisation))
        try db.cachedStatement(
            sql: "INSERT INTO organisation_links (digest, purpose, organisation, payload, made_at, until) VALUES (?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [Data(Self.digest(token)), purpose.rawValue, organisation, Data(sealed), at, at + lasting])
        return token
    }

    /// What the link opens, without using it up. Nil for a token that was never made, has been used, is too old or is for another
    /// purpose: these are not told apart.
    func find(_ db: Database, _ token: String, _ purpose: OrganisationLinkPurpose, at now: Timestamp) throws -> OrganisationLink? {
        guard Self.isToken(token) else { return nil }
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: "SELECT organisation, payload FROM organisation_links WHERE digest = ? AND purpose = ? AND until > ?"),
            arguments: [Data(Self.digest(token)), purpose.rawValue, now])
        guard let row, let organisation: OrganisationID = row.value(0) else { return nil }
        let payload = try Seal.open(row[1] as Data, key: Self.payloadKey(token), context: Self.context(purpose, organisation))
        return OrganisationLink(organisation: organisation, payload: payload)
    }

    /// When the newest link for this purpose was made; nil where none is left.
    func newest(_ db: Database, _ purpose: OrganisationLinkPurpose, of organisation: OrganisationID) throws -> Timestamp? {
        try Timestamp.fetchOne(
            db.cachedStatement(sql: "SELECT max(made_at) FROM organisation_links WHERE organisation = ? AND purpose = ?"),
            arguments: [organisation, purpose.rawValue])
    }

    func forget(_ db: Database, _ purpose: OrganisationLinkPurpose, of organisation: OrganisationID) throws {
        try db.cachedStatement(sql: "DELETE FROM organisation_links WHERE organisation = ? AND purpose = ?")
            .execute(arguments: [organisation, purpose.rawValue])
    }

    private static func digest(_ token: String) -> [UInt8] {
        Digest.sha256(Array("organisation-link|\(token)".utf8))
    }

    private static func payloadKey(_ token: String) throws -> SymmetricKey {
        try SymmetricKey(bytes: Digest.sha256(Array("organisation-link-payload|\(token)".utf8)))
    }

    private static func context(_ purpose: OrganisationLinkPurpose, _ organisation: OrganisationID) -> [UInt8] {
        Array("organisation_links \(purpose.rawValue) \(organisation)".utf8)
    }
}
