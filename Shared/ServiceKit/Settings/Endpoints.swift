// Where each socket of the suite is found, from the settings alone.

package import Contracts
import Foundation

/// ZeroMQ addresses: paths under the bus folder with ipc, the ports of `Contracts` with tcp.
package struct Endpoints: Sendable {
    private let settings: SuiteSettings

    package init(_ settings: SuiteSettings) {
        self.settings = settings
    }

    /// nil, with tcp, for a peer that has no port. `binding` listens on all interfaces instead of naming the peer's host.
    package func requests(of peer: Peer, binding: Bool) -> String? {
        switch settings.transport {
        case .ipc: "ipc://\(settings.busFolder.path)/\(peer).requests"
        case .tcp: peer.tcpPort.map { tcp(peer, $0, binding: binding) }
        }
    }

    /// Always the owner's; `binding` as for `requests`.
    package func stream(_ family: StreamFamily, binding: Bool) -> String {
        switch settings.transport {
        case .ipc: "ipc://\(settings.busFolder.path)/\(family.name).stream"
        case .tcp: tcp(family.owner, family.tcpPort, binding: binding)
        }
    }

    private func tcp(_ peer: Peer, _ port: Int, binding: Bool) -> String {
        "tcp://\(binding ? "*" : settings.hosts[peer] ?? peer.name):\(port)"
    }
}
