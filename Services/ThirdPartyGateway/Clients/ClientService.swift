// An organisation's programs: their secrets, and the tokens that they get for them (ORG-11; RFC 6749 §4.4).

import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage
import Synchronization

/// How secrets and tokens are spelt: a prefix that leak scanners can look for, and 256 random bits.
enum ClientToken {
    static let life = Duration.seconds(3600)
    private static let tokenPrefix = "tmat_"
    private static let secretPrefix = "tmcs_"

    static func makeToken() -> String { tokenPrefix + Base64URL.encode(Random.bytes(32)) }
    static func makeSecret() -> String { secretPrefix + Base64URL.encode(Random.bytes(32)) }

    /// Whether it may be one of ours; tokens of log-ins never are.
    static func looksLikeOne(_ bearer: String) -> Bool { bearer.hasPrefix(tokenPrefix) }

    /// What the store keeps. A plain digest is enough, since nobody can try out 256 random bits.
    static func digest(_ text: String) -> [UInt8] { Digest.sha256(Array("api|\(text)".utf8)) }
}

/// Why no token was given, by the names of RFC 6749 §5.2.
enum TokenRefusal: String, Error, CaseIterable, Sendable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case invalidScope = "invalid_scope"
}

/// A client with its secret, which is shown this once; kept sealed for a repeated request.
struct MadeClient: Codable, Hashable, Sendable {
    var client: ClientID
    var secret: String
}

final class ClientService: Sendable {
    /// Good tokens of one client; the oldest are not ended for new ones, since somebody may be using them.
    static let mostTokens = 1000
    /// Tokens that are remembered; more are read again.
    private static let mostKnown = 10_000

    private struct Known {
        var tokens: [[UInt8]: TokenRow] = [:]
        /// Grows with every change: whoever read before one does not bring an old token back.
        var changes = 0
    }

    private let settings: OrganisationSettings
    private let store: Store
    private let table: ClientStore
    private let repository: OrganisationRepository
    private let directory: OrganisationRegister
    private let firstAnswers: FirstAnswers<MadeClient>
    private let logger: Logger
    /// What was shown and proved nobody.
    let refused: RefusedCredentials
    private let known = Mutex(Known())

    init(
        settings: OrganisationSettings, store: Store, table: ClientStore, repository: OrganisationRepository,
        directory: OrganisationRegister, answersKey: SymmetricKey, logger: Logger
    ) {
        (self.settings, self.store, self.table, self.logger) = (settings, store, table, logger)
        (self.repository, self.directory) = (repository, directory)
        firstAnswers = FirstAnswers(secret: answersKey)
        refused = RefusedCredentials(logger: logger)
    }

    // MARK: Clients

    func page(of organisation: OrganisationID, after: Int64, limit: Int) async throws -> (rows: [ClientRow], next: Int64?) {
        let found = try await store.read { [table] db in try table.page(db, of: organisation, after: after, limit: limit + 1) }
        let page = found.prefix(limit)
        return (page.map { $0.row }, found.count > limit ? page.last?.number : nil)
    }

    /// - Throws: `rights-beyond-own` for rights that whoever asks has not; `too-many-clients`.
    func make(
        label: String, rights: Set<Right>, by standing: Standing, request: RepeatableRequest, at: Timestamp
    ) async throws -> (made: MadeClient, row: ClientRow, isRepeated: Bool) {
        try Self.require(standing, mayGive: rights)
        let made = MadeClient(client: .random(), secret: ClientToken.makeSecret())
        let fresh = ClientRow(
            id: made.client, organisation: standing.id, label: label, rights: rights, secret: ClientToken.digest(made.secret),
            oldSecret: nil, oldUntil: nil, createdAt: at, usedAt: nil)
        let most = settings.clientsMost
        let result = try await store.write { [table, repository, firstAnswers] db -> (MadeClient, ClientRow, Bool) in
            if let first = try firstAnswers.find(db, request) {
                guard let row = try table.find(db, first.client, of: standing.id) else { throw Problem.notFound }
                return (first, row, true)
            }
            guard try table.count(db, of: standing.id) < most else {
                throw Problem.tooManyClients.saying(
                    "There may be \(most). Delete one that is not used any more.",
                    italian: "Ce ne possono essere \(most). Ne elimini uno che non si usa più.")
            }
            try table.add(db, fresh)
            try repository.tell(db, standing.id, .clientMade, at: at)
            try firstAnswers.remember(db, made, of: request, status: 201, at: at)
            return (made, fresh, false)
        }
        logger.notice("an API client was made", metadata: ["client": "\(result.0.client)", "by": "\(standing.actor)"])
        return result
    }

