// The keys that sign access tokens: made in time, said to every service, and forgotten when nothing rests on them any more.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage
import Synchronization

/// Signs with the key of the month, and knows every key whose tokens may still be valid. The store first, then the stream
/// `consent.signing-keys`, then memory: a key signs only once every service can receive it.
final class SigningKeys: Sendable {
    private static let pollInterval = Duration.seconds(600)

    private let store: Store
    private let table: SigningKeyStore
    private let facts: FactStream
    private let checker: TokenChecker
    private let rotation: KeyRotation
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let known = Mutex<[SigningKeyRow]>([])

    init(
        store: Store, sealedUnder key: SymmetricKey, facts: FactStream, checker: TokenChecker, period: Duration, logger: Logger,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.store, table, self.facts, self.checker) = (store, SigningKeyStore(key: key), facts, checker)
        (rotation, self.logger, self.now) = (KeyRotation(period: period), logger, now)
    }

    // MARK: Rotation

    /// Makes the key that is due, if any, and retires the old ones. Call once before anything is signed.
    func rotate() async throws {
        let time = now()
        let fresh = try SigningKey.random()
        let id = Self.thumbprint(of: fresh.publicKey)
        let (rows, isNew) = try await store.write { [table, facts, rotation] db in
            try table.retire(db, at: time)
            let due = rotation.due(after: try table.all(db).map(\.period), at: time, id: id)
            if let due {
                try table.add(db, due, fresh)
                let state = SigningKeyRow(period: due, publicKey: fresh.publicKey, signing: nil).state
                try facts.publish(db, type: SigningKeyState.type, subject: nil, body: state, at: time)
            }
            return (try table.all(db), due != nil)
        }
        for row in rows { checker.learn(.key(row.state)) }
        known.withLock { $0 = rows }
        if isNew { logger.notice("a signing key was made", metadata: ["key": "\(id)"]) }
    }

    /// Rotates whenever it is time; runs until it is cancelled.
    func run() async throws {
        while true {
            try await Task.sleep(for: Self.pollInterval)
            try await rotate()
        }
    }

    // MARK: Using them

    /// - Throws: `Refusal` (503) where no key may sign now.
    func sign(_ claims: AccessTokenClaims) throws -> String {
        let time = now()
        let rows = known.withLock { $0 }
        guard let signer = rotation.signer(of: rows.filter { $0.signing != nil }.map(\.period), at: time),
            let signing = rows.first(where: { $0.period.id == signer.id })?.signing
        else { throw Refusal(.unavailable, retryAfter: .seconds(5)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try CompactJWS.sign(
            payload: Array(try encoder.encode(claims)), typ: AccessTokenClaims.tokenType, keyID: signer.id, with: signing)
    }

    /// Those whose tokens may be valid now or soon, as JWKS shows them.
    var published: [SigningKeyState] {
        let time = now()
        return known.withLock { rows in rows.filter { time < $0.period.notAfter }.map(\.state) }
    }

    /// The whole state of `consent.signing-keys`: there are never more than a few.
    func snapshot() async throws -> SnapshotStream.Reply {
        let time = now()
        return try await store.read { [table, facts] db in
            let rows = try table.all(db).filter { time < $0.period.notAfter }
            return try facts.snapshot(
                db, type: SigningKeyState.type, facts: rows.map { (subject: nil, body: $0.state) }, next: nil)
        }
    }

    /// RFC 7638 with the members of RFC 8037: the same key has the same id everywhere.
    static func thumbprint(of key: VerifyingKey) -> String {
        let canonical = "{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"\(Base64URL.encode(key.bytes))\"}"
        return Base64URL.encode(Digest.sha256(Array(canonical.utf8)))
    }
}
