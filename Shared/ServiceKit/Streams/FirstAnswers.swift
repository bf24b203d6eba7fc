// Requests that are repeated under their Idempotency-Key get the first answer again, which is kept sealed.

package import Contracts
import Foundation
package import GRDB
import HTTPKit
package import Sealing
package import Storage

/// What a request shows of itself, so that its repetition is known again.
package struct RepeatableRequest: Sendable {
    /// Nil for a request without a key: each counts by itself.
    package let key: String?
    /// As it was sent: other bytes under the same key are a conflict.
    package let body: [UInt8]
    /// Whose keys these are, and for which operation.
    package let scope: String

    package init(key: String?, body: [UInt8], scope: String) {
        (self.key, self.body, self.scope) = (key, body, scope)
    }
}

/// `idempotency_keys` for one kind of answer. Neither keys nor bodies are kept, only their keyed digests: both may be personal.
package struct FirstAnswers<Kept: Codable & Sendable>: Sendable {
    /// `runtime.key("answers")`.
    package let secret: SymmetricKey
    private let table = IdempotencyKeys()

    package init(secret: SymmetricKey) {
        self.secret = secret
    }

    /// Nil where the request is new or has no key.
    /// - Throws: `Problem.idempotencyConflict` where the key was used for another body.
    package func find(_ db: Database, _ request: RepeatableRequest) throws -> Kept? {
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

    /// As `find`, outside of a transaction, before anything is done; whoever sends no key costs no read.
    package func find(in store: Store, _ request: RepeatableRequest) async throws -> Kept? {
        guard request.key != nil else { return nil }
        return try await store.read { try find($0, request) }
    }

    /// Call in the transaction of the effect.
    package func remember(_ db: Database, _ kept: Kept, of request: RepeatableRequest, status: Int, at: Timestamp) throws {
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
