// SQL sentences that take a person out of the dispatcher's tables.

import Contracts
import GRDB
import ServiceKit
import Storage

/// The audit chain stays: it names pseudonyms and steps, never values, and a row that could be taken out would prove nothing.
struct PersonErasureStore: Sendable {
    let messages: MessageOutbox

    /// For the certificate.
    static let kept = "the audit chain: under a pseudonym, when help was called and by whom it was answered"

    /// A slice of it. Of data alone what the supervision itself needs stays: that it is on, and the devices.
    /// - Returns: how many rows; to be called again until it is none.
    func erase(_ db: Database, _ person: PersonID, scope: ErasureScope) throws -> Int {
        let waiting = try messages.forget(db, person)
        var slice = DeletionSlice()
        for rows in Self.ofData + (scope == .account ? Self.ofAccount : []) {
            try slice.delete(db, from: rows.table, key: rows.key, where: rows.condition, [person])
        }
        return waiting + slice.deleted
    }

    private struct Rows {
        let table: String
        let key: String
        var condition = "person = ?"
    }

    private static let line = "emergency, sequence, integrator"

    /// Lines before the messages by which they are found.
    private static let ofData = [
        Rows(table: "pair_heard", key: "number"),
        Rows(
            table: "dispatch_lines", key: line, condition: "emergency IN (SELECT emergency FROM dispatch_outbox WHERE person = ?)"),
        Rows(table: "dispatch_outbox", key: "emergency, sequence"),
        Rows(table: "emergencies", key: "emergency", condition: "person = ? AND closed_at IS NOT NULL"),
        Rows(table: "closed_lines", key: line, condition: "emergency IN (SELECT emergency FROM closed_outbox WHERE person = ?)"),
        Rows(table: "closed_outbox", key: "emergency, sequence"), Rows(table: "closed_emergencies", key: "emergency"),
        Rows(table: "prompt_answers", key: "emergency, number"), Rows(table: "seen_alerts", key: "emergency"),
        Rows(table: "contact_cases", key: "occasion"), Rows(table: "contact_notices", key: "message"),
    ]
    private static let ofAccount = [
        Rows(table: "emergencies", key: "emergency"), Rows(table: "subscribers", key: "person"),
        Rows(table: "pair_versions", key: "person"), Rows(table: "devices", key: "device"),
        Rows(table: "monitoring_pauses", key: "person"), Rows(table: "subscriptions", key: "person"),
        Rows(table: "pause_reminders", key: "person"),
    ]
}

extension SOSStore {
    /// Whether the person is subscribed, as the file says.
    func hasSubscriber(_ person: PersonID) async throws -> Bool {
        try await store.read { db in
            try Row.fetchOne(db, sql: "SELECT 1 FROM subscribers WHERE person = ?", arguments: [person]) != nil
        }
    }
}
