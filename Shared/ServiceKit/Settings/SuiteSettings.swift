// The settings that every service has: where it stores, how it talks, where it listens.

package import Contracts
package import Foundation
package import HTTPKit

/// Owned by ServiceKit under the prefixes `store`, `bus`, `http` and `log`.
package struct SuiteSettings: Sendable {
    package static let prefixes: Set<String> = ["store", "bus", "http", "log"]
    private static let defaultOrigin = "https://localhost:8443"

    /// `ipc`: sockets of one machine. `tcp`: the ports of `Contracts`.
    package enum Transport: String, CaseIterable, Sendable {
        case ipc, tcp
    }

    /// As swift-log has them; `critical` is always written.
    package enum LogLevel: String, CaseIterable, Sendable {
        case trace, debug, info, notice, warning, error
    }

    /// Made (0700) where it is missing.
    package let storeFolder: URL
    /// 0 to 50 ms; see `StoreSettings`.
    package let groupCommitWindow: Duration
    /// Nil: beside the databases.
    package let keyBackups: URL?
    package let transport: Transport
    /// Its path stays under 60 bytes, so that those of its sockets keep to `BusLimits.ipcPathBytes`.
    package let busFolder: URL
    package let keysFolder: URL
    /// Where peers are over tcp; a peer without an entry is at its own name.
    package let hosts: [Peer: String]
    /// How long a stream's log keeps a fact at least.
    package let logRetention: Duration
    /// A name or address to bind.
    package let httpHost: String
    /// 0 takes a free one.
    package let httpPort: Int
    /// What callers may have at once, and how long they may take.
    package let httpLimits: HTTPLimits
    /// Where browsers find the suite: scheme, host and port, without a path. Links in mails begin with it.
    package let publicOrigin: String
    package let logLevel: LogLevel

    /// - Parameter httpPort: where the service listens unless told otherwise.
    package init(_ reader: inout SettingsReader, peer: Peer, httpPort: Int) {
        storeFolder = reader.read(.path("store.directory", default: "var/\(peer)", "Folder of the service's databases."))
        groupCommitWindow = reader.read(
            .milliseconds("store.group_commit_ms", default: 2, in: 0...50, "How long a commit waits for company."))
        keyBackups = reader.read(
            .optionalPath(
                "store.key_backups", "Folder of the two copies of the keys database; `key-backups` beside the databases if not set."))
        transport = reader.read(.choice("bus.transport", default: .ipc, "ipc on one machine, tcp between machines."))
        busFolder = reader.read(.path("bus.directory", default: "var/bus", "Folder of the ipc sockets; its path stays under 60 bytes."))
        keysFolder = reader.read(.path("bus.keys", default: "var/keys", "Folder of the key files."))
        let hostsText = reader.read(
            .text("bus.hosts", default: "", "With tcp, where peers are: `ingest=10.0.0.1,sos-dispatcher=10.0.0.2`; else the peer's name."))
        logRetention = reader.read(.hours("bus.log_hours", default: 72, in: 1...8760, "How long a stream's log is kept at least."))
        httpHost = reader.read(.text("http.host", default: "127.0.0.1", "Address to listen on."))
        self.httpPort = reader.read(.integer("http.port", default: httpPort, in: 0...65_535, "Port to listen on; 0 takes a free one."))
        httpLimits = HTTPLimits(&reader)
        let origin = reader.read(
            .text(
                "http.public_origin", default: "https://localhost:8443", "Where browsers find the suite: https://host[:port], no path."))
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
        publicOrigin = SuiteSettings.isOrigin(origin) ? origin : SuiteSettings.defaultOrigin
        if publicOrigin != origin {
            reader.refuse("http.public_origin", "must be https://host or https://host:port in lower case, without a path")
        }
    }

    /// `http` is taken as well, for tests on one machine; browsers then send no cookie of ours.
    private static func isOrigin(_ text: String) -> Bool {
        guard let url = URL(string: text), let host = url.host, !host.isEmpty, ["https", "http"].contains(url.scheme ?? "") else {
            return false
        }
        let port = url.port.map { ":\($0)" } ?? ""
        return text == "\(url.scheme ?? "")://\(host.lowercased())\(port)"
    }
}
