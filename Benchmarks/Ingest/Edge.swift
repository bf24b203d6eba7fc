// Caddy as the suite's edge has it, before the ingest that is measured.

import Foundation

struct Edge {
    let url: String
    private let program: Program

    init(of suite: SuiteUnderTest) async throws {
        let (https, http) = (try Stage.freePort(), try Stage.freePort())
        url = "https://localhost:\(https)"
        program = try Program(
            "caddy", ["run", "--config", "deploy/Caddyfile", "--adapter", "caddyfile"],
            environment: [
                "TRACKME_EDGE_HTTPS_PORT": "\(https)", "TRACKME_EDGE_HTTP_PORT": "\(http)",
                "TRACKME_EDGE_STORAGE": suite.folder.appendingPathComponent("edge").path,
                "TRACKME_EDGE_INGEST": "127.0.0.1:\(suite.ingestPort)", "TRACKME_EDGE_SITES": "https://localhost:\(https)",
            ], log: suite.folder.appendingPathComponent("edge.log"))
        let client = WebClient(port: http)
        try await Stage.wait("the edge") {
            // Its http port leads to https.
            (try? await client.send("GET", "/", timeout: .seconds(1)))?.status == 308
        }
    }

    func end() {
        program.kill9()
    }
}
