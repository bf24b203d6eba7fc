// SQL sentences about organisations. What they say of themselves is here only sealed; what must be unique is found by keyed look-ups.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

struct OrganisationRow: Sendable {
    let id: OrganisationID
    let state: OrganisationState
    var details: OrganisationDetails
    /// Whose log-in is the corporate address; nil while the log-in is being made.
    let founder: MemberID?
    let createdAt: Timestamp
    let changedAt: Timestamp
    /// Nil where the operator has not decided.
    let tier: OrganisationTier?
}

/// A value that one organisation alone may have (ORG-06).
enum OrganisationConflict: Error, Hashable, Sendable {
    case email
    case businessName
    case vatNumber
}

/// `organisations`. A closed one keeps its row, without look-ups: what is due stays due, and its values are free for others.
struct OrganisationStore: Sendable {
    /// `runtime.key("organisations")`.
    let key: SymmetricKey
    let names: LookupKey
    let vatNumbers: LookupKey
    let addresses: LookupKey

    /// Of a look-up, and of the random one that stands for an address while it is nobody's.
    private static let lookupBytes = 32

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE organisations (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    organisation BLOB NOT NULL UNIQUE,
                    state TEXT NOT NULL
                        CHECK (state IN ('registering', 'unconfirmed', 'awaiting-approval', 'active', 'suspended', 'closed')),
                    name_lookup BLOB UNIQUE,
                    vat_lookup BLOB UNIQUE,
                    address_lookup BLOB UNIQUE,
                    details BLOB NOT NULL,
                    founder BLOB UNIQUE,
                    created_at INTEGER NOT NULL,
                    changed_at INTEGER NOT NULL,
                    CHECK ((state = 'closed') = (name_lookup IS NULL)),
                    CHECK ((name_lookup IS NULL) = (vat_lookup IS NULL) AND (name_lookup IS NULL) = (address_lookup IS NULL)),
                    CHECK (founder IS NOT NULL OR state IN ('registering', 'closed'))
                ) STRICT;
                CREATE INDEX organisations_by_state ON organisations (state, number);
                """)
    }

    /// For a later migration: the address that a registration names, which it has only once somebody there has confirmed it. What waits
    /// already has claimed its own.
    static func addRequestedAddress(to db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE organisations ADD COLUMN wished_lookup BLOB;
                UPDATE organisations SET wished_lookup = address_lookup WHERE state = 'unconfirmed';
                CREATE INDEX organisations_by_wished_address ON organisations (wished_lookup) WHERE wished_lookup IS NOT NULL;
                """)
    }

    /// For a later migration: null where the operator has not decided.
    static func addTier(to db: Database) throws {
        try db.execute(
            sql: "ALTER TABLE organisations ADD COLUMN tier TEXT CHECK (tier IN ('good-standing', 'untrusted'))")
    }

    // MARK: Writing

    /// In the state `registering`. It claims name and VAT number, but not its address: whose that is stays untold, and whoever registers
    /// with another's has nothing of it.
    func add(_ db: Database, _ id: OrganisationID, _ details: OrganisationDetails, at: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO organisations
                (organisation, state, name_lookup, vat_lookup, address_lookup, wished_lookup, details, created_at, changed_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            id, OrganisationState.registering.rawValue, Data(nameLookup(details)), Data(vatLookup(details)),
            Data(Random.bytes(Self.lookupBytes)), Data(addressLookup(details.email)), Data(try seal(details, of: id)), at, at,
        ])
    }

    /// - Throws: `OrganisationConflict` for the first value that another organisation has, in the order name, VAT number.
    /// - Returns: another one that is only being registered and has one of the values; nil where there is none.
    func requireFree(_ db: Database, _ details: OrganisationDetails) throws -> OrganisationID? {
        let columns: [(String, [UInt8], OrganisationConflict)] = [
            ("name_lookup", nameLookup(details), .businessName), ("vat_lookup", vatLookup(details), .vatNumber),
        ]
        var unfinished: OrganisationID?
        for (column, lookup, conflict) in columns {
            guard let other = try owner(db, column, lookup) else { continue }
            guard other.state == .registering else { throw conflict }
            unfinished = other.id
        }
        return unfinished
    }

    /// Whether another organisation writes from this address.
    func isTaken(_ db: Database, _ email: EmailAddress, except own: OrganisationID) throws -> Bool {
        guard let other = try owner(db, "address_lookup", addressLookup(email)) else { return false }
        return other.id != own
    }

    func setState(_ db: Database, _ id: OrganisationID, _ state: OrganisationState, founder: MemberID? = nil, at: Timestamp) throws {
        try db.cachedStatement(
            sql: "UPDATE organisations SET state = ?, founder = coalesce(?, founder), changed_at = ? WHERE organisation = ?"
        ).execute(arguments: [state.rawValue, founder, at, id])
    }

    func setTier(_ db: Database, _ id: OrganisationID, _ tier: OrganisationTier, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE organisations SET tier = ?, changed_at = ? WHERE organisation = ?")
            .execute(arguments: [tier.rawValue, at, id])
    }

    func setDetails(_ db: Database, _ id: OrganisationID, _ details: OrganisationDetails, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE organisations SET details = ?, changed_at = ? WHERE organisation = ?")
            .execute(arguments: [Data(try seal(details, of: id)), at, id])
    }

    /// From now on the organisation writes from this address, which somebody there has confirmed, and no other can.
    /// - Throws: `OrganisationConflict.email`.
    func claim(_ db: Database, _ email: EmailAddress, for id: OrganisationID) throws {
        guard try !isTaken(db, email, except: id) else { throw OrganisationConflict.email }
        try db.cachedStatement(sql: "UPDATE organisations SET address_lookup = ?, wished_lookup = NULL WHERE organisation = ?")
            .execute(arguments: [Data(addressLookup(email)), id])
    }

    /// For good: what it was found by is free again; of what it said only what invoices need is left.
    func close(_ db: Database, _ row: OrganisationRow, at: Timestamp) throws {
        var details = row.details
        details.representative = nil
        (details.description, details.website, details.researchInterests) = ("", nil, nil)
        try db.cachedStatement(
            sql: """
                UPDATE organisations SET state = 'closed', name_lookup = NULL, vat_lookup = NULL, address_lookup = NULL,
                wished_lookup = NULL, details = ?, changed_at = ? WHERE organisation = ?
                """
        ).execute(arguments: [Data(try seal(details, of: row.id)), at, row.id])
    }

    /// Takes away one that was never finished.
    func deleteUnfinished(_ db: Database, _ id: OrganisationID) throws {
        try db.cachedStatement(sql: "DELETE FROM organisations WHERE organisation = ? AND state = 'registering'")
            .execute(arguments: [id])
    }

    /// Takes away one that nobody has confirmed, with its members and links.
    func deleteUnconfirmed(_ db: Database, _ id: OrganisationID) throws {
        try db.cachedStatement(sql: "DELETE FROM organisations WHERE organisation = ? AND state = 'unconfirmed'")
            .execute(arguments: [id])
    }

    // MARK: Finding

    private static let columns = "SELECT organisation, state, details, founder, created_at, changed_at, number, tier FROM organisations"

    func find(_ db: Database, _ id: OrganisationID) throws -> OrganisationRow? {
        try Row.fetchOne(db.cachedStatement(sql: "\(Self.columns) WHERE organisation = ?"), arguments: [id]).map(read)
    }

    /// Those that wait for this address to be confirmed and were registered after that time, the newest first: what a stranger registers
    /// with somebody's address does not keep that one's own registration from its mail.
    func unconfirmed(_ db: Database, from email: EmailAddress, after time: Timestamp, limit: Int) throws -> [OrganisationRow] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "\(Self.columns) WHERE wished_lookup = ? AND state = 'unconfirmed' AND created_at > ? ORDER BY number DESC LIMIT ?"),
            arguments: [Data(addressLookup(email)), time, limit]
        ).map(read)
    }

    /// Nil where there is none.
    func state(_ db: Database, _ id: OrganisationID) throws -> OrganisationState? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT state FROM organisations WHERE organisation = ?"), arguments: [id]
        ).flatMap(OrganisationState.init(rawValue:))
    }

    /// Nil where the operator has not decided, or there is none.
    func tier(_ db: Database, _ id: OrganisationID) throws -> OrganisationTier? {
        try String.fetchOne(
            db.cachedStatement(sql: "SELECT tier FROM organisations WHERE organisation = ?"), arguments: [id]
        ).flatMap(OrganisationTier.init(rawValue:))
    }

    /// In the order of registration, with what to go on after.
    func page(
        _ db: Database, in state: OrganisationState?, after: Int64, limit: Int
    ) throws -> [(number: Int64, row: OrganisationRow)] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: "\(Self.columns) WHERE number > ?1 AND state <> 'registering' AND (?2 IS NULL OR state = ?2) ORDER BY number LIMIT ?3"),
            arguments: [after, state?.rawValue, limit]
        ).map { ($0[6], try read($0)) }
    }

    /// Registrations that were begun by then and never finished.
    func unfinished(_ db: Database, since: Timestamp) throws -> [OrganisationID] {
        try Data.fetchAll(
            db.cachedStatement(sql: "SELECT organisation FROM organisations WHERE state = 'registering' AND created_at <= ?"),
            arguments: [since]
        ).compactMap { OrganisationID(bytes: $0) }
    }

    /// Registered by then, never confirmed, and without a mailed link that could still confirm them; the oldest first.
    func unconfirmed(_ db: Database, since: Timestamp, at now: Timestamp, limit: Int) throws -> [OrganisationID] {
        try Data.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT organisation FROM organisations AS o WHERE state = 'unconfirmed' AND created_at <= ?
                    AND NOT EXISTS (SELECT 1 FROM organisation_links AS l WHERE l.organisation = o.organisation AND l.until > ?)
                    ORDER BY number LIMIT ?
                    """), arguments: [since, now, limit]
        ).compactMap { OrganisationID(bytes: $0) }
    }

    private func owner(_ db: Database, _ column: String, _ lookup: [UInt8]) throws -> (id: OrganisationID, state: OrganisationState)? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT organisation, state FROM organisations WHERE \(column) = ?"), arguments: [Data(lookup)])
        guard let row, let id: OrganisationID = row.value(0), let state = OrganisationState(rawValue: row[1]) else { return nil }
        return (id, state)
    }

    // MARK: Sealing

    private func read(_ row: Row) throws -> OrganisationRow {
        guard let id: OrganisationID = row.value(0), let state = OrganisationState(rawValue: row[1]) else { throw UnreadableOrganisation() }
        let plain = try Seal.open(row[2] as Data, key: key, context: Self.context(id))
        return OrganisationRow(
            id: id, state: state, details: try JSONDecoder().decode(OrganisationDetails.self, from: Data(plain)),
            founder: row.value(3), createdAt: row[4], changedAt: row[5],
            tier: (row[7] as String?).flatMap(OrganisationTier.init(rawValue:)))
    }

    private func seal(_ details: OrganisationDetails, of id: OrganisationID) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(details), key: key, context: Self.context(id))
    }

    private static func context(_ id: OrganisationID) -> [UInt8] {
        Array("organisations.details \(id)".utf8)
    }

    private func nameLookup(_ details: OrganisationDetails) -> [UInt8] { names.lookup(BusinessName.folded(details.businessName)) }
    private func vatLookup(_ details: OrganisationDetails) -> [UInt8] { vatNumbers.lookup(details.vatNumber) }
    func addressLookup(_ email: EmailAddress) -> [UInt8] { addresses.lookup(email.folded) }
}

/// A row that this program cannot have written.
struct UnreadableOrganisation: Error {}
