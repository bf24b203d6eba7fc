// What the dispatcher remembers, as sentences in domain values.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage

/// `sos-dispatcher.db`. Personal data is sealed under each person's own key before it gets here.
struct SOSStore: Sendable {
    let store: Store
    let pair: PairTables
    let keys: PersonKeys
    let streams: StreamEffects
    let logger: Logger

    init(_ store: Store, keys: PersonKeys, pair: PairTables, streams: StreamEffects, logger: Logger) {
        (self.store, self.keys, self.pair, self.streams, self.logger) = (store, keys, pair, streams, logger)
    }

    /// Everything that a start needs.
    struct Memory: Sendable {
        var subscribers: [PersonID: Watched] = [:]
        /// Subscribers whose state cannot be read. They are to be watched all the same.
        var unreadable: [PersonID: Unreadable] = [:]
        /// The open emergency of each person, and muted ones that may be taken up again.
        var emergencies: [PersonID: EmergencyRecord] = [:]
        var outboxes: [EmergencyID: (person: PersonID, outbox: DispatchMachine)] = [:]
        /// Of `outboxes`, those of which this dispatcher has decided no call: it knows of one from the other alone.
        var uncalled: Set<EmergencyID> = []
        var positions: [StreamPosition] = []
        /// Who has paused monitoring.
        var paused: Set<PersonID> = []
        var pair = PairMemory()
        /// Whose devices all lie in their chargers, as far as they measure vital signs.
        var charging: Set<PersonID> = []
        /// Of whom `sos.subscriptions` has said that they are subscribed.
        var saidSubscribed: Set<PersonID> = []
    }

    /// What can be read of somebody whose state cannot.
    struct Unreadable: Sendable {
        /// The emergency that was open, if any.
        var open: EmergencyRecord?
        /// Of its next message.
        var nextSequence = 0
    }

    // MARK: Writing

    /// Stores the whole batch in one transaction, durably. Its facts, of whichever stream, are published before this returns.
    func save(_ batch: StoreBatch) async throws {
        let sealed = try SealedBatchStore(batch, keys: keys, pair: pair, streams: streams)
        try await store.write { try sealed.write($0) }
    }

    /// One state as a batch holds it, for those who seal before their turn; nil for a person whose key is gone.
    func seal(_ person: PersonID, _ subscriber: Watched) throws -> [UInt8]? {
        try SealedBatchStore.seal(subscriber, of: person, keys: keys)
    }

    /// The steady clock's offset of this boot: the stored one, or `fresh` if the machine was started since.
    func steadyOffset(boot: String, fresh: Int64) throws -> Int64 {
        try store.writeNow { db in
            let known = try Row.fetchOne(db, sql: "SELECT boot, offset_ms FROM steady_clock")
            if let known, !boot.isEmpty, known["boot"] == boot { return known["offset_ms"] }
            try db.execute(sql: "INSERT OR REPLACE INTO steady_clock VALUES (1, ?, ?)", arguments: [boot, fresh])
            return fresh
        }
    }

    // MARK: Reading

    /// Reads all that is needed to go on where the last process stopped.
    func load() throws -> Memory {
        try store.readNow { db in
            var memory = Memory()
            memory.pair = try pair.load(db)
            memory.positions = try ConsumerPositions().load(db)
            memory.paused = try Set(Data.fetchAll(db, sql: "SELECT person FROM monitoring_pauses").compactMap { PersonID($0) })
            memory.charging = try SOSStore.charging(db)
            memory.saidSubscribed = try SubscriptionStore.all(db)
            for row in try Row.fetchAll(db, sql: "SELECT person, sealed FROM subscribers") {
                guard let person: PersonID = row.value("person") else { continue }
                let subscriber: Watched?
                do {
                    // Without a key the person was erased: there is nobody to watch.
                    guard let key = try keys.key(of: person) else { continue }
                    subscriber = open(row["sealed"], of: person, key: key)
                } catch is DamagedKey {
                    // There is somebody: as where the state itself is damaged.
                    subscriber = nil
                }
                if let subscriber {
                    memory.subscribers[person] = subscriber
                } else {
                    memory.unreadable[person] = try unreadable(db, person)
                }
            }
            for (person, watched) in memory.subscribers {
                guard let episode = watched.subscriber.supervision.episode else { continue }
                memory.emergencies[person] = try Row.fetchOne(
                    db.cachedStatement(sql: EmergencyQuery.begunAt.sql), arguments: [person, episode.receivedAt]
                ).flatMap(EmergencyRecord.init)
            }
            memory.outboxes = try outboxes(db, Row.fetchAll(db, sql: EmergencyQuery.unfinished.sql))
            for emergency in memory.outboxes.keys {
                let row = try Row.fetchOne(db.cachedStatement(sql: EmergencyQuery.one.sql), arguments: [emergency])
                if row.flatMap(EmergencyRecord.init)?.dispatchedAt == nil { memory.uncalled.insert(emergency) }
            }
            return memory
        }
    }

