// Who may connect to this service, hear which of its streams and ask which of its methods.

package import Bus
package import Contracts

/// Rights of the suite's own peers come from `Contracts`; those of further peers from their public files.
package enum Allowances {
    /// Without `owner` itself. A peer without any right here has an entry that admits it nowhere.
    package static func allowed(by owner: Peer, peers: [KeyFiles.PublicPeer]) -> [AllowedPeer] {
        peers.filter { $0.peer != owner }.map { known in
            guard Peer.suite.contains(known.peer) else {
                return AllowedPeer(
                    peer: known.peer, publicKey: known.key, families: Set(known.hear ?? []), methods: Set(known.ask ?? []))
            }
            return AllowedPeer(
                peer: known.peer, publicKey: known.key,
                families: Set(StreamFamily.all.filter { $0.owner == owner && $0.consumers.contains(known.peer) }.map(\.name)),
                methods: Questions.methods(of: owner, askedBy: known.peer))
        }
    }
}
