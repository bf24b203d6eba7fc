// SQL sentences that take a person out of the dispatcher's tables.

import Contracts
import GRDB
import ServiceKit
import Storage

/// The audit chain stays: it names pseudonyms and steps, never values, and a row that could be taken out would prove nothing.
struct PersonErasure: Sendable {
    let messages: MessageOutbox

    /// For the certificate.
    static let kept = "the audit chain: under a pseudonym, when help was called and by whom it was answered"

    /// - Returns: how many rows. Of data alone what the supervision itself needs stays: that it is on, and the devices.
    func erase(_ db: Database, _ person: PersonID, scope: ErasureScope) throws -> Int {
        var sentences = [
            "DELETE FROM pair_heard WHERE person = ?",
            "DELETE FROM dispatch_lines WHERE emergency IN (SELECT emergency FROM dispatch_outbox WHERE person = ?)",
            "DELETE FROM dispatch_outbox WHERE person = ?", "DELETE FROM emergencies WHERE person = ? AND closed_at IS NOT NULL",
            "DELETE FROM closed_lines WHERE emergency IN (SELECT emergency FROM closed_outbox WHERE person = ?)",
            "DELETE FROM closed_outbox WHERE person = ?", "DELETE FROM closed_emergencies WHERE person = ?",
            "DELETE FROM prompt_answers WHERE person = ?", "DELETE FROM seen_alerts WHERE person = ?",
            "DELETE FROM contact_cases WHERE person = ?",
            "DELETE FROM contact_notices WHERE person = ?",
        ]
        if scope == .account {
            sentences += [
                "DELETE FROM emergencies WHERE person = ?", "DELETE FROM subscribers WHERE person = ?",
                "DELETE FROM pair_versions WHERE person = ?",
                "DELETE FROM devices WHERE person = ?", "DELETE FROM monitoring_pauses WHERE person = ?",
                "DELETE FROM subscriptions WHERE person = ?", "DELETE FROM pause_reminders WHERE person = ?",
            ]
        }
        return try sentences.reduce(messages.forget(db, person)) { count, sentence in
            try db.execute(sql: sentence, arguments: [person.data])
            return count + db.changesCount
        }
    }
}

extension SOSStore {
    /// Whether the person is subscribed, as the file says.
    func hasSubscriber(_ person: PersonID) async throws -> Bool {
        try await store.read { db in
            try Row.fetchOne(db, sql: "SELECT 1 FROM subscribers WHERE person = ?", arguments: [person.data]) != nil
        }
    }
}
