// SQL sentences about what consent publishes of people: whose data may be acquired (ING-10).

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

struct KnownAccountStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE known_accounts (
                    person BLOB PRIMARY KEY,
                    active INTEGER NOT NULL,
                    terms_version TEXT NOT NULL,
                    language TEXT NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    static func addReaders(in db: Database) throws {
        try db.execute(sql: "ALTER TABLE known_accounts ADD COLUMN readers_since INTEGER")
    }

    /// One fact of `consent.people`.
    func apply(_ db: Database, _ event: StreamEvent, _ keys: PersonKeys) throws {
        guard let state = try event.fact(PersonState.self, type: PersonState.type) else { return }
        // It may come later than the order to erase the person.
        if try !keys.isDestroyed(state.person) { try put(db, state) }
    }

    func put(_ db: Database, _ state: PersonState) throws {
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO known_accounts (person, active, terms_version, language, readers_since) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [state.person, state.active, state.termsVersion, state.language.rawValue, state.readersSince])
    }

    func all(_ db: Database) throws -> [PersonState] {
        try Row.fetchAll(db, sql: "SELECT person, active, terms_version, language, readers_since FROM known_accounts").compactMap { row in
            row.value(0, as: PersonID.self).map {
                PersonState(
                    person: $0, active: row[1], termsVersion: row[2], language: Language(rawValue: row[3]) ?? .english,
                    readersSince: row[4])
            }
        }
    }
}
