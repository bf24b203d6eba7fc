// SQL sentences about what people have answered to their prompts, and which alerts that passed they have seen.

import Contracts
import Foundation
import GRDB
import Storage

/// `prompt_answers`: the same answer again gets the first reply again, also after a restart.
struct PromptStore: Sendable {
    struct Given: Hashable, Sendable {
        var answer: AnswerPrompt.Answer
        var at: Timestamp
        var alreadyDispatched: Bool
        /// It does not count yet and is not stored.
        var asksBack = false
        /// That a call for help calls for, where the one that was named is over; nil for the one that was answered. Not stored.
        var calledFor: EmergencyID?
    }

    let store: Store

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE prompt_answers (
                    emergency BLOB NOT NULL,
                    -- Counts from 1 for each emergency.
                    number INTEGER NOT NULL,
                    person BLOB NOT NULL,
                    answer TEXT NOT NULL,
                    at INTEGER NOT NULL,
                    already_dispatched INTEGER NOT NULL,
                    PRIMARY KEY (emergency, number)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX prompt_answers_by_person ON prompt_answers (person);
                """)
    }

    static func createSeen(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE seen_alerts (
                    emergency BLOB PRIMARY KEY,
                    person BLOB NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX seen_alerts_by_person ON seen_alerts (person);
                """)
    }

    /// Alerts that ended after `time` by themselves, before anybody was called, and that the person has not seen; the newest first.
    func unseen(of person: PersonID, endedAfter time: Timestamp, limit: Int) async throws -> [EmergencyRecord] {
        try await store.read { db in
            try Row.fetchAll(
                db, sql: EmergencyQuery.unseen.sql, arguments: [person, EmergencyRecord.State.transient.rawValue, time, limit]
            ).compactMap(EmergencyRecord.init)
        }
    }

    /// Nothing changes where it is none of this person's that has passed.
    func see(_ emergency: EmergencyID, by person: PersonID, at time: Timestamp) async throws {
        try await store.write { db in
            try db.cachedStatement(
                sql: """
                    INSERT INTO seen_alerts (emergency, person, at)
                    SELECT emergency, person, ? FROM every_emergency WHERE emergency = ? AND person = ? AND state = ?
                    ON CONFLICT (emergency) DO NOTHING
                    """
            ).execute(arguments: [time, emergency, person, EmergencyRecord.State.transient.rawValue])
        }
    }

    /// The last one of the emergency.
    func latest(of emergency: EmergencyID) async throws -> Given? {
        try await store.read { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT answer, at, already_dispatched FROM prompt_answers WHERE emergency = ? ORDER BY number DESC LIMIT 1",
                arguments: [emergency])
            guard let row, let answer = AnswerPrompt.Answer(rawValue: row["answer"]) else { return nil }
            return Given(answer: answer, at: row["at"], alreadyDispatched: row["already_dispatched"])
        }
    }

    /// Stored in the transaction of what the answer does.
    static func remembering(_ given: Given, of emergency: EmergencyID, by person: PersonID) -> SealedBatchStore.FurtherWrite {
        { db in
            try db.cachedStatement(
                sql: """
                    INSERT INTO prompt_answers (emergency, number, person, answer, at, already_dispatched)
                    SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ? FROM prompt_answers WHERE emergency = ?
                    """
            ).execute(arguments: [emergency, person, given.answer.rawValue, given.at, given.alreadyDispatched, emergency])
        }
    }
}

extension SOSStore {
    /// Emergencies that are open or were closed after that.
    func emergencies(openOrClosedAfter time: Timestamp) async throws -> [EmergencyRecord] {
        try await store.read { db in
            try Row.fetchAll(db, sql: EmergencyQuery.openOrClosedAfter.sql, arguments: [time]).compactMap(EmergencyRecord.init)
        }
    }
}
