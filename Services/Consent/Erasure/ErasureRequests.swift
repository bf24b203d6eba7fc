// Erasures that somebody has asked for and not confirmed: in memory alone, so that leaving the dialogue leaves nothing (ACC-09).

import Contracts
import Sealing

/// One request for each person; a later one replaces it.
actor ErasureRequests {
    /// How long a person may think about it.
    static let lasting = Duration.seconds(600)

    struct Request: Sendable {
        let confirmation: String
        let scope: ErasureScope
        let expiresAt: Timestamp
    }

    private var requests: [PersonID: Request] = [:]

    func add(_ person: PersonID, _ scope: ErasureScope, at now: Timestamp) -> Request {
        requests = requests.filter { $0.value.expiresAt > now }
        let request = Request(confirmation: Base64URL.encode(Random.bytes(16)), scope: scope, expiresAt: now + Self.lasting)
        requests[person] = request
        return request
    }

    /// The request that this confirmation belongs to; nil for another person's, an old one, or none.
    func find(_ person: PersonID, _ confirmation: String, at now: Timestamp) -> Request? {
        guard let request = requests[person], request.expiresAt > now,
            Digest.constantTimeEqual(Array(request.confirmation.utf8), Array(confirmation.utf8))
        else { return nil }
        return request
    }

    func remove(_ person: PersonID) {
        requests[person] = nil
    }
}
