// SQL sentences about what consent still has to be told.

import Contracts
import Foundation
import GRDB

/// What consent has to be told, decided already and in force here: kept until it has answered.
struct OrganisationDuty: Sendable {
    enum Task: Hashable, Sendable {
        case removeMember(MemberID)
        /// Its members' log-ins, its requests and grants end, and the people concerned are told.
        case closeOrganisation(OrganisationID)
    }

    let number: Int64
    let task: Task
}

/// `organisation_duties`.
struct DutyTable: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE organisation_duties (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    kind TEXT NOT NULL CHECK (kind IN ('remove-member', 'close-organisation')),
                    subject BLOB NOT NULL,
                    UNIQUE (kind, subject)
                ) STRICT;
                """)
    }

    /// The same again changes nothing.
    func add(_ db: Database, _ task: OrganisationDuty.Task) throws {
        let (kind, subject) =
            switch task {
            case .removeMember(let member): ("remove-member", member.bytes)
            case .closeOrganisation(let organisation): ("close-organisation", organisation.bytes)
            }
        try db.cachedStatement(sql: "INSERT OR IGNORE INTO organisation_duties (kind, subject) VALUES (?, ?)")
            .execute(arguments: [kind, Data(subject)])
    }

    /// The oldest first.
    func waiting(_ db: Database, after number: Int64 = 0, limit: Int) throws -> [OrganisationDuty] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT number, kind, subject FROM organisation_duties WHERE number > ? ORDER BY number LIMIT ?"),
            arguments: [number, limit]
        ).compactMap { row in
            let subject = row[2] as Data
            let task: OrganisationDuty.Task? =
                row[1] as String == "remove-member"
                ? MemberID(bytes: subject).map { .removeMember($0) } : OrganisationID(bytes: subject).map { .closeOrganisation($0) }
            return task.map { OrganisationDuty(number: row[0], task: $0) }
        }
    }

    func done(_ db: Database, _ duty: OrganisationDuty) throws {
        try db.cachedStatement(sql: "DELETE FROM organisation_duties WHERE number = ?").execute(arguments: [duty.number])
    }
}
