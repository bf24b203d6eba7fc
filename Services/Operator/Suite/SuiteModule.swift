// The executables of the suite as this machine runs them.

import Contracts
import Foundation

/// A service that `trackme up` starts.
struct ServiceExecutable: Hashable, Sendable {
    var peer: Peer
    /// On loopback.
    var port: Int

    static let ingestPort = 8101
    static let sosDispatcherPort = 8102
    static let sosDeputyPort = 8112
    static let consentPort = 8103
    static let notifierPort = 8104
    static let gatewayPort = 8105
    static let anonymiserPort = 8106

    /// In the order of starting: publishers before their consumers.
    static func all(
        consentPort: Int = consentPort, ingestPort: Int = ingestPort, sosPort: Int = sosDispatcherPort,
        deputyPort: Int = sosDeputyPort, notifierPort: Int = notifierPort, gatewayPort: Int = gatewayPort,
        anonymiserPort: Int = anonymiserPort
    ) -> [ServiceExecutable] {
        [
            ServiceExecutable(peer: .consent, port: consentPort), ServiceExecutable(peer: .ingest, port: ingestPort),
            ServiceExecutable(peer: .sosDispatcher, port: sosPort), ServiceExecutable(peer: .sosDeputy, port: deputyPort),
            ServiceExecutable(peer: .notifier, port: notifierPort), ServiceExecutable(peer: .thirdPartyGateway, port: gatewayPort),
            ServiceExecutable(peer: .anonymiser, port: anonymiserPort),
        ]
    }

    /// Beside this tool's own executable, however that was called. A deputy is the same program in another place.
    var file: URL {
        ServiceExecutable.folder.appendingPathComponent((peer.deputyOf ?? peer).name)
    }

    static var folder: URL {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: own).deletingLastPathComponent()
    }

    var isThere: Bool { FileManager.default.isExecutableFile(atPath: file.path) }

    func requireThere() throws(OperatorError) {
        guard isThere else {
            throw OperatorError(
                .configuration, "\(file.path) is not there",
                mend: "build all executables (`swift build`), or install them in one folder with trackme")
        }
    }
}

/// Programs that come with the system.
enum SystemProgram {
    /// The first one of that name in `PATH`.
    static func find(_ name: String, path: String? = ProcessInfo.processInfo.environment["PATH"]) -> String? {
        (path ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").lazy.map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
