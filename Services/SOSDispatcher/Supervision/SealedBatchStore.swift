// A batch as it goes into the tables: everything personal sealed, before the writer's thread gets it.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

struct SealedBatchStore: Sendable {
    /// What another subject writes in the batch's transaction.
    typealias FurtherWrite = @Sendable (Database) throws -> Void

    private struct SealedMessage: Sendable {
        var person: PersonID
        var message: OutboxMessage
        var sealed: [UInt8]
    }

    private let batch: StoreBatch
    private let subscribers: [(person: PersonID, sealed: [UInt8])]
    private let messages: [SealedMessage]
    private let told: [SealedPairFact]
    private let heard: [SealedPairFact]
    private let pair: PairTables
    private let streams: StreamEffects

    /// A person whose key is gone (erased) is left out: nothing about them may be stored any more. Of one whose key is damaged the state is,
    /// and lives in memory alone; messages, and what the dispatchers tell each other, are kept as `PersonSeal` has it.
    init(_ batch: StoreBatch, keys: PersonKeys, pair: PairTables, streams: StreamEffects) throws {
        var living = batch
        living.subscriptions = try batch.subscriptions.filter { try !keys.isDestroyed($0.person) }
        // Of two dispatchers one says to the suite what happens.
        if !pair.role.speaks { (living.facts, living.subscriptions) = ([], []) }
        self.batch = living
        (self.pair, self.streams) = (pair, streams)
        told = try batch.told.compactMap { try SealedPairFact($0, keys: keys, own: pair.own) }
        heard = try batch.heard.compactMap { try SealedPairFact($0, keys: keys, own: pair.own) }
        subscribers =
            try batch.sealed.filter { try !keys.isDestroyed($0.key) }.map { ($0.key, $0.value) }
            + batch.subscribers.compactMap { person, subscriber in
                try SealedBatchStore.seal(subscriber, of: person, keys: keys).map { (person, $0) }
            }
        messages = try batch.messages.compactMap { id, entry in
            let sealed = try pair.personSeal.seal(entry.message.body, of: entry.person, context: SealedBatchStore.context(of: id))
            guard let sealed else { return nil }
            return SealedMessage(person: entry.person, message: entry.message, sealed: sealed)
        }
    }

    /// One subscriber's state as it is stored; nil where the person's key is gone or damaged.
    static func seal(_ subscriber: Watched, of person: PersonID, keys: PersonKeys) throws -> [UInt8]? {
        guard let key = try keys.usableKey(of: person) else { return nil }
        return try Seal.seal(CompactForm.encode(subscriber), key: key, context: context(of: person))
    }

    /// Binds a seal to its place, so that it opens nowhere else.
    static func context(of person: PersonID) -> [UInt8] {
        Array("subscribers|\(person)".utf8)
    }

    static func context(of message: MessageID) -> [UInt8] {
        Array("dispatch_outbox|\(message)".utf8)
    }

    /// Writes everything, and publishes its facts once they are on disk.
    func write(_ db: Database) throws {
        try ClosedEmergencyStore.bringBack(
            db, Set(batch.emergencies.keys).union(batch.messages.keys.map(\.emergency)).union(batch.lines.keys.map(\.message.emergency)))
        for (person, sealed) in subscribers {
            try db.run("INSERT OR REPLACE INTO subscribers (person, sealed) VALUES (?, ?)") { row in
                row.bytes(person.bytes)
                row.bytes(sealed)
            }
        }
        for person in batch.removed {
            try db.cachedStatement(sql: "DELETE FROM subscribers WHERE person = ?").execute(arguments: [person.data])
        }
        try writeEmergencies(db)
        // Sealed before the person was erased, and under the spare key, it could be read after it.
        for message in messages { if try !pair.keys.isDestroyed(message.person) { try write(message, db) } }
        try writeLines(db)
        if !batch.audit.isEmpty { try AuditStore.append(batch.audit, db) }
        try ConsumerPositions().save(db, Array(batch.positions.values))
        try pair.write(batch.versions, db)
        try pair.write(heard: heard, db)
        for write in batch.further { try write(db) }
        try writeFacts(db)
        try SubscriptionStore.publish(batch.subscriptions, db, streams)
        try pair.publish(told, db, streams)
    }

