// Who is logged in, as every service finds out by itself: no question to consent, so that none is needed while it is down.

package import Contracts
package import GRDB
package import HTTPKit
import Sealing
package import Storage
import Synchronization

/// Checks access tokens against what consent says on `consent.signing-keys`, `consent.sessions` and `consent.erasures`. What it
/// knows lies in the service's own store and in memory. A log-out is in force once its fact has been heard.
package final class TokenChecker: Sendable {
    /// Between two looks at all rows: there are many after all sessions were ended.
    private static let expiryPause = Duration.seconds(60)

    private let tables = TokenTables()
    private let issuer: String
    private let rules: Mutex<TokenRules>
    /// When rows were last looked at for those that may go, by the stream's time.
    private let expired = Mutex(Timestamp(milliseconds: 0))
    /// What was proved lately, by the SHA-256 of the token: whoever asks again costs no second signature.
    private let proved = Mutex<[[UInt8]: TokenRules.Proved]>([:])
    private static let mostProved = 4096

    /// A piece of the service's migration.
    package static func create(in db: Database) throws {
        try TokenTables.create(in: db)
    }

    /// - Parameter issuer: the suite's public origin, which every token names.
    package init(store: Store, issuer: String) throws {
        let tables = tables
        self.issuer = issuer
        rules = Mutex(try store.readNow { try tables.load($0) })
    }

    // MARK: Checking

    /// The claims of a good token; nil for every other.
    package func check(_ bearer: String, now: Timestamp = .now) -> AccessTokenClaims? {
        let rules = rules.withLock { $0 }
        let name = Digest.sha256(bearer.utf8)
        guard let proved = proved.withLock({ $0[name] }) ?? prove(bearer, name, by: rules, now: now) else { return nil }
        return rules.holds(proved, issuer: issuer, now: now) ? proved.claims : nil
    }

    private func prove(_ bearer: String, _ name: [UInt8], by rules: TokenRules, now: Timestamp) -> TokenRules.Proved? {
        guard let found = rules.prove(bearer, now: now) else { return nil }
        proved.withLock { proved in
            if proved.count >= Self.mostProved { proved.removeAll(keepingCapacity: true) }
            proved[name] = found
        }
        return found
    }

    /// Who asks, for a route that admits accounts. A device's own token (`owner`) is the service's to try before.
    /// - Throws: `unauthorised`, and what `AccountAccess.caller` refuses.
    package func caller(for credentials: Credentials, access: Access, now: Timestamp = .now) throws(Problem) -> Caller {
        guard let claims = check(credentials.bearer, now: now) else { throw .unauthorised }
        return try AccountAccess.caller(for: claims, access: access, now: now)
    }

    /// As `caller`, of a token that was proved lately: takes microseconds. Nil for every other, good or not.
    /// - Throws: as `caller`.
    package func known(_ credentials: Credentials, access: Access, now: Timestamp = .now) throws(Problem) -> Caller? {
        guard let proved = proved.withLock({ $0[Digest.sha256(credentials.bearer.utf8)] }),
            rules.withLock({ $0 }).holds(proved, issuer: issuer, now: now)
        else { return nil }
        return try AccountAccess.caller(for: proved.claims, access: access, now: now)
    }

    /// Whether somebody who was proved then may go on listening: until the session ends, the account is erased, or the person's data are.
    /// Devices and programs have no session; their person's erasure alone is known here.
    package func stands(_ caller: Caller, since provedAt: Timestamp) -> Bool {
        let (session, person): (SessionID?, PersonID?) =
            switch caller {
            case .person(let person, let session): (session, person)
            case .member(_, _, let session), .operator(_, let session): (session, nil)
            case .device(_, let person, _): (nil, person)
            case .anyone, .integrator, .client: (nil, nil)
            }
        guard session != nil || person != nil else { return true }
        return rules.withLock { $0.stands(session: session, person: person, since: provedAt) }
    }

    /// Whether the session of a token that was good a moment ago has ended, as this transaction sees it: for what is to end with the session.
    package func hasEnded(_ db: Database, _ session: SessionID) throws -> Bool {
        try tables.hasEnded(db, session)
    }

    /// Whether it could find any token good: until consent was heard once, nobody can log in here.
    package var isReady: Bool {
        rules.withLock { $0.knowsKeys }
    }

    // MARK: What consent says

    /// Keeps what an event of `.accounts` tells, in the transaction of its position. Then call `heard`.
    package func apply(_ db: Database, _ event: StreamEvent) throws {
        for fact in try Fact.all(of: event) { try keep(db, fact) }
        let isDue = expired.withLock { last in
            guard event.header.at - last >= Self.expiryPause else { return false }
            last = event.header.at
            return true
        }
        if isDue { try tables.expire(db, now: event.header.at) }
    }

    /// As `apply`, for one fact of a snapshot of one of the streams. Then call `heard`.
    /// - Returns: what `keys` calls a signing key. Others have no name: who is gone stays gone, for the snapshot holds the unconfirmed alone,
    ///   and so does a session that has ended, of which consent knows nothing where it was restored from a copy.
    package func take(_ db: Database, _ event: StreamEvent) throws -> [UInt8]? {
        let facts = try Fact.all(of: event)
        for fact in facts { try keep(db, fact) }
        guard case .key(let key)? = facts.first else { return nil }
        return Array(key.keyID.utf8)
    }

    /// The signing keys that are known, as `SnapshotRules` asks for them; nothing of the other streams.
    package func keys(_ db: Database, of stream: String, after: [UInt8], limit: Int) throws -> [[UInt8]] {
        guard stream == StreamFamily.signingKeysStream else { return [] }
        return try tables.keys(db, after: String(decoding: after, as: UTF8.self), limit: limit).map { Array($0.utf8) }
    }

    /// Consent has this key no more.
    /// - Returns: what to do after the commit.
    package func forget(_ db: Database, key: [UInt8]) throws -> SnapshotRules.Effect {
        let keyID = String(decoding: key, as: UTF8.self)
        try tables.drop(db, key: keyID)
        return { [self] in rules.withLock { $0.forget(key: keyID) } }
    }

    /// Call after the commit of the transaction that stored the same facts.
    package func heard(_ events: [StreamEvent], at now: Timestamp = .now) {
        let facts = events.flatMap { (try? Fact.all(of: $0)) ?? [] }
        let said = events.map(\.header.at).max()
        rules.withLock { rules in
            for fact in facts { Self.learn(fact, &rules, now) }
            if let said { rules.expire(now: said) }
        }
    }

    // MARK: For consent itself, which consumes no stream

    /// What consent is about to say, in the same transaction. Then call `learn`.
    package func keep(_ db: Database, _ fact: Fact) throws {
        switch fact {
        case .key(let key): try tables.keep(db, key)
        case .sessionEnded(let ended): try tables.keep(db, ended)
        case .personGone(let person, let at): try tables.keep(db, gone: person, at: at)
        // Ends what listens now; nothing that begins after a restart.
        case .dataErased: break
        }
    }

    /// After the commit.
    package func learn(_ fact: Fact) {
        rules.withLock { Self.learn(fact, &$0, .now) }
    }

    private static func learn(_ fact: Fact, _ rules: inout TokenRules, _ now: Timestamp) {
        switch fact {
        case .key(let key): rules.learn(key)
        case .sessionEnded(let ended):
            rules.learn(ended)
            rules.learn(endOf: ended.session, at: now)
        case .personGone(let person, let at): rules.learn(gone: person, at: at)
        case .dataErased(let person): rules.learn(dataErasedOf: person, at: now)
        }
    }

    /// Forgets what no token that is still valid can meet: for consent, which keeps its own record; elsewhere the stream's time does it.
    package func expire(now: Timestamp) {
        rules.withLock { $0.expire(now: now) }
    }

    /// What matters to tokens.
    package enum Fact: Sendable {
        case key(SigningKeyState)
        case sessionEnded(SessionEnded)
        /// The account is no more; one whose data alone were erased stays logged in.
        case personGone(PersonID, at: Timestamp)
        /// The account goes on with nothing in it.
        case dataErased(PersonID)

        fileprivate static func all(of event: StreamEvent) throws -> [Fact] {
            if let key = try event.fact(SigningKeyState.self, type: SigningKeyState.type) { return [.key(key)] }
            if let ended = try event.fact(SessionEnded.self, type: SessionEnded.type) { return [.sessionEnded(ended)] }
            if let erased = try event.fact(PersonErased.self, type: PersonErased.type) {
                return [erased.scope == .account ? .personGone(erased.person, at: erased.orderedAt) : .dataErased(erased.person)]
            }
            return []
        }
    }
}
