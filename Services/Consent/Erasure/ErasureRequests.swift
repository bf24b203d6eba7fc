// Erasures that somebody has asked for and not confirmed: in memory alone, so that leaving the dialogue leaves nothing (ACC-09).

import Contracts
import Sealing

/// One wish for each person; a later one replaces it.
actor ErasureRequests {
    /// How long a person may think about it.
    static let lasting = Duration.seconds(600)

    struct Request: Sendable {
        let confirmation: String
        let scope: ErasureScope
        let expiresAt: Timestamp
    }

    private var wishes: [PersonID: Request] = [:]

    func add(_ person: PersonID, _ scope: ErasureScope, at now: Timestamp) -> Request {
        wishes = wishes.filter { $0.value.expiresAt > now }
        let wish = Request(confirmation: Base64URL.encode(Random.bytes(16)), scope: scope, expiresAt: now + Self.lasting)
        wishes[person] = wish
        return wish
    }

    /// The wish that this confirmation belongs to; nil for another person's, an old one, or none.
    func find(_ person: PersonID, _ confirmation: String, at now: Timestamp) -> Request? {
        guard let wish = wishes[person], wish.expiresAt > now,
            Digest.constantTimeEqual(Array(wish.confirmation.utf8), Array(confirmation.utf8))
        else { return nil }
        return wish
    }

    func remove(_ person: PersonID) {
        wishes[person] = nil
    }
}
