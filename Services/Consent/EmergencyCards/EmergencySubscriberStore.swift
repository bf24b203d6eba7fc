// SQL sentences about who is subscribed to AutomatedSOS, and whose card is still to be said.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// `emergency_subscribers`: people without an account may be in it too; nothing is ever said of them.
struct EmergencySubscriberStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE emergency_subscribers (
                    person BLOB PRIMARY KEY,
                    subscribed INTEGER NOT NULL,
                    -- Whether something has changed that is not said yet.
                    due INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX emergency_cards_due ON emergency_subscribers (due) WHERE due = 1;
                """)
    }

    /// What the dispatcher said, in the transaction of its position.
    func note(_ db: Database, _ state: SubscriptionState) throws {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO emergency_subscribers (person, subscribed, due) VALUES (?, ?, 1)")
            .execute(arguments: [state.person, state.subscribed])
    }

    /// A whole snapshot did not have this person.
    func note(_ db: Database, left person: PersonID) throws {
        try db.cachedStatement(sql: "UPDATE emergency_subscribers SET subscribed = 0, due = 1 WHERE person = ?")
            .execute(arguments: [person])
    }

    /// Everybody, in order, also who has left and of whom that is not said yet.
    func known(_ db: Database, after: [UInt8], limit: Int) throws -> [PersonID] {
        try Data.fetchAll(
            db.cachedStatement(sql: "SELECT person FROM emergency_subscribers WHERE person > ? ORDER BY person LIMIT ?"),
            arguments: [Data(after), limit]
        ).compactMap { PersonID(bytes: $0) }
    }

    /// The profile has changed, in the same transaction.
    func note(_ db: Database, profileOf person: PersonID) throws {
        try db.cachedStatement(sql: "UPDATE emergency_subscribers SET due = 1 WHERE person = ?")
            .execute(arguments: [person])
    }

    /// - Parameter after: nil for the first ones.
    func due(_ db: Database, after: PersonID?, limit: Int) throws -> [SubscriptionState] {
        try states(db, "due = 1 AND person > ? ORDER BY person LIMIT ?", [Data(after?.bytes ?? []), limit])
    }

    func subscribed(_ db: Database, after: PersonID, limit: Int) throws -> [SubscriptionState] {
        try states(db, "subscribed = 1 AND person > ? ORDER BY person LIMIT ?", [after, limit])
    }

    func isSubscribed(_ db: Database, _ person: PersonID) throws -> Bool {
        try !states(db, "subscribed = 1 AND person = ?", [person]).isEmpty
    }

    /// It is said; of who has left nothing is kept.
    func settle(_ db: Database, _ state: SubscriptionState) throws {
        try db.execute(
            sql: state.subscribed
                ? "UPDATE emergency_subscribers SET due = 0 WHERE person = ?" : "DELETE FROM emergency_subscribers WHERE person = ?",
            arguments: [state.person])
    }

    func forget(_ db: Database, _ person: PersonID) throws -> Int {
        try db.execute(sql: "DELETE FROM emergency_subscribers WHERE person = ?", arguments: [person])
        return db.changesCount
    }

    private func states(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [SubscriptionState] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT person, subscribed FROM emergency_subscribers WHERE \(condition)"), arguments: arguments
        ).compactMap { row in
            row.value(0, as: PersonID.self).map { SubscriptionState(person: $0, subscribed: row[1]) }
        }
    }
}

extension StateStream<EmergencyCardState> {
    /// `consent.emergency-cards`: its rows are sealed under each person's own key.
    init(epoch: String, vault: ProfileVault) {
        let stream = StreamFamily.emergencyCards.streams[0]
        self.init(EmergencyCardState.type, stream: stream, epoch: epoch, seal: vault.factSeal(of: stream))
    }
}
