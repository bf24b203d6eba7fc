// Where the suite listens on this machine.

import ArgumentParser
import Contracts
import Foundation

struct SuitePorts: ParsableArguments, Sendable {
    @Option(help: "Port of ingest on loopback.")
    var ingestPort = ServiceExecutable.ingestPort
    @Option(help: "Port of the SOS dispatcher on loopback.")
    var sosPort = ServiceExecutable.sosDispatcherPort
    @Option(help: "Port of the second SOS dispatcher on loopback.")
    var sosDeputyPort = ServiceExecutable.sosDeputyPort
    @Option(help: "Port of consent on loopback.")
    var consentPort = ServiceExecutable.consentPort
    @Option(help: "Port of the notifier on loopback.")
    var notifierPort = ServiceExecutable.notifierPort
    @Option(help: "Port of the third parties' gateway on loopback.")
    var gatewayPort = ServiceExecutable.gatewayPort
    @Option(help: "Port of the anonymiser on loopback.")
    var anonymiserPort = ServiceExecutable.anonymiserPort
    @Option(help: "The edge's port for https.")
    var edgePort = 8443
    @Option(help: "The edge's port for http, which only leads to https.")
    var edgeHTTPPort = 8080

    func validate() throws {
        let ports = all.map(\.0)
        guard ports.allSatisfy({ (1...65_535).contains($0) }) else {
            throw ValidationError("ports are from 1 to 65535")
        }
        guard Set(ports).count == ports.count else {
            throw ValidationError("each part needs a port of its own")
        }
    }

    /// The default ports.
    static let usual: SuitePorts = {
        // No argument is wrong, since there is none.
        (try? SuitePorts.parse([])) ?? SuitePorts()
    }()

    /// What `trackme up` writes into the suite's folder, so that other commands find the suite there.
    private struct Written: Codable {
        var ports: [String: Int]
    }

    func write(to file: URL) throws {
        let ports = Dictionary(uniqueKeysWithValues: all.map { ($0.2, $0.0) })
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        try encoder.encode(Written(ports: ports)).write(to: file, options: .atomic)
    }

    /// Those that the suite of this folder was started with last, unless others were asked for.
    func orThose(in file: URL) -> SuitePorts {
        guard all.map(\.0) == SuitePorts.usual.all.map(\.0), let content = FileManager.default.contents(atPath: file.path),
            let written = try? JSONDecoder().decode(Written.self, from: content)
        else { return self }
        return (try? SuitePorts.parse(written.ports.flatMap { [$0.key, String($0.value)] })) ?? self
    }

    var services: [ServiceExecutable] {
        ServiceExecutable.all(
            consentPort: consentPort, ingestPort: ingestPort, sosPort: sosPort, deputyPort: sosDeputyPort, notifierPort: notifierPort,
            gatewayPort: gatewayPort, anonymiserPort: anonymiserPort)
    }

    /// Port, part and the option that changes it.
    var all: [(Int, String, String)] {
        [
            (ingestPort, "ingest", "--ingest-port"), (sosPort, "sos-dispatcher", "--sos-port"),
            (sosDeputyPort, "sos-deputy", "--sos-deputy-port"),
            (consentPort, "consent", "--consent-port"), (notifierPort, "notifier", "--notifier-port"),
            (gatewayPort, "thirdparty-gateway", "--gateway-port"), (anonymiserPort, "anonymiser", "--anonymiser-port"),
            (edgePort, "edge", "--edge-port"), (edgeHTTPPort, "edge, http", "--edge-http-port"),
        ]
    }

    func isEdge(_ port: Int) -> Bool { port == edgePort || port == edgeHTTPPort }
}

/// Settings in the environment that `trackme` itself passes on or reads.
enum OperatorSettings {
    static let variables: Set<String> = [
        "TRACKME_EDGE_HTTPS_PORT", "TRACKME_EDGE_HTTP_PORT", "TRACKME_EDGE_SITES", "TRACKME_EDGE_STORAGE", "TRACKME_EDGE_BIND",
        "TRACKME_EDGE_ORIGIN", "TRACKME_EDGE_INGEST",
        "TRACKME_EDGE_SOS", "TRACKME_EDGE_SOS_DEPUTY", "TRACKME_EDGE_CONSENT", "TRACKME_EDGE_NOTIFIER",
        "TRACKME_EDGE_THIRDPARTY", "TRACKME_EDGE_SECRET",
    ]
}
