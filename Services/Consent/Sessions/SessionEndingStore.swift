// Ending sessions: one place, whoever asks for it, so that every service receives it.

import Contracts
import GRDB
import ServiceKit
import Storage

/// Takes sessions out of the store, and once that is on disk refuses them at this service's door and says `session-ended` (ACC-15): of those too whose access tokens have all expired, since event
/// streams that were opened with one go on until they receive it.
struct SessionEndingStore: Sendable {
    private static let page = 500

    let facts: FactStream
    /// What the door of this service refuses from now on.
    let checker: TokenChecker
    /// What a restore must not bring to life again.
    private let revoked: RevocationList?
    private let table = SessionStore()
    private let accounts = AccountStore()

    init(facts: FactStream, checker: TokenChecker, revoked: RevocationList? = nil) {
        (self.facts, self.checker, self.revoked) = (facts, checker, revoked)
    }

    /// Why sessions end, as far as it matters to what they leave behind.
    enum Cause: Sendable {
        /// Their owner, an operator for them, or a sign of theft: what they set up goes with them, such as push endpoints.
        case ordered
        /// Nothing is held against them: a newer log-in took the place, or everybody's were ended.
        case displaced
        /// Their time was over, as it would be in any copy of the store.
        case over
    }

    // MARK: In a transaction

    func end(_ db: Database, _ rows: [SessionRow], at now: Timestamp, because cause: Cause = .ordered) throws {
        if cause != .over { try revoked?.add(rows.map(\.session), at: now) }
        for row in rows { try remove(db, row, at: now, lapsed: cause != .ordered) }
    }

    func end(_ db: Database, _ row: SessionRow, at now: Timestamp, because cause: Cause = .ordered) throws {
        try end(db, [row], at: now, because: cause)
    }

    private func remove(_ db: Database, _ row: SessionRow, at now: Timestamp, lapsed: Bool) throws {
        try table.remove(db, row.number)
        let until = SessionLife.lastTokenExpires(lastUsed: row.usedAt)
        let fact = SessionEnded(session: row.session, until: until, lapsed: lapsed)
        if until > now { try table.rememberEnded(db, fact) }
        let person = try accounts.find(db, number: row.account)?.subject.person
        db.afterCommit { [checker] in checker.learn(.sessionEnded(fact)) }
        try facts.publish(db, type: SessionEnded.type, subject: person, body: fact, at: now)
    }

    /// Ends every session of the account but one, and what those that lapsed before have left.
    func endAll(_ db: Database, of account: AccountNumber, except kept: SessionID? = nil, at now: Timestamp) throws {
        try end(db, table.all(db, of: account).filter { $0.session != kept }, at: now)
        try revokeLapsed(db, of: account, at: now)
    }

    /// What sessions that lapsed have set up ends as well, though nothing was held against them. Accounts of nobody have nothing such.
    func revokeLapsed(_ db: Database, of account: AccountNumber, at now: Timestamp) throws {
        guard let person = try accounts.find(db, number: account)?.subject.person else { return }
        try facts.publish(db, type: LapsedSessionsRevoked.type, subject: person, body: LapsedSessionsRevoked(person: person), at: now)
    }

    // MARK: Knowing

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
        try await store.read { [table, facts] db in
            try StateStream<SessionEnded>(SessionEnded.type, in: facts.log).snapshot(db, request, limit: Self.page) {
                (after: Int64, limit: Int) in
                try table.ended(db, after: after, limit: limit, at: now).map { ($0.number, nil, $0.ended) }
            }
        }
    }
}
