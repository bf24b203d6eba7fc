// The telephone company of stories: a provider of texts and calls, and whom it has reached how.

import TestKit

struct TelephoneCompany: Sendable {
    private let peer: TextPeer

    /// A suite whose texts and calls go through it.
    static func serving(_ body: (TelephoneCompany, StorySuite) async throws -> Void) async throws {
        let peer = try TextPeer()
        defer { peer.end() }
        try await StorySuite.with(["TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(peer.port)/messages"]) {
            try await body(TelephoneCompany(peer: peer), $0)
        }
    }

    /// What was said to this number, by channel; the first of each, since a text that an ambulance was informed may come before the call.
    func reached(_ number: String) -> [String: String] {
        peer.messages(to: number).reduce(into: [:]) { $0[$1.channel] = $0[$1.channel] ?? $1.text }
    }
}
