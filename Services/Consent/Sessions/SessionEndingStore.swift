// Ending sessions: one place, whoever asks for it, so that every service hears of it.

import Contracts
import GRDB
import ServiceKit
import Storage

/// Sessions that were ended in a transaction; to be told once that is committed.
struct EndedSessions: Sendable {
    var sessions: [SessionEnded] = []
    var facts: [EventRelay.Committed] = []

    mutating func add(_ other: EndedSessions) {
        sessions += other.sessions
        facts += other.facts
    }
}

/// Takes sessions out of the store and says `session-ended` (ACC-15): of those too whose access tokens have all expired, since event
/// streams that were opened with one go on until they hear of it.
struct SessionEnding: Sendable {
    private static let page = 500

    let facts: FactStream
    /// What the door of this service refuses from now on.
    let checker: TokenChecker
    private let table = SessionTable()
    private let accounts = AccountTable()

    init(facts: FactStream, checker: TokenChecker) {
        (self.facts, self.checker) = (facts, checker)
    }

    // MARK: In a transaction

    func end(_ db: Database, _ row: SessionRow, at now: Timestamp) throws -> EndedSessions {
        try table.remove(db, row.number)
        let until = SessionLife.lastTokenExpires(lastUsed: row.usedAt)
        let fact = SessionEnded(session: row.session, until: until)
        if until > now { try table.rememberEnded(db, fact) }
        let person = try accounts.find(db, number: row.account)?.subject.person
        return EndedSessions(
            sessions: [fact], facts: [try facts.append(db, type: SessionEnded.type, subject: person, body: fact, at: now)])
    }

    /// Ends every session of the account but one.
    func endAll(_ db: Database, of account: AccountNumber, except kept: SessionID? = nil, at now: Timestamp) throws -> EndedSessions {
        var all = EndedSessions()
        for row in try table.all(db, of: account) where row.session != kept { all.add(try end(db, row, at: now)) }
        return all
    }

    // MARK: After the commit

    func committed(_ new: EndedSessions) {
        for session in new.sessions { checker.learn(.sessionEnded(session)) }
        facts.publish(new.facts)
    }

    /// Reads what ended before a restart.
    func load(from store: Store, at now: Timestamp) async throws {
        var after: Int64 = 0
        while true {
            let page = try await store.read { [table, after] db in try table.ended(db, after: after, limit: Self.page, at: now) }
            for row in page { checker.learn(.sessionEnded(row.ended)) }
            guard page.count == Self.page, let last = page.last else { return }
            after = last.number
        }
    }

    /// A page of `consent.sessions`: sessions whose tokens somebody might still believe.
    func snapshot(_ request: SnapshotStream, in store: Store, at now: Timestamp) async throws -> SnapshotStream.Reply {
        guard let after = Int64(request.after ?? "0") else { throw Failure(.invalid, "after is the next of the page before") }
        return try await store.read { [table, facts] db in
            let rows = try table.ended(db, after: after, limit: Self.page, at: now)
            return try facts.snapshot(
                db, type: SessionEnded.type, facts: rows.map { (subject: nil, body: $0.ended) },
                next: rows.count == Self.page ? rows.last.map { String($0.number) } : nil)
        }
    }
}
