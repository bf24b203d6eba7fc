// Who may talk to this node, and about what.

import Synchronization
package import Contracts

/// One peer, its key, the stream families that it may hear and the questions that it may ask here.
/// A peer that may hear a family may also have it replayed, take its snapshot and confirm its own positions.
package struct AllowedPeer: Sendable {
    package var peer: Peer
    /// Z85, 40 characters.
    package var publicKey: String
    /// Names of the stream families that it may hear, replay and take snapshots of.
    package var families: Set<String>
    /// Names of the questions that it may ask.
    package var methods: Set<String>

    /// Without families and methods it is refused at every socket.
    package init(peer: Peer, publicKey: String, families: Set<String> = [], methods: Set<String> = []) {
        (self.peer, self.publicKey, self.families, self.methods) = (peer, publicKey, families, methods)
    }

    var mayAskAnything: Bool { !families.isEmpty || !methods.isEmpty }
}

/// The allow-list that the ZAP handler and every answer are checked against. Whoever is not in it is refused, and so are a key
/// that two entries share and a name that two entries share.
package final class AllowList: Sendable {
    private struct Index {
        var byKey: [String: AllowedPeer]
        var byName: [Peer: AllowedPeer]

        init(_ peers: [AllowedPeer]) {
            let single = Dictionary(grouping: peers, by: \.publicKey).compactMapValues { $0.count == 1 ? $0.first : nil }
            let named = Dictionary(grouping: single.values, by: \.peer).compactMapValues { $0.count == 1 ? $0.first : nil }
            byName = named
            byKey = single.filter { named[$0.value.peer] != nil }
        }
    }

    private let index: Mutex<Index>

    /// Empty refuses everybody, until `replace`.
    package init(_ peers: [AllowedPeer]) {
        index = Mutex(Index(peers))
    }

    /// Holds at once for every question and every new connection. A connection to a publishing socket that is already made
    /// lasts until either side closes it: to throw a consumer out at once, restart the publisher.
    package func replace(with peers: [AllowedPeer]) {
        let fresh = Index(peers)
        index.withLock { $0 = fresh }
    }

    func peer(withKey publicKey: String) -> AllowedPeer? {
        index.withLock { $0.byKey[publicKey] }
    }

    func peer(named peer: Peer) -> AllowedPeer? {
        index.withLock { $0.byName[peer] }
    }
}