    /// How far the streams of a family were heard, as the file says: where whoever begins again goes on.
    func positions(of family: StreamFamily) async throws -> [StreamPosition] {
        try await store.read { db in try ConsumerPositions().load(db) }.filter { family.streams.contains($0.stream) }
    }

    /// All messages of one emergency; nil if it has none.
    func outbox(of emergency: EmergencyID) async throws -> (person: PersonID, outbox: DispatchMachine)? {
        try await store.read { db in
            try outboxes(db, Row.fetchAll(db, sql: EmergencyQuery.messages.sql, arguments: [emergency]))[emergency]
        }
    }

    func emergency(_ id: EmergencyID) async throws -> EmergencyRecord? {
        try await store.read { db in
            try Row.fetchOne(db, sql: EmergencyQuery.one.sql, arguments: [id]).flatMap(EmergencyRecord.init)
        }
    }

    /// Newest first.
    /// - Parameter except: whose are left out of everybody's (the canary).
    func emergencies(of person: PersonID?, limit: Int, except: SyntheticPeople? = nil) async throws -> [EmergencyRecord] {
        try await store.read { db in
            let rows =
                if let person {
                    try Row.fetchAll(db, sql: EmergencyQuery.newestOfPerson.sql, arguments: [person, limit])
                } else {
                    try Row.fetchAll(db, sql: EmergencyQuery.newest.sql, arguments: [except?.first, except?.second, limit])
                }
            return rows.compactMap(EmergencyRecord.init)
        }
    }

    /// Newest first, those that began before `before`.
    func emergencies(of person: PersonID, before: Timestamp?, limit: Int) async throws -> [EmergencyRecord] {
        try await store.read { db in
            try Row.fetchAll(
                db, sql: EmergencyQuery.earlierOfPerson.sql, arguments: [person, before?.milliseconds ?? .max, limit]
            ).compactMap(EmergencyRecord.init)
        }
    }

    /// The longest interval that any of the person's devices declared; nil if none did.
    func longestInterval(of person: PersonID) async throws -> Duration? {
        try await store.read { db in
            try Int64.fetchOne(db, sql: "SELECT max(interval_ms) FROM devices WHERE person = ?", arguments: [person])
                .map { .milliseconds($0) }
        }
    }

    /// Whether the person has paused monitoring.
    func isMonitoringPaused(_ person: PersonID) async throws -> Bool {
        try await store.read { db in
            try Row.fetchOne(db, sql: "SELECT 1 FROM monitoring_pauses WHERE person = ?", arguments: [person]) != nil
        }
    }

    private func unreadable(_ db: Database, _ person: PersonID) throws -> Unreadable {
        let row = try Row.fetchOne(db, sql: EmergencyQuery.open.sql, arguments: [person])
        guard let open = row.flatMap(EmergencyRecord.init) else { return Unreadable() }
        let given = try Int.fetchAll(db, sql: EmergencyQuery.sequences.sql, arguments: [open.id])
            .map { MessageID(emergency: open.id, sequence: $0) }
        let last = given.filter { !$0.isRelease && !$0.isRepetition }.map(\.sequence).max()
        return Unreadable(open: open, nextSequence: last.map { $0 + 1 } ?? 0)
    }

    /// Messages of an emergency that cannot be read any more give way to the one of this number, and do not go out again with the key back.
    static func supersede(_ db: Database, before sequence: Int, in emergency: EmergencyID) throws {
        try db.execute(
            sql: "UPDATE dispatch_lines SET ended = ? WHERE emergency = ? AND sequence < ? AND ended IS NULL",
            arguments: [OutboxMessage.End.superseded.rawValue, emergency, sequence])
    }

    private func outboxes(_ db: Database, _ rows: [Row]) throws -> [EmergencyID: (person: PersonID, outbox: DispatchMachine)] {
        var decided: [EmergencyID: (person: PersonID, messages: [OutboxMessage])] = [:]
        for row in rows {
            guard let person: PersonID = row.value("person"), let message = message(row, of: person) else { continue }
            decided[message.id.emergency, default: (person, [])].messages.append(message)
        }
        return try Dictionary(
            uniqueKeysWithValues: decided.map { emergency, known in
                (emergency, (known.person, DispatchMachine(known.messages, lines: try lines(db, emergency, known.messages))))
            })
    }