    /// Another name, other rights; tokens that were given for more end.
    func change(
        _ id: ClientID, label: String?, rights: Set<Right>?, by standing: Standing, at: Timestamp
    ) async throws -> ClientRow {
        let row = try await store.write { [table, repository] db -> ClientRow in
            guard var row = try table.find(db, id, of: standing.id) else { throw Problem.notFound }
            if let rights { try Self.require(standing, mayGive: rights) }
            if let rights, !row.rights.isSubset(of: rights) { try table.deleteTokens(db, of: id) }
            if let rights, !rights.isSubset(of: row.rights) { try repository.tell(db, standing.id, .clientRightsAdded, at: at) }
            row.label = label ?? row.label
            row.rights = rights ?? row.rights
            try table.setName(db, id, label: row.label, rights: row.rights)
            return row
        }
        forgetTokens()
        return row
    }

    /// A new secret; the old one is good for `org.secret_overlap_h` still, so that programs can change over one after the other.
    func rotate(_ id: ClientID, by standing: Standing, at: Timestamp) async throws -> (secret: String, oldUntil: Timestamp) {
        let secret = ClientToken.makeSecret()
        let until = at + settings.secretOverlap
        try await store.write { [table, repository] db in
            guard let row = try table.find(db, id, of: standing.id) else { throw Problem.notFound }
            try Self.require(standing, mayGive: row.rights)
            try table.rotate(db, id, to: ClientToken.digest(secret), oldUntil: until)
            try repository.tell(db, standing.id, .clientSecretReplaced, at: at)
        }
        logger.notice("an API client's secret was rotated", metadata: ["client": "\(id)", "by": "\(standing.actor)"])
        return (secret, until)
    }

    /// Its tokens are refused from now on.
    func withdraw(_ id: ClientID, by standing: Standing) async throws {
        try await store.write { [table] db in
            guard try table.find(db, id, of: standing.id) != nil else { throw Problem.notFound }
            try table.delete(db, id)
        }
        forgetTokens()
        logger.notice("an API client was withdrawn", metadata: ["client": "\(id)", "by": "\(standing.actor)"])
    }

    /// Nobody gives what they have not.
    private static func require(_ standing: Standing, mayGive rights: Set<Right>) throws(Problem) {
        let missing = rights.subtracting(standing.rights)
        guard missing.isEmpty else {
            throw Problem.rightsBeyondOwn.saying(
                "You have not yourself: \(Right.written(missing)). Ask an owner to do it.",
                italian: "Lei stesso non ha: \(Right.written(missing)). Lo chieda a un proprietario.")
        }
    }

    // MARK: Tokens

    /// What the token endpoint was sent, once it has been read.
    struct TokenOrder: Sendable {
        var client: String
        var secret: String
        /// Nil where none was asked for: everything that the client may.
        var scope: String?
        /// For the log.
        var requestID: String
    }

