// The edge as a part of the suite on one machine: Caddy with its files under the suite's folder.

import Contracts
import Foundation
import ServiceKit
import Synchronization

struct Edge: Sendable {
    let layout: SuiteLayout
    let ports: SuitePorts
    private let certified = Certified()

    init(layout: SuiteLayout, ports: SuitePorts) {
        (self.layout, self.ports) = (layout, ports)
    }

    /// The certificate that `curl --cacert` needs; Caddy makes its authority at the first start.
    var rootCertificate: URL { layout.edgeFolder.appendingPathComponent("root.crt") }
    private var authority: URL { layout.edgeFolder.appendingPathComponent("storage/pki/authorities/local/root.crt") }
    private var caddyfile: URL { layout.edgeFolder.appendingPathComponent("Caddyfile") }

    /// Nil where Caddy is not installed.
    static var program: String? { SystemProgram.find("caddy") }

    /// Writes the Caddyfile and gives the part; nil where Caddy is not installed. What cannot be written now is as it was written last.
    /// - Throws: where it has never been written.
    func part(_ readiness: Readiness) throws -> SupervisedPart? {
        guard let caddy = Self.program else { return nil }
        do {
            try FileManager.default.createDirectory(
                at: layout.edgeFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Data(EdgeConfiguration.caddyfile.utf8).write(to: caddyfile, options: .atomic)
        } catch  where FileManager.default.isReadableFile(atPath: caddyfile.path) {
            Console.shared.complain("the edge goes by its Caddyfile of before: \(FileTrouble.text(error) ?? "\(error)")")
        }
        var environment = layout.environment
        environment["TRACKME_EDGE_HTTPS_PORT"] = String(ports.edgePort)
        environment["TRACKME_EDGE_HTTP_PORT"] = String(ports.edgeHTTPPort)
        environment["TRACKME_EDGE_ORIGIN"] = environment["TRACKME_HTTP_PUBLIC_ORIGIN"] ?? "https://localhost:\(ports.edgePort)"
        environment["TRACKME_EDGE_STORAGE"] = layout.edgeFolder.appendingPathComponent("storage").path
        environment["TRACKME_EDGE_INGEST"] = "127.0.0.1:\(ports.ingestPort)"
        environment["TRACKME_EDGE_SOS"] = "127.0.0.1:\(ports.sosPort)"
        environment["TRACKME_EDGE_SOS_DEPUTY"] = "127.0.0.1:\(ports.sosDeputyPort)"
        environment["TRACKME_EDGE_CONSENT"] = "127.0.0.1:\(ports.consentPort)"
        environment["TRACKME_EDGE_NOTIFIER"] = "127.0.0.1:\(ports.notifierPort)"
        environment["TRACKME_EDGE_THIRDPARTY"] = "127.0.0.1:\(ports.gatewayPort)"
        do {
            environment["TRACKME_EDGE_SECRET"] = try layout.keys.edgeSecret()
        } catch {
            Console.shared.complain("\(error); until then all that comes through the edge counts as one address")
        }
        environment["XDG_CONFIG_HOME"] = layout.edgeFolder.appendingPathComponent("config").path
        environment["XDG_DATA_HOME"] = layout.edgeFolder.path
        let command = ChildCommand(
            executable: caddy, arguments: ["run", "--config", caddyfile.path, "--adapter", "caddyfile"], environment: environment)
        return SupervisedPart(name: "edge", command: command, isDoor: true) {
            guard await readiness.edgeAnswers(httpPort: ports.edgeHTTPPort) else { return .silent }
            return await hasCertificate(readiness) ? .ready : .unready
        }
    }

    /// Caddy answers at its ports before it has signed the site's first certificate: until then a handshake fails. Once it is there it stays.
    private func hasCertificate(_ readiness: Readiness) async -> Bool {
        if certified.isCertified.load(ordering: .relaxed) || certified.isOverdue() { return true }
        guard copyRootCertificate() else { return false }
        // Names of one's own may not lead here from this machine.
        guard layout.environment["TRACKME_EDGE_SITES"] == nil else { return true }
        guard await readiness.edgeIsTrusted(port: ports.edgePort, authorities: rootCertificate.path) else { return false }
        certified.isCertified.store(true, ordering: .relaxed)
        return true
    }

    private final class Certified: Sendable {
        /// A certificate that does not come has a cause that no waiting mends, such as a clock before its time: the suite is ready even so.
        private static let timeout = Duration.seconds(10)
        let isCertified = Atomic(false)
        private let asked = Mutex<ContinuousClock.Instant?>(nil)

        func isOverdue(at now: ContinuousClock.Instant = .now) -> Bool {
            asked.withLock { asked in
                asked = asked ?? now
                return asked.map { now - $0 >= Self.timeout } ?? false
            }
        }
    }

    /// Beside Caddy's own folder, which only Caddy may read. False while there is none yet.
    private func copyRootCertificate() -> Bool {
        guard let certificate = FileManager.default.contents(atPath: authority.path) else { return false }
        if FileManager.default.contents(atPath: rootCertificate.path) == certificate { return true }
        return (try? certificate.write(to: rootCertificate, options: .atomic)) != nil
    }
}