    private func lines(_ db: Database, _ emergency: EmergencyID, _ decided: [OutboxMessage]) throws -> [String: DispatchOutbox] {
        let rows = try Row.fetchAll(db.cachedStatement(sql: EmergencyQuery.lines.sql), arguments: [emergency])
        var messages: [String: [OutboxMessage]] = [:]
        for row in rows {
            let sequence: Int = row["sequence"]
            guard var message = decided.first(where: { $0.id.sequence == sequence }) else { continue }
            message.createdAt = row["created_at"]
            message.attempts = row["attempts"]
            message.lastAttemptAt = row["last_attempt_at"]
            message.texts = row["texts"]
            message.end = (row["ended"] as String?).flatMap(OutboxMessage.End.init)
            messages[row["integrator"], default: []].append(message)
        }
        return messages.mapValues { DispatchOutbox($0) }
    }

    private func message(_ row: Row, of person: PersonID) -> OutboxMessage? {
        guard let emergency: EmergencyID = row.value("emergency"), let kind = DispatchMessage.Kind(rawValue: row["kind"])
        else { return nil }
        let id = MessageID(emergency: emergency, sequence: row["sequence"])
        do {
            let body = try pair.personSeal.open(row["sealed"] as Data, of: person, context: SealedBatchStore.context(of: id))
            guard let body else { return nil }
            return OutboxMessage(id: id, kind: kind, body: body, createdAt: row["created_at"])
        } catch {
            logger.critical("a message of the outbox cannot be opened", metadata: ["message": "\(id)"])
            return nil
        }
    }

    /// What the other dispatcher gets as a newcomer.
    func snapshot(
        _ request: SnapshotStream, participants: [String: PairState.Participant], steady: Timestamp, except synthetic: SyntheticPeople
    ) async throws -> SnapshotStream.Reply {
        try await store.read { db in
            try pair.snapshot(
                request, db, participants: participants,
                open: { sealed, person in
                    (try? keys.key(of: person)).flatMap { $0 }.flatMap { open(sealed, of: person, key: $0) }
                }, running: { try standing(db, $0, $1) }, steady: steady, except: synthetic)
        }
    }

    /// nil where there is no record of it.
    private func standing(_ db: Database, _ person: PersonID, _ episode: Episode) throws -> StandingEmergency? {
        let row = try Row.fetchOne(db.cachedStatement(sql: EmergencyQuery.begunAt.sql), arguments: [person, episode.receivedAt])
        guard let record = row.flatMap(EmergencyRecord.init) else { return nil }
        let rows = try Row.fetchAll(db, sql: EmergencyQuery.messages.sql, arguments: [record.id])
        return StandingEmergency(record, try outboxes(db, rows)[record.id]?.outbox ?? DispatchMachine())
    }

    /// The payload of a fact on an integrator's stream, from the message that it names; nil where the person was erased.
    func dispatchPayload(_ db: Database, _ id: MessageID) throws -> [UInt8]? {
        let row = try Row.fetchOne(db.cachedStatement(sql: EmergencyQuery.message.sql), arguments: [id.emergency, id.sequence])
        guard let row, let person: PersonID = row.value("person") else { return nil }
        return message(row, of: person)?.body
    }

    private func open(_ sealed: Data, of person: PersonID, key: SymmetricKey) -> Watched? {
        do {
            let plain = try Seal.open(sealed, key: key, context: SealedBatchStore.context(of: person))
            // What earlier versions have stored is JSON.
            return try plain.first == CompactForm.version
                ? CompactForm.decode(Watched.self, from: plain) : JSONDecoder().decode(Watched.self, from: Data(plain))
        } catch {
            logger.critical(
                "a subscriber's state cannot be read: supervised anew with the default bounds", metadata: ["reason": "\(error.logReason)"])
            return nil
        }
    }
}

// MARK: Bytes

/// For the measured write path of a batch (`SealedBatchStore`); everywhere else an identifier is a column as it is (`Columns.swift`).
extension Identifier {
    var data: Data { Data(bytes) }

    init?(_ data: Data) {
        self.init(bytes: data)
    }
}

extension EmergencyRecord {
    init?(_ row: Row) {
        guard let id: EmergencyID = row.value("emergency"), let person: PersonID = row.value("person"),
            let state = State(rawValue: row["state"])
        else { return nil }
        self.init(
            id: id, person: person, t0: row["t0"], state: state, dispatchedAt: row["dispatched_at"], acknowledgedAt: row["acknowledged_at"],
            closedAt: row["closed_at"])
    }
}
