// SQL sentences about who works for which organisation.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

struct MemberRow: Sendable {
    let id: MemberID
    let organisation: OrganisationID
    let role: Role
    let contact: MemberContact
    let since: Timestamp
}

/// How a member is written to and told apart in lists. Personal.
struct MemberContact: Codable, Hashable, Sendable {
    var email: EmailAddress
    var language: Language
}

/// `organisation_members`. Log-ins, names and passwords are consent's; roles are here.
struct MemberStore: Sendable {
    /// `runtime.key("organisations")`.
    let key: SymmetricKey

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE organisation_members (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    member BLOB NOT NULL UNIQUE,
                    organisation BLOB NOT NULL REFERENCES organisations (organisation) ON DELETE CASCADE,
                    role TEXT NOT NULL CHECK (role IN ('owner', 'administrator', 'analyst', 'billing')),
                    contact BLOB NOT NULL,
                    since INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX organisation_members_by_organisation ON organisation_members (organisation, number);
                """)
    }

    /// Adding again changes the role.
    func add(_ db: Database, _ row: MemberRow) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO organisation_members (member, organisation, role, contact, since) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (member) DO UPDATE SET role = excluded.role, contact = excluded.contact
                """
        ).execute(arguments: [row.id, row.organisation, row.role.rawValue, Data(try seal(row.contact, of: row.id)), row.since])
    }

    func setRole(_ db: Database, _ member: MemberID, _ role: Role) throws {
        try db.cachedStatement(sql: "UPDATE organisation_members SET role = ? WHERE member = ?")
            .execute(arguments: [role.rawValue, member])
    }

    func setContact(_ db: Database, _ member: MemberID, _ contact: MemberContact) throws {
        try db.cachedStatement(sql: "UPDATE organisation_members SET contact = ? WHERE member = ?")
            .execute(arguments: [Data(try seal(contact, of: member)), member])
    }

    func delete(_ db: Database, _ member: MemberID) throws {
        try db.cachedStatement(sql: "DELETE FROM organisation_members WHERE member = ?").execute(arguments: [member])
    }

    func deleteAll(_ db: Database, of organisation: OrganisationID) throws {
        try db.cachedStatement(sql: "DELETE FROM organisation_members WHERE organisation = ?")
            .execute(arguments: [organisation])
    }

    // MARK: Finding

    /// Nil where there is none in this organisation: somebody else's member does not exist.
    func find(_ db: Database, _ member: MemberID, of organisation: OrganisationID) throws -> MemberRow? {
        try rows(db, "member = ? AND organisation = ?", [member, organisation]).first?.row
    }

    func page(
        _ db: Database, of organisation: OrganisationID, after: Int64, limit: Int
    ) throws -> [(number: Int64, row: MemberRow)] {
        try rows(db, "organisation = ? AND number > ? ORDER BY number LIMIT ?", [organisation, after, limit])
    }

    func count(_ db: Database, of organisation: OrganisationID) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM organisation_members WHERE organisation = ?"),
            arguments: [organisation]) ?? 0
    }

    func roles(_ db: Database, of organisation: OrganisationID) throws -> [MemberID: Role] {
        let rows = try Row.fetchAll(
            db.cachedStatement(sql: "SELECT member, role FROM organisation_members WHERE organisation = ?"),
            arguments: [organisation])
        return rows.reduce(into: [:]) { roles, row in
            if let member: MemberID = row.value(0), let role = Role(rawValue: row[1]) { roles[member] = role }
        }
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [(number: Int64, row: MemberRow)] {
        let columns = "SELECT number, member, organisation, role, contact, since FROM organisation_members"
        return try Row.fetchAll(db.cachedStatement(sql: "\(columns) WHERE \(condition)"), arguments: arguments).map { row in
            guard let member: MemberID = row.value(1), let organisation: OrganisationID = row.value(2),
                let role = Role(rawValue: row[3])
            else { throw UnreadableOrganisation() }
            let plain = try Seal.open(row[4] as Data, key: key, context: Self.context(member))
            return (
                row[0],
                MemberRow(
                    id: member, organisation: organisation, role: role,
                    contact: try JSONDecoder().decode(MemberContact.self, from: Data(plain)), since: row[5])
            )
        }
    }

    private func seal(_ contact: MemberContact, of member: MemberID) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(contact), key: key, context: Self.context(member))
    }

    private static func context(_ member: MemberID) -> [UInt8] {
        Array("organisation_members.contact \(member)".utf8)
    }
}
