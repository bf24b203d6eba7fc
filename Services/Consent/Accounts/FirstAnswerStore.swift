// SQL sentences about requests that are repeated under their Idempotency-Key: the first answer, sealed.

import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import Storage

/// What a request shows of itself, so that its repetition is known again.
struct RepeatableRequest: Sendable {
    /// Nil for a request without a key: each counts by itself.
    let key: String?
    let body: [UInt8]
    /// Whose keys these are, and for which operation.
    let scope: String
}

/// `idempotency_keys` for one kind of answer. Neither keys nor bodies are kept, only their keyed digests: both may be personal.
struct FirstAnswers<Kept: Codable & Sendable>: Sendable {
    /// `runtime.key("answers")`.
    let secret: SymmetricKey
    private let table = IdempotencyKeys()

    init(secret: SymmetricKey) {
        self.secret = secret
    }

    /// Nil where the request is new or has no key.
    /// - Throws: `Problem.idempotencyConflict` where the key was used for another body.
    func find(_ db: Database, _ request: RepeatableRequest) throws -> Kept? {
        guard let key = request.key else { return nil }
        let found = try table.find(db, scope: scope(request), key: digest("key", Array(key.utf8)), bodyHash: digest("body", request.body))
        switch found {
        case .unused: return nil
        case .otherBody: throw Problem.idempotencyConflict
        case .repeated(_, let sealed):
            return try JSONDecoder().decode(
                Kept.self, from: Data(Seal.open(sealed, key: secret, context: context(request))))
        }
    }

    /// Call in the transaction of the effect.
    func remember(_ db: Database, _ kept: Kept, of request: RepeatableRequest, status: Int, at: Timestamp) throws {
        guard let key = request.key else { return }
        let sealed = try Seal.seal(JSONEncoder().encode(kept), key: secret, context: context(request))
        try table.remember(
            db, scope: scope(request), key: digest("key", Array(key.utf8)), bodyHash: digest("body", request.body), status: status,
            answer: sealed, at: at)
    }

    private func scope(_ request: RepeatableRequest) -> [UInt8] {
        Array(digest("scope", Array(request.scope.utf8)).prefix(16))
    }

    private func context(_ request: RepeatableRequest) -> [UInt8] {
        Array("idempotency_keys.answer ".utf8) + scope(request)
    }

    private func digest(_ purpose: String, _ bytes: [UInt8]) -> [UInt8] {
        Digest.hmacSHA256(Array("\(purpose)|".utf8) + bytes, key: secret)
    }
}
