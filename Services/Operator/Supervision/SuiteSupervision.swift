// Assembles the parts of the suite for the supervisor.

import Contracts
import Foundation
import ServiceKit

struct SuiteSupervision: Sendable {
    let layout: SuiteLayout
    let ports: SuitePorts
    /// Further environment of services, over what the caller has.
    var additional: [String: String] = [:]
    /// Nil: all.
    var only: Set<String>?
    var withEdge = true
    /// Whether the second SOS dispatcher runs too.
    var withDeputy = true
    /// Services create their store again where a part of it is missing.
    var beginsAnew = false

    /// The services in the order of starting, then the edge. Makes the keys that are missing and the folder of the sockets.
    func parts() throws -> [SupervisedPart] {
        _ = SuiteKeys.makeMissingOrComplain(layout)
        let finding = Checks.busFolder(layout.busFolder.path)
        guard finding.level == .ok else { throw OperatorError(.configuration, finding.detail, mend: finding.mend) }
        // Heartbeats arrive there before any service has made it.
        try FileManager.default.createDirectory(
            at: layout.busFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let readiness = Readiness()
        var parts: [SupervisedPart] = []
        let wanted = ports.services.filter { only?.contains($0.peer.name) ?? (withDeputy || $0.peer.deputyOf == nil) }
        // One that is not there is reported, started when it is, and keeps none of the others from their work.
        if !wanted.contains(where: \.isThere) { try wanted.first?.requireThere() }
        for service in wanted {
            var environment = layout.environment(of: service.peer, httpPort: service.port)
            environment.merge(additional) { $1 }
            // Links in mails and the check of browsers' origin name the edge.
            environment["TRACKME_HTTP_PUBLIC_ORIGIN"] = environment["TRACKME_HTTP_PUBLIC_ORIGIN"] ?? "https://localhost:\(ports.edgePort)"
            // So do the addresses at which emergency services acknowledge.
            environment["TRACKME_SOS_PUBLIC_URL"] = environment["TRACKME_SOS_PUBLIC_URL"] ?? environment["TRACKME_HTTP_PUBLIC_ORIGIN"]
            parts.append(
                SupervisedPart(
                    name: service.peer.name,
                    command: ChildCommand(executable: service.file.path, environment: environment),
                    firstArguments: beginsAnew ? ["--new"] : [],
                    heartbeat: layout.busFolder.appendingPathComponent("heartbeat-\(service.peer)").path
                ) {
                    await readiness.probe(port: service.port)
                })
        }
        if withEdge, only?.contains("edge") ?? true {
            do {
                if let edge = try Edge(layout: layout, ports: ports).part(readiness) { parts.append(edge) }
            } catch {
                // It only leads to others.
                Console.shared.complain("the edge does not run: \(FileTrouble.text(error) ?? "\(error)")")
            }
        }
        return parts
    }
}
