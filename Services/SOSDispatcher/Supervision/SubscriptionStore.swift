// SQL sentences about who is subscribed, as `sos.subscriptions` says it.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

enum SubscriptionStore {
    static let stream = StreamFamily.subscriptions.streams[0]

    /// Publishes what has changed, in the transaction of the change. What is known already is not said again.
    static func publish(_ states: [SubscriptionState], _ db: Database, _ streams: StreamEffects) throws {
        guard !states.isEmpty else { return }
        let facts = try Self.published(db)
        for state in states {
            try db.cachedStatement(
                sql: state.subscribed
                    ? "INSERT OR IGNORE INTO subscriptions (person) VALUES (?)" : "DELETE FROM subscriptions WHERE person = ?"
            ).execute(arguments: [state.person])
            guard db.changesCount > 0 else { continue }
            streams.publish(try facts.append(db, state, about: state.person, at: .now), afterCommitOf: db)
        }
    }

    static func all(_ db: Database) throws -> Set<PersonID> {
        try Set(Data.fetchAll(db, sql: "SELECT person FROM subscriptions").compactMap { PersonID($0) })
    }

    private static func published(_ db: Database) throws -> StateStream<SubscriptionState> {
        StateStream(SubscriptionState.type, stream: stream, epoch: try StreamLog().epoch(db))
    }

    /// One page of all who are subscribed.
    fileprivate static func snapshot(_ db: Database, _ asked: SnapshotStream) throws -> SnapshotStream.Reply {
        try published(db).snapshot(db, asked) { (after: PersonID, limit: Int) in
            try Data.fetchAll(
                db, sql: "SELECT person FROM subscriptions WHERE person > ? ORDER BY person LIMIT ?", arguments: [after, limit]
            ).compactMap { PersonID($0) }.map { ($0, $0, SubscriptionState(person: $0, subscribed: true)) }
        }
    }
}

extension SOSStore {
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        guard asked.stream == SubscriptionStore.stream else {
            throw Failure(.invalid, "this stream keeps no state; newcomers start at its head")
        }
        return try await store.read { db in try SubscriptionStore.snapshot(db, asked) }
    }

    // MARK: Reminders of a pause

    /// Enqueues the message of the reminder number `number` of this pause, unless it or a later one has been.
    func remind(_ person: PersonID, since: Timestamp, number: Int, _ message: SendMessage, through outbox: MessageOutbox) async throws {
        try await store.write { db in
            let row = try Row.fetchOne(db, sql: "SELECT since, told FROM pause_reminders WHERE person = ?", arguments: [person])
            if let row, row["since"] == since.milliseconds, row["told"] >= number { return }
            try db.execute(
                sql: "INSERT OR REPLACE INTO pause_reminders (person, since, told) VALUES (?, ?, ?)",
                arguments: [person, since, number])
            try outbox.enqueue(db, message)
        }
    }
}
