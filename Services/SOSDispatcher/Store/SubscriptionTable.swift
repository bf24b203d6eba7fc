// SQL sentences about who is subscribed, as `sos.subscriptions` says it.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

enum SubscriptionTable {
    static let stream = StreamFamily.subscriptions.streams[0]
    static let snapshotPage = 1000

    /// Appends what has changed to the log, in the transaction of the change. What is known already is not said again.
    static func say(_ states: [SubscriptionState], _ db: Database) throws -> [EventRelay.Committed] {
        guard !states.isEmpty else { return [] }
        let log = StreamLog()
        let epoch = try log.epoch(db)
        return try states.compactMap { state in
            try db.cachedStatement(
                sql: state.subscribed
                    ? "INSERT OR IGNORE INTO subscriptions (person) VALUES (?)" : "DELETE FROM subscriptions WHERE person = ?"
            ).execute(arguments: [state.person.data])
            guard db.changesCount > 0 else { return nil }
            let (at, body) = (Timestamp.now, try payload(state))
            let sequence = try log.append(
                db, stream: stream, type: SubscriptionState.type, subject: state.person, at: at, trace: "", body: body)
            return EventRelay.Committed(header: header(state.person, epoch, sequence, at)) { body }
        }
    }

    static func all(_ db: Database) throws -> Set<PersonID> {
        try Set(Data.fetchAll(db, sql: "SELECT person FROM subscriptions").compactMap { PersonID($0) })
    }

    private static func header(_ person: PersonID, _ epoch: String, _ sequence: Int64, _ at: Timestamp) -> StreamHeader {
        StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: SubscriptionState.type, subject: "\(person)", at: at,
            trace: "")
    }

    private static func payload(_ state: SubscriptionState) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(state))
    }

    /// One page of all who are subscribed; `after` is the last one's id.
    fileprivate static func snapshot(_ db: Database, after: PersonID?) throws -> SnapshotStream.Reply {
        let log = StreamLog()
        let (epoch, head) = (try log.epoch(db), try log.head(db, stream))
        let people = try Data.fetchAll(
            db, sql: "SELECT person FROM subscriptions WHERE person > ? ORDER BY person LIMIT ?",
            arguments: [after?.data ?? Data(), snapshotPage]
        ).compactMap { PersonID($0) }
        let facts = try people.map { person in
            ReplayStream.Fact(
                header: header(person, epoch, head, Timestamp(milliseconds: 0)),
                payload: String(decoding: try payload(SubscriptionState(person: person, subscribed: true)), as: UTF8.self))
        }
        return SnapshotStream.Reply(
            epoch: epoch, sequence: head, facts: facts, next: people.count == snapshotPage ? people.last.map { "\($0)" } : nil)
    }
}

extension SOSStore {
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        guard asked.stream == SubscriptionTable.stream else {
            throw Failure(.invalid, "this stream keeps no state; newcomers start at its head")
        }
        let after = asked.after.map { PersonID($0) }
        if case .some(.none) = after { throw Failure(.invalid, "after is the next of the page before") }
        return try await store.read { db in try SubscriptionTable.snapshot(db, after: after ?? nil) }
    }

    // MARK: Reminders of a pause

    /// Enqueues the message of the reminder number `number` of this pause, unless it or a later one has been.
    func remind(_ person: PersonID, since: Timestamp, number: Int, _ message: SendMessage, through outbox: MessageOutbox) async throws {
        try await store.write { db in
            let row = try Row.fetchOne(db, sql: "SELECT since, told FROM pause_reminders WHERE person = ?", arguments: [person.data])
            if let row, row["since"] == since.milliseconds, row["told"] >= number { return }
            try db.execute(
                sql: "INSERT OR REPLACE INTO pause_reminders (person, since, told) VALUES (?, ?, ?)",
                arguments: [person.data, since.milliseconds, number])
            try outbox.enqueue(db, message)
        }
    }
}
