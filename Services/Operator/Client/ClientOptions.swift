// The options of commands that act as a device.

import ArgumentParser
import Contracts
import Foundation
import Sealing

struct ClientOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server: ingest itself or the edge (https://localhost:8443 with --ca var/edge/root.crt).", valueName: "address"))
    var url = "http://127.0.0.1:8101"

    @Option(help: ArgumentHelp("PEM file of the authority that vouches for an https server.", valueName: "file"))
    var ca: String?

    @Option(help: ArgumentHelp("Folder of the queue. Default: a folder of this command's under the suite's.", valueName: "folder"))
    var state: String?

    func validate() throws {
        guard let parsed = URL(string: url), ["http", "https"].contains(parsed.scheme ?? ""), parsed.host() != nil else {
            throw ValidationError("--url must be an http:// or https:// address, such as http://127.0.0.1:8101")
        }
    }

    func folder(_ name: String, in layout: SuiteLayout) -> URL {
        state.map { URL(fileURLWithPath: $0, isDirectory: true) } ?? layout.clientFolder(name)
    }

    func transport(parallel: Int = 64) -> UploadTransport {
        .http(server: url, authorities: ca, parallel: parallel, shortTimeout: UploadTransport.shortTimeout)
    }
}

/// A device token from a file, which others cannot read.
enum TokenFile {
    static func read(_ path: String) throws(OperatorError) -> String {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8).trimmed, !text.isEmpty else {
            throw OperatorError(
                .configuration, "\(path) holds no token",
                mend: "make one: trackme device add --json, and keep its token in a file of mode 600")
        }
        return text
    }

    /// Tells tokens apart without showing them.
    static func fingerprint(_ token: String) -> String {
        Hex.encode(Digest.sha256(Array(token.utf8)).prefix(6))
    }
}
