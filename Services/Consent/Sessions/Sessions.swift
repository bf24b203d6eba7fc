// Sessions that exist: refreshed, listed, ended, and swept away when they are over.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// A session as its owner sees it.
struct SessionView: Sendable {
    let session: SessionID
    let device: String
    let createdAt: Timestamp
    let usedAt: Timestamp
    let until: Timestamp
    let isCurrent: Bool
}

struct Sessions: Sendable {
    private static let sweepPage = 500
    private static let sweepEach = Duration.seconds(600)
    /// Event streams end within a second of their session, wherever they are.
    private static let endEach = Duration.milliseconds(400)

    let settings: LogInSettings
    let store: Store
    let vault: ProfileVault
    let logIns: LogInStore
    let issuer: TokenIssuer
    let ending: SessionEndingStore
    /// Of successors of refresh tokens.
    private let rotation: SymmetricKey
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let table = SessionStore()
    private let accounts = AccountStore()

    init(
        settings: LogInSettings, store: Store, vault: ProfileVault, logIns: LogInStore, issuer: TokenIssuer, ending: SessionEndingStore,
        rotation: SymmetricKey, logger: Logger, now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.settings, self.store, self.vault, self.logIns) = (settings, store, vault, logIns)
        (self.issuer, self.ending, self.rotation, self.logger, self.now) = (issuer, ending, rotation, logger, now)
    }

    /// Where a session's label is sealed.
    static func labelPlace(_ session: SessionID) -> String {
        "sessions.label \(session)"
    }

    // MARK: Refreshing

    private enum Refreshed: Sendable {
        case tokens(IssuedTokens)
        /// The answer that was given before.
        case again(IssuedTokens, SessionID)
        case over
        /// A token that had been spent: two hold it.
        case reused(SessionID)
        case unknown
    }

    /// Gives the next access and refresh token and spends the one that was shown. The one spent last gives the same answer again for a
    /// minute, as long as nobody has used what it gave.
    /// - Throws: `session-over`; the whole session ends where any other spent token comes again.
    func refresh(_ text: String) async throws -> IssuedTokens {
        guard let token = RefreshToken(text) else { throw Problem.sessionOver }
        let time = now()
        let refreshed = try await store.write { [self] db -> Refreshed in
            guard let row = try table.find(db, family: token.familyDigest), let account = try accounts.find(db, number: row.account) else {
                return .unknown
            }
            guard isGood(token, for: row) else {
                if let last = row.lastRefresh,
                    SpentTokenVerdict.judge(spentAt: Self.spentAt(token, last, row), now: time) == .sameAnswer
                {
                    return .again(try Self.open(last.answer, token, row.session), row.session)
                }
                try ending.end(db, row, at: time)
                return .reused(row.session)
            }
            let life = settings.life(of: account.subject.kind)
            guard account.state != .closing, !life.isOver(created: row.createdAt, lastUsed: row.usedAt, at: time) else {
                try ending.end(db, row, at: time, because: account.state == .closing ? .ordered : .over)
                return .over
            }
            let next = token.successor(under: rotation)
            let endsAt = life.end(created: row.createdAt, lastUsed: time)
            let issued = try issuer.tokens(
                for: account.subject, row, refresh: next, until: endsAt, at: time)
            let answer = try Seal.seal(JSONEncoder().encode(issued), key: token.key(), context: Self.context(row.session))
            try table.refresh(db, row, from: token, to: next, answer: answer, at: time, endsAt: endsAt)
            return .tokens(issued)
        }
        switch refreshed {
        case .tokens(let issued): return issued
        case .again(let issued, let session):
            logger.info("the answer to a repeated refresh was sent again", metadata: ["session": "\(session)"])
            return issued
        case .reused(let session):
            logger.warning("a spent refresh token was shown; its session was ended", metadata: ["session": "\(session)"])
        case .over, .unknown: break
        }
        throw Problem.sessionOver
    }

    /// The session's own token. Where the store was put back, and the session was not refreshed since, also one of those that came after it,
    /// of which the store knows nothing; whoever holds another of them is found out when it is shown.
    private func isGood(_ token: RefreshToken, for row: SessionRow) -> Bool {
        Digest.constantTimeEqual(row.secret, token.secretDigest) || row.isRestored && token.follows(row.secret, under: rotation)
    }

    /// When the session's latest refresh spent this token. In a store that was restored what it gave may have been used since the copy.
    private static func spentAt(_ token: RefreshToken, _ last: SessionRow.LastRefresh, _ row: SessionRow) -> Timestamp? {
        Digest.constantTimeEqual(last.secret, token.secretDigest) && !row.isRestored ? last.at : nil
    }

    private static func open(_ answer: [UInt8], _ token: RefreshToken, _ session: SessionID) throws -> IssuedTokens {
        try JSONDecoder().decode(IssuedTokens.self, from: Data(Seal.open(answer, key: token.key(), context: context(session))))
    }

    private static func context(_ session: SessionID) -> [UInt8] {
        Array("sessions.answer \(session)".utf8)
    }

    // MARK: Listing and ending

    /// The sessions of whoever asks, last used first.
    func list(for current: SessionID) async throws -> [SessionView] {
        let time = now()
        return try await store.read { [self] db in
            guard let account = try table.owner(db, current) else { throw Problem.unauthorised }
            let life = settings.life(of: account.subject.kind)
            return try table.all(db, of: account.number)
                .filter { !life.isOver(created: $0.createdAt, lastUsed: $0.usedAt, at: time) }
                .map { row in
                    let label = try vault.open(row.label, at: Self.labelPlace(row.session), of: account.subject)
                    return SessionView(
                        session: row.session, device: String(decoding: label, as: UTF8.self), createdAt: row.createdAt, usedAt: row.usedAt,
                        until: life.end(created: row.createdAt, lastUsed: row.usedAt), isCurrent: row.session == current)
                }
        }
    }

    /// Ends one session of whoever asks; another's is not found.
    func end(_ session: SessionID, for current: SessionID) async throws {
        let time = now()
        try await store.write { [self] db in
            guard let account = try table.owner(db, current) else { throw Problem.unauthorised }
            guard let row = try table.find(db, session), row.account == account.number else { throw Problem.notFound }
            try ending.end(db, row, at: time)
        }
        logger.info("logged out", metadata: ["session": "\(session)"])
    }

    /// Ends all sessions of whoever asks.
    /// - Returns: how many.
    func endAll(for current: SessionID, keepingCurrent: Bool) async throws -> Int {
        let time = now()
        let count = try await store.write { [self] db in
            guard let account = try table.owner(db, current) else { throw Problem.unauthorised }
            let count = try table.all(db, of: account.number).count - (keepingCurrent ? 1 : 0)
            try ending.endAll(db, of: account.number, except: keepingCurrent ? current : nil, at: time)
            return count
        }
        logger.info("logged out everywhere", metadata: ["sessions": "\(count)"])
        return count
    }

    // MARK: Sweeping

    /// Removes what is over, whoever it was; runs until it is cancelled.
    func run() async throws {
        while true {
            try await sweep()
            let next = ContinuousClock.now + Self.sweepEach
            while .now < next {
                try await endThoseOver()
                // The interval: what is over is ended so long afterwards at the latest.
                try await Task.sleep(for: Self.endEach)
            }
        }
    }

    /// Ends sessions whose time has come, so that every service receives it. Writes only where there are some.
    func endThoseOver() async throws {
        let time = now()
        guard try await !store.read({ [table] db in try table.over(db, at: time, limit: 1) }).isEmpty else { return }
        try await remove(.over, at: time)
    }

    func sweep() async throws {
        let time = now()
        ending.checker.expire(now: time)
        try await store.write { [table, logIns] db in
            try table.forgetEnded(db, at: time)
            try logIns.expire(db, at: time)
            try MailLinkStore().expire(db, at: time)
        }
        try await endThoseOver()
        // Those of before their ends were kept.
        try await remove(.unused, at: time)
    }

    private enum Due {
        case over
        case unused
    }

    /// Page by page, until a page is not full.
    private func remove(_ due: Due, at time: Timestamp) async throws {
        var removed: Int
        repeat {
            removed = try await store.write { [self] db in
                let rows =
                    switch due {
                    case .over: try table.over(db, at: time, limit: Self.sweepPage)
                    case .unused: try table.unused(db, since: time - settings.life.idle, limit: Self.sweepPage)
                    }
                try ending.end(db, rows, at: time, because: .over)
                return rows.count
            }
        } while removed == Self.sweepPage
    }
}
