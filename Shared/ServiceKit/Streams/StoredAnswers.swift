// The first answer to every mutating question, kept where its effect is kept.

package import Bus
package import Contracts
package import GRDB
package import Sealing
package import Storage

/// A repeated question id gets its first answer again, also after a crash between the commit and the answer. Answers are
/// sealed, because some hold a token or name a person.
package struct StoredAnswers: AnswerMemory {
    private let store: Store
    private let key: SymmetricKey
    private let table = AnswerTable()

    package init(_ store: Store, sealedUnder key: SymmetricKey) {
        (self.store, self.key) = (store, key)
    }

    /// - Throws: `cannotOpen` where it was sealed under another key.
    package func answer(to peer: Peer, id: String) async throws -> [UInt8]? {
        let sealed = try await store.read { db in try table.answer(db, to: peer, id: id) }
        return try sealed.map { try Seal.open($0, key: key, context: context(peer, id)) }
    }

    /// Call in the transaction of the effect.
    package func remember(_ reply: some Encodable, to asked: RequestContext, in database: Database) throws {
        let sealed = try Seal.seal(Methods.encode(reply), key: key, context: context(asked.peer, asked.id))
        try table.remember(database, to: asked.peer, id: asked.id, answer: sealed, at: .now)
    }

    /// Forgets answers that nobody can ask for any more, on the bus and, where the schema holds `IdempotencyKeys`, over HTTP: a few in each
    /// transaction, so that nobody's write waits for all. Runs until it is cancelled, once in ten minutes.
    package func expire() async throws {
        let keepsKeys = try await store.read { db in try IdempotencyKeys.isKept(in: db) }
        while true {
            while try await store.write({ db in try table.expire(db, now: .now) }) == AnswerTable.expiryLimit {}
            while keepsKeys, try await store.write({ db in try IdempotencyKeys().expire(db, now: .now) }) == IdempotencyKeys.expiryLimit {}
            try await Task.sleep(for: .seconds(600))
        }
    }

    private func context(_ peer: Peer, _ id: String) -> [UInt8] {
        Array("answer|\(peer)|\(id)".utf8)
    }
}
