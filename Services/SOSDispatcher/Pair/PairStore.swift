// SQL sentences over what the two dispatchers have told each other.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// What a start needs to know.
struct PairMemory: Sendable {
    var versions: [PersonID: SettingsVersion] = [:]
    /// Answers and acknowledgements of the other side, in their order.
    var heard: [PairFact] = []
    /// What people have answered on this side of late, in its order.
    var given: [GivenAnswer] = []
    var erased: [ErasureID: [ErasedStore]] = [:]
}

/// A fact with what of it goes to the file.
struct SealedPairFact: Sendable {
    var fact: PairFact
    var payload: [UInt8]
    var sealed: [UInt8]

    /// nil for a person who was erased, and for settings of one whose key is damaged: those that stand here may be the default ones, and the
    /// other side's are whole. That such a person has left is told.
    init?(_ fact: PairFact, keys: PersonKeys, own: SymmetricKey) throws {
        (self.fact, payload) = (fact, try fact.encoded())
        guard let subject = fact.subject else {
            sealed = try Seal.seal(payload, key: own, context: SealedPairFact.context)
            return
        }
        if case .settings(let set) = fact, set.settings.isSubscribed, try keys.usableKey(of: subject) == nil { return nil }
        let seal = PersonSeal(keys: keys, spare: own)
        guard let bytes = try seal.seal(payload, of: subject, context: SealedPairFact.context) else { return nil }
        sealed = bytes
    }

    static let context = Array("pair-fact".utf8)
}

/// The tables of the pair.
struct PairTables: Sendable {
    /// People in one page of a snapshot, and erasures in its first, so that it stays under 1 MiB.
    static let peoplePerPage = 50
    static let erasuresPerPage = 200
    /// How long an erasure that was told goes on being told to newcomers: longer than the law lets one wait.
    static let erasuresTold = Duration.seconds(90 * 86_400)
    /// How many of the newest words about one person are told back, for the same reason as `peoplePerPage`.
    static let wordsPerPerson = 16
    /// How many of the newest facts of its own stream a side looks through for answers, for the same reason.
    static let answersAmong: Int64 = 500
    /// Of the messages of emergencies that run, in bytes, after which a page ends, for the same reason.
    static let messageBytesPerPage = 256 << 10

    let role: PairRole
    let keys: PersonKeys
    /// Seals what is about nobody, and about those whose keys are damaged.
    let own: SymmetricKey

