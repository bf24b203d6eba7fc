// SQL sentences about what people have answered to their prompts.

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

    /// The last one of the emergency.
    func latest(of emergency: EmergencyID) async throws -> Given? {
        try await store.read { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT answer, at, already_dispatched FROM prompt_answers WHERE emergency = ? ORDER BY number DESC LIMIT 1",
                arguments: [emergency.data])
            guard let row, let answer = AnswerPrompt.Answer(rawValue: row["answer"]) else { return nil }
            return Given(answer: answer, at: Timestamp(milliseconds: row["at"]), alreadyDispatched: row["already_dispatched"])
        }
    }

    /// Stored in the transaction of what the answer does.
    static func remembering(_ given: Given, of emergency: EmergencyID, by person: PersonID) -> RememberedAnswer {
        RememberedAnswer { db in
            try db.cachedStatement(
                sql: """
                    INSERT INTO prompt_answers (emergency, number, person, answer, at, already_dispatched)
                    SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ? FROM prompt_answers WHERE emergency = ?
                    """
            ).execute(arguments: [
                emergency.data, person.data, given.answer.rawValue, given.at.milliseconds, given.alreadyDispatched, emergency.data,
            ])
        }
    }
}

extension SOSStore {
    /// Emergencies that are open or were closed after that.
    func emergencies(openOrClosedAfter time: Timestamp) async throws -> [EmergencyRecord] {
        try await store.read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM every_emergency WHERE closed_at IS NULL OR closed_at > ?", arguments: [time.milliseconds]
            ).compactMap(EmergencyRecord.init)
        }
    }
}
