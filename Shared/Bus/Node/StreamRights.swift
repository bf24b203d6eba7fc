// Which peer may hear which stream of this node.

import Contracts
import Synchronization

/// Joins the allow-list, which names families, with the streams of the families that this node publishes.
final class StreamRights: Sendable {
    let allowed: AllowList
    private let families = Mutex<[String: String]>([:])

    init(allowed: AllowList) {
        self.allowed = allowed
    }

    func add(_ family: StreamFamily) {
        families.withLock { families in
            for stream in family.streams { families[stream] = family.name }
        }
    }

    /// False for a stream that this node does not publish.
    func may(_ peer: Peer, hear stream: String) -> Bool {
        guard let family = families.withLock({ $0[stream] }) else { return false }
        return allowed.peer(named: peer)?.families.contains(family) ?? false
    }
}