    var personSeal: PersonSeal { PersonSeal(keys: keys, spare: own) }

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                -- Which settings of a person are the latest, on both sides.
                CREATE TABLE pair_versions (
                    person BLOB PRIMARY KEY,
                    version INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                -- Answers and acknowledgements that the other side was given; sealed under the person's key.
                CREATE TABLE pair_heard (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    person BLOB NOT NULL,
                    sealed BLOB NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX pair_heard_by_person ON pair_heard (person);
                -- What the other side has erased, for the certificate.
                CREATE TABLE pair_erasures (
                    erasure BLOB PRIMARY KEY,
                    stores TEXT NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    static func createToldErasures(in db: Database) throws {
        try db.execute(
            sql: """
                -- What this side has erased and told: whoever begins to follow later must know it too, since an erasure waits for both.
                CREATE TABLE pair_told_erasures (
                    erasure BLOB PRIMARY KEY,
                    stores TEXT NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    static func createForgotten(in db: Database) throws {
        try db.execute(
            sql: """
                -- A row from when the store was put back until the other side has told back what it forgot by that.
                CREATE TABLE pair_forgotten (
                    one INTEGER PRIMARY KEY CHECK (one = 1)
                ) STRICT;
                """)
    }

    // MARK: After a restore

    /// The store was restored from a copy: the other side is to be asked, by this process or, should it be killed before, by the next.
    static func forgot(_ db: Database) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO pair_forgotten VALUES (1)")
    }

    /// In the transaction of the last that was told back, or later; or where the operator says that nobody is there to tell it back.
    static func knowsAgain(_ db: Database) throws {
        try db.execute(sql: "DELETE FROM pair_forgotten")
    }

    // MARK: Telling

    /// Publishes facts on this side's stream, in the transaction of what they tell.
    func publish(_ facts: [SealedPairFact], _ db: Database, _ streams: StreamEffects) throws {
        guard !facts.isEmpty else { return }
        let log = try factLog(db)
        for sealed in facts {
            guard try mayBeKept(sealed.fact) else { continue }
            let at = Timestamp.now
            if case .erased(let erasure, let stores) = sealed.fact { try keep(erasure, stores, at: at, db) }
            let appended = try log.append(db, type: PairFact.type, subject: sealed.fact.subject, stored: sealed.sealed, at: at) {
                sealed.payload
            }
            streams.publish(appended, afterCommitOf: db)
        }
    }

    /// Whether the person was not erased since it was sealed: under the spare key it could be read after it.
    private func mayBeKept(_ fact: PairFact) throws -> Bool {
        guard let subject = fact.subject else { return true }
        return try !keys.isDestroyed(subject)
    }

    private func factLog(_ db: Database) throws -> FactLog {
        FactLog(stream: role.stream, epoch: try StreamLog().epoch(db))
    }

    private func keep(_ erasure: ErasureID, _ stores: [ErasedStore], at now: Timestamp, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO pair_told_erasures (erasure, stores, at) VALUES (?, ?, ?)",
            arguments: [erasure, PairTables.text(stores), now])
        try db.execute(sql: "DELETE FROM pair_told_erasures WHERE at < ?", arguments: [now - PairTables.erasuresTold])
    }

    private static func text(_ stores: [ErasedStore]) throws -> String {
        String(decoding: try JSONEncoder().encode(stores), as: UTF8.self)
    }

    private static func stores(_ text: String) -> [ErasedStore]? {
        try? JSONDecoder().decode([ErasedStore].self, from: Data(text.utf8))
    }

    /// A fact of the log as it was said; nil where its person was erased, or it lies under a key that is damaged.
    func render(_ row: StreamRow) throws -> [UInt8]? {
        guard let subject = row.subject else { return try Seal.open(row.body, key: own, context: SealedPairFact.context) }
        do {
            return try personSeal.open(row.body, of: subject, context: SealedPairFact.context)
        } catch is DamagedKey {
            return nil
        }
    }

    // MARK: Hearing

    func write(_ versions: [PersonID: SettingsVersion], _ db: Database) throws {
        for (person, version) in versions {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO pair_versions (person, version) VALUES (?, ?)")
                .execute(arguments: [person, version.number])
        }
    }

    /// Keeps what may concern an emergency that this side has not come to yet.
    func write(heard: [SealedPairFact], _ db: Database) throws {
        for sealed in heard {
            guard try mayBeKept(sealed.fact) else { continue }
            if case .erased(let erasure, let stores) = sealed.fact {
                try db.execute(
                    sql: "INSERT OR REPLACE INTO pair_erasures VALUES (?, ?)", arguments: [erasure, PairTables.text(stores)])
            }
            guard let person = sealed.fact.subject else { continue }
            try db.cachedStatement(sql: "INSERT INTO pair_heard (person, sealed, at) VALUES (?, ?, ?)")
                .execute(arguments: [person, Data(sealed.sealed), Timestamp.now])
        }
    }

    // MARK: Reading

    func load(_ db: Database) throws -> PairMemory {
        var memory = PairMemory()
        for row in try Row.fetchAll(db, sql: "SELECT person, version FROM pair_versions") {
            if let person: PersonID = row.value(0) { memory.versions[person] = SettingsVersion(number: row[1]) }
        }
        for row in try Row.fetchAll(db, sql: "SELECT person, sealed FROM pair_heard ORDER BY number") {
            guard let person: PersonID = row.value(0),
                let plain = try personSeal.openIfWhole(row[1] as Data, of: person, context: SealedPairFact.context),
                let fact = PairFact.read(plain)
            else { continue }
            memory.heard.append(fact)
        }
        for row in try Row.fetchAll(db, sql: "SELECT erasure, stores FROM pair_erasures") {
            guard let erasure: ErasureID = row.value(0) else { continue }
            memory.erased[erasure] = PairTables.stores(row[1])
        }
        memory.given = try ownAnswers(head: StreamLog().head(db, role.stream), db).map { $0.answer }.filter { $0.isReturned != true }
        return memory
    }

    /// One page of what holds now, for a side that knows nothing or was left behind.
    /// - Parameters:
    ///   - running: an emergency with its messages.
    ///   - synthetic: are left out: whoever is told of one supervises it as anybody, and calls in earnest.
    func snapshot(
        _ request: SnapshotStream, _ db: Database, participants: [String: PairState.Participant], open: (Data, PersonID) -> Watched?,
        running: (PersonID, Episode) throws -> StandingEmergency?, steady: Timestamp, except synthetic: SyntheticPeople
    ) throws -> SnapshotStream.Reply {
        guard request.stream == role.stream else { throw Failure(.invalid, "this stream keeps no state; newcomers start at its head") }
        let head = try StreamLog().head(db, role.stream)
        let after = request.after.flatMap { PersonID($0) }
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT s.person, s.sealed, v.version FROM subscribers s LEFT JOIN pair_versions v ON v.person = s.person
                WHERE s.person > ? AND s.person NOT IN (?, ?) ORDER BY s.person LIMIT ?
                """,
            arguments: [after?.data ?? Data(), synthetic.first.data, synthetic.second.data, PairTables.peoplePerPage])
        var facts: [PairFact] = []
        if after == nil {
            for (kind, participant) in participants.sorted(by: { $0.key < $1.key }) {
                facts += try participant.snapshot(db).map { .note(kind: kind, subject: nil, body: $0) }
            }
            facts += try toldErasures(db) + toldAnswers(head: head, db)
        }
        var (last, messageBytes): (PersonID?, Int) = (nil, 0)
        for row in rows where messageBytes < PairTables.messageBytesPerPage {
            guard let person: PersonID = row.value(0) else { continue }
            last = person
            guard let watched = open(row[1], person) else { continue }
            let emergency = try watched.subscriber.supervision.episode.flatMap { try running(person, $0) }
            messageBytes += emergency?.size ?? 0
            let standing = PersonSettings.Standing(
                subscriber: watched.subscriber, steady: steady, wall: .now, answered: watched.answersToTell, emergency: emergency)
            let version = SettingsVersion(number: row[2] as Int64? ?? 0)
            facts.append(
                .settings(
                    PersonSettings(
                        person: person, version: version, settings: SubscriberSettings(watched.subscriber), standing: standing)))
            facts += try words(of: person, watched.subscriber.supervision.episode, db)
        }
        let goesOn = rows.count == PairTables.peoplePerPage || messageBytes >= PairTables.messageBytesPerPage
        return try factLog(db).page(
            db, try facts.map { try FactLog.Current(type: PairFact.type, subject: $0.subject, body: $0, at: .now) },
            next: goesOn ? last.map { "\($0)" } : nil)
    }

    /// What the person and emergency services have said to whoever asks, before its store was restored: it told it then, and has forgotten
    /// it. Of the emergency that runs, and of the time in which one that is closed may be opened again.
    private func words(of person: PersonID, _ running: Episode?, _ db: Database) throws -> [PairFact] {
        let recent = Timestamp.now - Dispatcher.reopens
        let rows = try Row.fetchAll(
            db, sql: "SELECT sealed FROM pair_heard WHERE person = ? AND at >= ? ORDER BY number DESC LIMIT ?",
            arguments: [person, min(recent, running?.receivedAt ?? recent).milliseconds, PairTables.wordsPerPerson])
        return try rows.reversed().compactMap { row in
            guard let plain = try personSeal.openIfWhole(row[0] as Data, of: person, context: SealedPairFact.context),
                let fact = PairFact.read(plain)
            else { return nil }
            // A call for help opens an emergency wherever it is heard: not one that is over.
            if case .answered(let answer) = fact, answer.emergency == nil, answer.at != running?.trigger.at { return nil }
            return fact
        }
    }

    /// What people have said to this side in emergencies of late. A snapshot stands for all that was told before it: whoever follows anew, as
    /// after a restore of this side, would never hear the answers that were given while it could not be reached. What a call for help has
    /// overtaken is left out: by itself it would call off what the person called for afterwards.
    private func toldAnswers(head: Int64, _ db: Database) throws -> [PairFact] {
        let recent = Timestamp.now - Dispatcher.reopens
        var told: [GivenAnswer] = []
        for (answer, at) in try ownAnswers(head: head, db) where at >= recent {
            guard let emergency = answer.emergency else { continue }
            if answer.answer == .help { told.removeAll { $0.emergency == emergency } } else { told.append(answer) }
        }
        return told.map { .answered($0) }
    }

    /// The answers among the newest facts of this side's stream, in its order, as far as they can be read.
    private func ownAnswers(head: Int64, _ db: Database) throws -> [(answer: GivenAnswer, at: Timestamp)] {
        let rows = try StreamLog().rows(
            db, role.stream, from: max(1, head - PairTables.answersAmong + 1), limit: Int(PairTables.answersAmong))
        return rows.compactMap { row in
            guard !row.isErased, let plain = try? render(row), case .answered(let answer)? = PairFact.read(plain) else { return nil }
            return (answer, row.at)
        }
    }

    /// The newest ones.
    private func toldErasures(_ db: Database) throws -> [PairFact] {
        try Row.fetchAll(
            db, sql: "SELECT erasure, stores FROM pair_told_erasures ORDER BY at DESC LIMIT ?", arguments: [PairTables.erasuresPerPage]
        ).compactMap { row in
            guard let erasure: ErasureID = row.value(0), let stores = PairTables.stores(row[1]) else { return nil }
            return .erased(erasure, stores)
        }
    }
}

extension SOSStore {
    /// Whether a second dispatcher has ever followed this one, and was not forgotten (`trackme consumers forget sos-deputy`).
    func hasDeputy() async throws -> Bool {
        try await store.read { db in try !Confirmations().positions(db, of: PairRole.second.peer).isEmpty }
    }

    /// Whether the store was restored, the other dispatcher has not yet told back all of what was forgotten by that, and the operator has not
    /// said since that it is gone for good.
    func hasForgotten() async throws -> Bool {
        try await store.read { db in try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM pair_forgotten)") ?? false }
    }

    /// Whether another dispatcher is to be expected: the second always has a first, until the operator says that it is gone for good.
    func hasOther(_ role: PairRole) async throws -> Bool {
        guard role == .second else { return try await hasDeputy() }
        return try await store.read { db in try !Confirmations().isForgotten(db, role.other.peer) }
    }
}

extension PairState {
    /// A part that keeps something of its own in step on both sides.
    struct Participant: Sendable {
        /// Everything that a newcomer must know, as bodies of notes.
        var snapshot: @Sendable (Database) throws -> [String]
        /// In the transaction of the stream's position; the same body may come again.
        var apply: @Sendable (Database, String) throws -> Void
        /// After that is committed, or the disk did not take it in time.
        var after: @Sendable () async -> Void
    }
}