    /// - Throws: `TokenRefusal`.
    func token(_ order: TokenOrder, at now: Timestamp) async throws -> (token: String, rights: Set<Right>) {
        let row = try await prove(order, at: now)
        guard let known = try await directory.find(row.organisation), known.state.mayAct else { throw TokenRefusal.unauthorizedClient }
        guard !known.isHeld else { throw Refusal.heldAfterRestore }
        var rights = row.rights
        if let scope = order.scope {
            let asked = scope.split(separator: " ").map { Right(rawValue: String($0)) }
            let named = Set(asked.compactMap { $0 })
            guard !asked.isEmpty, !asked.contains(nil), named.isSubset(of: rights) else { throw TokenRefusal.invalidScope }
            rights = named
        }
        let token = ClientToken.makeToken()
        try await store.write { [table, rights] db in
            // Changed or withdrawn since it was looked at: a token must not open more than the client may now.
            guard let still = try table.find(db, row.id) else { throw TokenRefusal.invalidClient }
            guard rights.isSubset(of: still.rights) else { throw TokenRefusal.invalidScope }
            guard try table.tokens(db, of: row.id, at: now) < Self.mostTokens else {
                throw Refusal(.tooManyRequests, retryAfter: .seconds(60))
            }
            try table.addToken(db, digest: ClientToken.digest(token), of: row.id, rights: rights, until: now + ClientToken.life)
            try table.used(db, row.id, at: now)
        }
        return (token, rights)
    }

    /// RFC 7009: a token that is not the client's is as one that is withdrawn already.
    func revoke(_ token: String, by order: TokenOrder, at now: Timestamp) async throws {
        let row = try await prove(order, at: now)
        try await store.write { [table] db in try table.deleteToken(db, digest: ClientToken.digest(token), of: row.id) }
        forgetTokens()
    }

    private func prove(_ order: TokenOrder, at now: Timestamp) async throws -> ClientRow {
        let shown = ClientToken.digest(order.secret)
        guard let id = ClientID(order.client), let row = try await store.readBriefly({ [table] db in try table.find(db, id) }) else {
            refused.note(.unknownClient, requestID: order.requestID)
            throw TokenRefusal.invalidClient
        }
        if Digest.constantTimeEqual(shown, row.secret) { return row }
        guard let old = row.oldSecret, let until = row.oldUntil, Digest.constantTimeEqual(shown, old) else {
            refused.note(.wrongSecret, client: id, requestID: order.requestID)
            throw TokenRefusal.invalidClient
        }
        guard now < until else {
            refused.note(.endedSecret, client: id, requestID: order.requestID)
            throw TokenRefusal.invalidClient
        }
        return row
    }

    /// Nil for a token that was never given, is too old or was withdrawn.
    func caller(_ bearer: String, at now: Timestamp) async throws -> Caller? {
        let digest = ClientToken.digest(bearer)
        let (remembered, changes) = known.withLock { ($0.tokens[digest], $0.changes) }
        var row = remembered
        if row == nil {
            row = try await store.readBriefly { [table] db in try table.token(db, digest: digest) }
            if let row { remember(row, digest, ifStill: changes) }
        }
        guard let row else {
            refused.note(.unknownToken)
            return nil
        }
        guard now < row.until else {
            refused.note(.endedToken, client: row.client)
            return nil
        }
        return .client(row.client, row.organisation, scopes: Set(row.rights.map(\.rawValue)))
    }

    private func remember(_ row: TokenRow, _ digest: [UInt8], ifStill changes: Int) {
        known.withLock { known in
            guard known.changes == changes else { return }
            if known.tokens.count >= Self.mostKnown { known.tokens.removeAll() }
            known.tokens[digest] = row
        }
    }

    func forgetTokens() {
        known.withLock { known in
            known.tokens.removeAll()
            known.changes += 1
        }
    }

    /// Forgets what is good no more, once in ten minutes, until it is cancelled.
    func expire() async throws {
        while true {
            try await store.write { [table] db in try table.expire(db, at: .now) }
            // Nothing waits for it: what is too old is refused wherever it is shown.
            try await Task.sleep(for: .seconds(600))
        }
    }
}
