// What an operator can order about everybody's sessions: that they end, of one account or of all.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

struct SessionOrders: Sendable {
    /// Of one transaction.
    private static let page = 500

    let store: Store
    let lookups: AccountLookups
    let ending: SessionEndingStore
    let answers: StoredAnswers
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let sessions = SessionStore()
    private let accounts = AccountStore()

    init(
        store: Store, lookups: AccountLookups, ending: SessionEndingStore, answers: StoredAnswers, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.lookups, self.ending, self.answers) = (store, lookups, ending, answers)
        (self.logger, self.now) = (logger, now)
    }

    func register(in methods: inout Methods) {
        methods.on(EndSessions.self) { try await end($0, $1) }
    }

    private func end(_ order: EndSessions, _ asked: RequestContext) async throws -> EndSessions.Reply {
        var email: EmailAddress?
        if let typed = order.email {
            guard let read = EmailAddress(typed) else { throw Failure(.invalid, "email is not an address") }
            email = read
        }
        var count = 0
        var wasLast: Bool
        repeat {
            let time = now()
            let more = try await store.write { [self, email, count] db -> Int in
                var owner: AccountNumber?
                if let email {
                    guard let found = try accounts.find(db, email: lookups.email(email)) else {
                        throw Failure(.notFound, "nobody has that address")
                    }
                    owner = found.number
                }
                let rows = try sessions.page(db, of: owner, limit: Self.page)
                // Where they are everybody's nothing is known of any one, and no phone that wakes somebody falls silent for it.
                try ending.end(db, rows, at: time, because: email == nil ? .displaced : .ordered)
                if rows.count < Self.page, let owner { try ending.revokeLapsed(db, of: owner, at: time) }
                if rows.count < Self.page { try answers.remember(EndSessions.Reply(sessions: count + rows.count), to: asked, in: db) }
                return rows.count
            }
            (count, wasLast) = (count + more, more < Self.page)
        } while !wasLast
        logger.notice("sessions were ended by an operator", metadata: ["sessions": "\(count)", "trace": "\(asked.trace)"])
        return EndSessions.Reply(sessions: count)
    }
}
