// SQL sentences about who is subscribed to AutomatedSOS, and whose card is still to be said.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// `emergency_subscribers`: people without an account may be in it too; nothing is ever said of them.
struct EmergencySubscribers: Sendable {
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
            .execute(arguments: [Data(state.person.bytes), state.subscribed])
    }

    /// As a snapshot has it: who is not in it has left.
    func replace(_ db: Database, by states: [SubscriptionState]) throws {
        try db.execute(sql: "UPDATE emergency_subscribers SET subscribed = 0, due = 1")
        for state in states { try note(db, state) }
    }

    /// The profile has changed, in the same transaction.
    func note(_ db: Database, profileOf person: PersonID) throws {
        try db.cachedStatement(sql: "UPDATE emergency_subscribers SET due = 1 WHERE person = ?")
            .execute(arguments: [Data(person.bytes)])
    }

    func due(_ db: Database, limit: Int) throws -> [SubscriptionState] {
        try states(db, "due = 1 ORDER BY person LIMIT ?", [limit])
    }

    func subscribed(_ db: Database, after: PersonID?, limit: Int) throws -> [SubscriptionState] {
        try states(
            db, "subscribed = 1 AND person > ? ORDER BY person LIMIT ?", [after.map { Data($0.bytes) } ?? Data(), limit])
    }

    /// It is said; of who has left nothing is kept.
    func settle(_ db: Database, _ state: SubscriptionState) throws {
        try db.execute(
            sql: state.subscribed
                ? "UPDATE emergency_subscribers SET due = 0 WHERE person = ?" : "DELETE FROM emergency_subscribers WHERE person = ?",
            arguments: [Data(state.person.bytes)])
    }

    func forget(_ db: Database, _ person: PersonID) throws -> Int {
        try db.execute(sql: "DELETE FROM emergency_subscribers WHERE person = ?", arguments: [Data(person.bytes)])
        return db.changesCount
    }

    private func states(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [SubscriptionState] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT person, subscribed FROM emergency_subscribers WHERE \(condition)"), arguments: arguments
        ).compactMap { row in
            PersonID(bytes: row[0] as Data).map { SubscriptionState(person: $0, subscribed: row[1]) }
        }
    }
}

/// The stream `consent.emergency-cards`: its rows are sealed under each person's own key.
struct EmergencyCardNews: Sendable {
    static let stream = StreamFamily.emergencyCards.streams[0]

    let epoch: String
    let vault: ProfileVault
    private let log = StreamLog()

    init(epoch: String, vault: ProfileVault) {
        (self.epoch, self.vault) = (epoch, vault)
    }

    func say(_ db: Database, _ state: EmergencyCardState, at: Timestamp) throws -> EventRelay.Committed {
        let payload = try Self.payload(state)
        let sealed = try vault.seal(payload, at: Self.place(at), of: .person(state.person))
        let sequence = try log.append(
            db, stream: Self.stream, type: EmergencyCardState.type, subject: state.person, at: at, trace: "", body: sealed)
        return EventRelay.Committed(header: header(state.person, sequence, at)) { payload }
    }

    /// As it was published, byte for byte; nil where the person's key is gone.
    func render(_ row: StreamRow) throws -> [UInt8]? {
        guard let person = row.subject else { return nil }
        do {
            return try vault.open(row.body, at: Self.place(row.at), of: .person(person))
        } catch is KeyDestroyed {
            return nil
        }
    }

    func fact(_ db: Database, _ state: EmergencyCardState) throws -> ReplayStream.Fact {
        ReplayStream.Fact(
            header: header(state.person, try log.head(db, Self.stream), Timestamp(milliseconds: 0)),
            payload: String(decoding: try Self.payload(state), as: UTF8.self))
    }

    func head(_ db: Database) throws -> Int64 {
        try log.head(db, Self.stream)
    }

    private func header(_ person: PersonID, _ sequence: Int64, _ at: Timestamp) -> StreamHeader {
        StreamHeader(
            stream: Self.stream, epoch: epoch, sequence: sequence, head: sequence, type: EmergencyCardState.type,
            subject: person.description, at: at, trace: "")
    }

    private static func place(_ at: Timestamp) -> String {
        "stream_log.\(stream) \(at.milliseconds)"
    }

    private static func payload(_ state: EmergencyCardState) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(state))
    }
}
