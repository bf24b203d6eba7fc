// The settings that every service has: where it stores, how it talks, where it listens.

package import Contracts
package import Foundation

/// Owned by ServiceKit under the prefixes `store`, `bus`, `http` and `log`.
package struct SuiteSettings: Sendable {
    package static let prefixes: Set<String> = ["store", "bus", "http", "log"]

    package enum Transport: String, CaseIterable, Sendable {
        case ipc, tcp
    }

    package enum LogLevel: String, CaseIterable, Sendable {
        case trace, debug, info, notice, warning, error
    }

    package let storeFolder: URL
    package let groupCommitWindow: Duration
    package let transport: Transport
    package let busFolder: URL
    package let keysFolder: URL
    package let hosts: [Peer: String]
    package let logRetention: Duration
    package let httpHost: String
    package let httpPort: Int
    package let logLevel: LogLevel

    /// - Parameter httpPort: where the service listens unless told otherwise.
    package init(_ reader: inout SettingsReader, peer: Peer, httpPort: Int) {
        storeFolder = reader.read(.path("store.directory", default: "var/\(peer)", "Folder of the service's databases."))
        groupCommitWindow = reader.read(
            .milliseconds("store.group_commit_ms", default: 2, in: 0...50, "How long a commit waits for company."))
        transport = reader.read(.choice("bus.transport", default: .ipc, "ipc on one machine, tcp between machines."))
        busFolder = reader.read(.path("bus.directory", default: "var/bus", "Folder of the ipc sockets; its path stays under 60 bytes."))
        keysFolder = reader.read(.path("bus.keys", default: "var/keys", "Folder of the key files."))
        let hostsText = reader.read(
            .text("bus.hosts", default: "", "With tcp, where peers are: `ingest=10.0.0.1,sos-dispatcher=10.0.0.2`; else the peer's name."))
        logRetention = reader.read(.hours("bus.log_hours", default: 72, in: 1...8760, "How long a stream's log is kept at least."))
        httpHost = reader.read(.text("http.host", default: "127.0.0.1", "Address to listen on."))
        self.httpPort = reader.read(.integer("http.port", default: httpPort, in: 0...65_535, "Port to listen on; 0 takes a free one."))
        logLevel = reader.read(.choice("log.level", default: .info, "The least important line that is written."))

        var hosts: [Peer: String] = [:]
        for pair in hostsText.split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2 {
                hosts[Peer(String(parts[0]))] = String(parts[1])
            } else {
                reader.refuse("bus.hosts", "'\(pair)' is not of the form peer=host")
            }
        }
        self.hosts = hosts
    }
}
