// SQL sentences about alarms that contacts were told of, and about messages to them that did not arrive.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// `contact_cases`, sealed under the person's key, and `contact_notices`, which tells for whom a message was.
struct ContactStore: Sendable {
    let store: Store
    let keys: PersonKeys
    let names: Names

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                -- Whom an alarm was told and what they said; sealed under the person's key.
                CREATE TABLE contact_cases (
                    occasion BLOB PRIMARY KEY,
                    person BLOB NOT NULL,
                    began_at INTEGER NOT NULL,
                    ended_at INTEGER,
                    sealed BLOB NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX contact_cases_by_person ON contact_cases (person);
                -- Which place of the list a message was for.
                CREATE TABLE contact_notices (
                    message BLOB PRIMARY KEY,
                    person BLOB NOT NULL,
                    object TEXT NOT NULL,
                    position INTEGER NOT NULL,
                    matter TEXT NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX contact_notices_by_person ON contact_notices (person);
                """)
    }

    // MARK: Cases

    /// Every case whose links may still open.
    func load(at now: Timestamp) async throws -> [ContactCase] {
        try await store.read { db in
            try Row.fetchAll(
                db, sql: "SELECT occasion, person, sealed FROM contact_cases WHERE began_at > ?",
                arguments: [now - ContactCase.longestLife - ContactCase.linkLife]
            ).compactMap { row in
                guard let occasion: OccasionID = row.value("occasion"), let person: PersonID = row.value("person"),
                    let key = try? keys.key(of: person),
                    let plain = try? Seal.open(row["sealed"] as Data, key: key, context: Self.context(occasion))
                else { return nil }
                return try? JSONDecoder().decode(ContactCase.self, from: Data(plain))
            }
        }
    }

    /// What stores a case that has sent nothing yet, unless it is there; nothing where the person was erased.
    func beginning(_ alarm: ContactCase) throws -> (@Sendable (Database) throws -> Void)? {
        guard let write = try saving(alarm, [], [], at: alarm.beganAt) else { return nil }
        return { db in
            let isThere = try Bool.fetchOne(
                db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM contact_cases WHERE occasion = ?)"), arguments: [alarm.id])
            if isThere != true { try write(db) }
        }
    }

    /// What stores a case with the messages that it has sent; nothing where the person was erased.
    func saving(
        _ alarm: ContactCase, _ sent: [(message: Contracts.MessageID, notice: ContactCase.Notice)], _ notes: [AuditNote], at now: Timestamp
    ) throws -> (@Sendable (Database) throws -> Void)? {
        let known: SymmetricKey?
        do {
            known = try keys.key(of: alarm.person)
        } catch is DamagedKey {
            // Contacts are told all the same; a restart forgets the case.
            return { _ in }
        }
        guard let key = known else { return nil }
        let sealed = try Seal.seal(JSONEncoder().encode(alarm), key: key, context: Self.context(alarm.id))
        let object = object(of: alarm)
        return { [keys] db in
            // The key may have gone since: then nothing about the person is stored any more.
            guard keys.isCurrent(key, of: alarm.person) else { return }
            try db.cachedStatement(
                sql: "INSERT OR REPLACE INTO contact_cases (occasion, person, began_at, ended_at, sealed) VALUES (?, ?, ?, ?, ?)"
            ).execute(arguments: [alarm.id, alarm.person, alarm.beganAt, alarm.endedAt, Data(sealed)])
            for (message, notice) in sent {
                try db.cachedStatement(
                    sql: "INSERT OR IGNORE INTO contact_notices (message, person, object, position, matter, at) VALUES (?, ?, ?, ?, ?, ?)"
                ).execute(arguments: [message, alarm.person, object, notice.to, notice.word, now])
            }
            if !notes.isEmpty { try AuditStore.append(notes, db) }
        }
    }

    /// Where the timeline has what happens in it.
    func object(of alarm: ContactCase) -> String {
        alarm.emergency.map { "\($0)" } ?? names.auditName(of: alarm.person)
    }

    func expire(at now: Timestamp) async throws {
        let before = (now - ContactCase.longestLife - ContactCase.linkLife).milliseconds
        try await store.write { db in
            try db.execute(
                sql: "DELETE FROM contact_cases WHERE began_at < ? OR ended_at < ?",
                arguments: [before, now - ContactCase.linkLife])
            try db.execute(sql: "DELETE FROM contact_notices WHERE at < ?", arguments: [before])
        }
    }

    private static func context(_ occasion: OccasionID) -> [UInt8] {
        Array("contact_cases|\(occasion)".utf8)
    }

    // MARK: What became of messages

    /// Follows `notify.deliveries`: a contact who could not be reached is shown in the timeline (SOS-22).
    func follower(on runtime: Runtime) -> Follower {
        Follower(family: .deliveries, on: runtime, store: store, apply: { db, event in try note(event, db) })
    }

    private func note(_ event: StreamEvent, _ db: Database) throws {
        guard let settled = try event.fact(MessageSettled.self, type: MessageSettled.type), settled.state == .failed else { return }
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT object, position, matter FROM contact_notices WHERE message = ?"),
            arguments: [settled.message])
        guard let row else { return }
        let position: Int = row["position"]
        let matter: String = row["matter"]
        let why = settled.reason.map { ": \($0)" } ?? ""
        try AuditStore.append(
            [
                AuditNote(
                    at: event.header.at, actor: "notifier", action: "contact-unreached", object: row["object"],
                    detail: "contact \(position + 1), \(matter) by \(settled.channel.rawValue)\(why)")
            ], db)
    }
}
