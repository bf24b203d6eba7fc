// Second factors: enrolled, shown at a log-in, replaced and taken away.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// What is shown once, to be put into an authenticator.
struct OfferedFactor: Sendable {
    /// Base32.
    let secret: String
    /// `otpauth://…`.
    let link: String
}

/// How an account stands.
struct SecondFactorState: Sendable {
    let since: Timestamp?
    let codesLeft: Int
    let isRequired: Bool
}

struct SecondFactors: Sendable {
    let store: Store
    let factors: SecondFactorStore
    let issuer: TokenIssuer
    let ending: SessionEndingStore
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let sessions = SessionStore()

    init(
        store: Store, factors: SecondFactorStore, issuer: TokenIssuer, ending: SessionEndingStore, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.factors, self.issuer, self.ending, self.logger, self.now) = (store, factors, issuer, ending, logger, now)
    }

    // MARK: Enrolling

    func state(in session: SessionID) async throws -> SecondFactorState {
        try await store.read { [self] db in
            guard let account = try sessions.owner(db, session) else { throw Problem.unauthorised }
            return SecondFactorState(
                since: try factors.table.find(db, account.number)?.confirmedAt, codesLeft: try factors.table.countCodes(db, account.number),
                isRequired: factors.required.contains(account.subject.kind))
        }
    }

    /// Makes a secret; until a code has confirmed it, nothing is asked for. Asked again, the secret before is forgotten.
    /// - Throws: `second-factor-enrolled`.
    func begin(in session: SessionID) async throws -> OfferedFactor {
        let time = now()
        let secret = Random.bytes(OneTimePassword.secretBytes)
        let address = try await store.write { [self] db in
            guard let account = try sessions.owner(db, session) else { throw Problem.unauthorised }
            guard try factors.table.find(db, account.number)?.confirmedAt == nil else { throw Problem.secondFactorEnrolled }
            try factors.begin(db, account, secret: secret, at: time)
            return try factors.vault.contact(account).email.text
        }
        return OfferedFactor(secret: OneTimePassword.base32(secret), link: OneTimePassword.link(secret: secret, account: address))
    }

    /// From now on every log-in asks for a code. Other sessions end: they were opened by what was enough before, and one of a thief could
    /// take the factor away again.
    /// - Returns: recovery codes, shown this once, and an access token of the session that is good for everything.
    /// - Throws: `second-factor-wrong`, `second-factor-enrolled`.
    func confirm(_ code: String, in session: SessionID) async throws -> (codes: [String], accessToken: String) {
        // What no authenticator shows is wrong without a look at the store.
        guard OneTimePassword.typed(code) != nil else { throw Problem.secondFactorWrong }
        let time = now()
        // A wrong code costs no turn of the store's writer; one that is right is judged again where it is taken.
        try await store.readBriefly { [self] db in
            guard let account = try sessions.owner(db, session) else { throw Problem.unauthorised }
            try factors.requireConfirming(db, account, code, at: time)
        }
        let codes = Self.freshCodes()
        let token = try await store.write { [self] db in
            guard let account = try sessions.owner(db, session) else { throw Problem.unauthorised }
            try factors.confirm(db, account, code, at: time)
            try factors.table.setCodes(db, account.number, codes)
            try sessions.enrolled(db, session, Authentication(at: time, methods: [.password, .oneTimePassword]))
            try factors.notify(db, account, .enrolled, at: time)
            guard let row = try sessions.find(db, session) else { throw Problem.unauthorised }
            try ending.endAll(db, of: account.number, except: session, at: time)
            return try issuer.accessToken(for: account.subject, row, at: time)
        }
        logger.notice("a second factor was enrolled", metadata: ["session": "\(session)"])
        return (codes, token)
    }

    /// In place of those there were.
    /// - Throws: `second-factor-missing` where none is enrolled.
    func renewCodes(in session: SessionID) async throws -> [String] {
        let time = now()
        let codes = Self.freshCodes()
        try await store.write { [self] db in
            guard let account = try sessions.owner(db, session) else { throw Problem.unauthorised }
            guard try factors.table.find(db, account.number)?.confirmedAt != nil else { throw Problem.secondFactorMissing }
            try factors.table.setCodes(db, account.number, codes)
            try factors.notify(db, account, .codesRenewed, at: time)
        }
        return codes
    }

    /// Whoever must have one enrols another at the next log-in.
    func remove(in session: SessionID) async throws {
        let time = now()
        try await store.write { [self] db in
            guard let account = try sessions.owner(db, session) else { throw Problem.unauthorised }
            guard try factors.table.find(db, account.number)?.confirmedAt != nil else { return }
            try factors.table.remove(db, account.number)
            try factors.notify(db, account, .removed, at: time)
        }
        logger.notice("a second factor was removed", metadata: ["session": "\(session)"])
    }

    private static func freshCodes() -> [String] {
        (0..<RecoveryCode.count).map { _ in RecoveryCode.make(from: Random.bytes(RecoveryCode.randomBytes)) }
    }
}
