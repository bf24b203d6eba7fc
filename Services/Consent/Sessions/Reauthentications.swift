// Proving once more who one is, within a session: what changes the keys of an account asks for it.

import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

struct Reauthentications: Sendable {
    let store: Store
    let table: LogInStore
    let hasher: PasswordHasher
    let factors: SecondFactorStore
    let issuer: TokenIssuer
    let logger: Logger
    let now: @Sendable () -> Timestamp
    private let sessions = SessionStore()

    init(
        store: Store, table: LogInStore, hasher: PasswordHasher, factors: SecondFactorStore, issuer: TokenIssuer, logger: Logger,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.table, self.hasher, self.factors) = (store, table, hasher, factors)
        (self.issuer, self.logger, self.now) = (issuer, logger, now)
    }

    /// What is shown: the password, or a code of the second factor, or both; of whoever has enrolled one, never the password alone.
    enum Proof: Sendable {
        case password(String)
        case code(String)
        case both(password: String, code: String)

        var password: String? {
            switch self {
            case .password(let password), .both(let password, _): password
            case .code: nil
            }
        }

        var code: String? {
            switch self {
            case .code(let code), .both(_, let code): code
            case .password: nil
            }
        }
    }

    /// - Returns: an access token of the same session that has just been proved.
    /// - Throws: `wrong-proof`, which counts as a failed log-in unless a code is missing beside the right password; 429 for whoever tries too often.
    func prove(_ proof: Proof, in session: SessionID) async throws -> String {
        guard let account = try await store.readBriefly({ [sessions] db in try sessions.owner(db, session) }) else {
            throw Problem.unauthorised
        }
        let begun: LogInTry
        switch try await store.write({ [table, now] db in try table.begin(db, account: account, at: now()) }) {
        case .wait(let wait): throw Refusal(.tooManyRequests, retryAfter: wait)
        case .go(let turn): begun = turn
        }
        if let password = proof.password { try await check(password, begun) }
        let time = now()
        let outcome = try await store.write { [self] db -> Outcome in
            var methods: Set<Authentication.Method> = proof.password == nil ? [] : [.password]
            switch try factors.check(db, account, proof.code, at: time) {
            case .right: methods.insert(.oneTimePassword)
            case .notEnrolled where proof.code == nil: break
            case .missing:
                try table.tookBack(db, begun)
                return .lacksCode
            case .notEnrolled, .wrong: return .wrong
            }
            try table.succeeded(db, begun)
            try sessions.authenticated(db, session, Authentication(at: time, methods: methods))
            guard let row = try sessions.find(db, session) else { throw Problem.unauthorised }
            return .proved(try issuer.accessToken(for: account.subject, row, at: time))
        }
        switch outcome {
        case .proved(let token):
            logger.info("reauthenticated", metadata: ["session": "\(session)"])
            return token
        case .lacksCode: throw Problem.proofLacksCode
        case .wrong: throw Problem.wrongProof
        }
    }

    private enum Outcome {
        case proved(String)
        case lacksCode
        case wrong
    }

    private func check(_ password: String, _ begun: LogInTry) async throws {
        do {
            guard case .right = try await hasher.check(password, against: begun.credential?.hash) else { throw Problem.wrongProof }
        } catch let refusal as Refusal {
            try? await store.write { [table] db in try table.tookBack(db, begun) }
            throw refusal
        }
    }
}