    /// Closed ones first, so that a new one of the same person finds the place of the open one free.
    private func writeEmergencies(_ db: Database) throws {
        for record in batch.emergencies.values.sorted(by: { $0.closedAt != nil && $1.closedAt == nil }) {
            if record.closedAt == nil { try closeOthers(than: record, db) }
            // What is open keeps out of the indices over what is closed: each would be one page more to flush before a call.
            let closing = record.closedAt == nil ? "" : ", closed_at = excluded.closed_at"
            try db.cachedStatement(
                sql: """
                    INSERT INTO emergencies (emergency, person, state, t0, dispatched_at, acknowledged_at, closed_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT (emergency) DO UPDATE SET state = excluded.state, dispatched_at = excluded.dispatched_at,
                    acknowledged_at = excluded.acknowledged_at\(closing)
                    """
            ).execute(arguments: [
                record.id.data, record.person.data, record.state.rawValue, record.t0.milliseconds, record.dispatchedAt?.milliseconds,
                record.acknowledgedAt?.milliseconds, record.closedAt?.milliseconds,
            ])
            guard record.closedAt == nil else { continue }
            try db.cachedStatement(sql: "UPDATE emergencies SET closed_at = NULL WHERE emergency = ? AND closed_at IS NOT NULL")
                .execute(arguments: [record.id.data])
        }
    }

    /// A person has one open emergency at most, and the one in memory is it. One that a crash left open in the file must not keep a batch,
    /// and with it everybody's, from being stored.
    private func closeOthers(than record: EmergencyRecord, _ db: Database) throws {
        let other = try Data.fetchOne(
            db.cachedStatement(sql: EmergencyQuery.openBeside.sql),
            arguments: [record.person.data, record.id.data])
        guard let other, let id = EmergencyID(other) else { return }
        let now = Timestamp.now
        try db.cachedStatement(sql: "UPDATE emergencies SET state = 'closed', closed_at = ? WHERE emergency = ?")
            .execute(arguments: [now.milliseconds, other])
        let note = AuditNote(
            at: now, actor: "dispatcher", action: "closed", object: "\(id)", detail: "left open by a crash; \(record.id) is open now")
        try AuditStore.append([note], db)
    }

    /// A message that is there keeps its bytes.
    private func write(_ entry: SealedMessage, _ db: Database) throws {
        let message = entry.message
        try db.cachedStatement(
            sql: """
                INSERT INTO dispatch_outbox (emergency, sequence, person, kind, sealed, created_at) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (emergency, sequence) DO NOTHING
                """
        ).execute(arguments: [
            message.id.emergency.data, message.id.sequence, entry.person.data, message.kind.rawValue, Data(entry.sealed),
            message.createdAt.milliseconds,
        ])
    }

    /// Publishes on integrators' streams as well: each message once, when it is first given to them.
    private func writeLines(_ db: Database) throws {
        let ordered = batch.lines.sorted {
            ($0.key.message.sequence, $0.key.integrator) < ($1.key.message.sequence, $1.key.integrator)
        }
        for (id, state) in ordered {
            guard try write(state.message, of: id, db), let stream = state.stream else { continue }
            streams.publish(try DispatchStreamStore.append(db, stream: stream, id.message, body: state.message.body), afterCommitOf: db)
        }
    }

    /// An end that is there is replaced or taken back; an acknowledgement only by the rejection of whoever gave it. Returns whether the line
    /// is new.
    private func write(_ message: OutboxMessage, of id: LineID, _ db: Database) throws -> Bool {
        let key: StatementArguments = [id.message.emergency.data, id.message.sequence, id.integrator]
        // Of an erased person there is no message, and nothing is remembered of where it went.
        try db.cachedStatement(
            sql: """
                INSERT INTO dispatch_lines (emergency, sequence, integrator, created_at, attempts)
                SELECT emergency, sequence, ?, ?, 0 FROM dispatch_outbox WHERE emergency = ? AND sequence = ?
                ON CONFLICT (emergency, sequence, integrator) DO NOTHING
                """
        ).execute(arguments: [id.integrator, message.createdAt.milliseconds, id.message.emergency.data, id.message.sequence])
        let isNew = db.changesCount == 1
        try db.cachedStatement(
            sql: """
                UPDATE dispatch_lines SET attempts = max(attempts, ?), last_attempt_at = coalesce(max(last_attempt_at, ?), last_attempt_at, ?),
                texts = max(texts, ?), ended = CASE WHEN ended = 'acknowledged' AND ? IS NOT 'refused' THEN ended ELSE ? END
                WHERE emergency = ? AND sequence = ? AND integrator = ?
                """
        ).execute(
            arguments: [
                message.attempts, message.lastAttemptAt?.milliseconds, message.lastAttemptAt?.milliseconds, message.texts,
                message.end?.rawValue, message.end?.rawValue,
            ] + key)
        return isNew
    }

    private func writeFacts(_ db: Database) throws {
        let log = FactLog(stream: StreamFamily.emergencies.streams[0], epoch: try StreamLog().epoch(db))
        for fact in batch.facts {
            let appended = try log.append(
                db, type: EmergencyChanged.type, subject: fact.changed.person, body: fact.changed, at: fact.changed.at, trace: fact.trace)
            streams.publish(appended, afterCommitOf: db)
        }
    }
}
