// Asks a part over HTTP whether it takes work.

import Contracts
import Logging
import Outbound

struct Readiness: Sendable {
    private let sender: HTTPSender
    private static let patience = Duration.seconds(1)

    init() {
        var settings = OutboundSettings()
        settings.policy = .anywhere
        sender = HTTPSender(settings, logger: Logger(label: "trackme.readiness") { _ in SwiftLogNoOpLogHandler() })
    }

    /// What `/health/ready` says.
    func probe(port: Int) async -> ProbeAnswer {
        switch await status("http://127.0.0.1:\(port)/health/ready") {
        case 200: .ready
        case nil: .silent
        default: .unready
        }
    }

    /// Whether `/health/ready` answers 200.
    func isReady(port: Int) async -> Bool {
        await status("http://127.0.0.1:\(port)/health/ready") == 200
    }

    /// Whether the edge answers at all: it has no readiness of its own, and its http port leads to https.
    func edgeAnswers(httpPort: Int) async -> Bool {
        await status("http://127.0.0.1:\(httpPort)/") != nil
    }

    /// Whether what listens there is a part of the suite. The edge's ports count as its own where caddy leads to https.
    func answers(port: Int, isEdge: Bool) async -> Bool {
        guard isEdge else { return await status("http://127.0.0.1:\(port)/health/live") == 200 }
        return [308, 400].contains(await status("http://127.0.0.1:\(port)/") ?? 0)
    }

    private func status(_ url: String) async -> Int? {
        try? await sender.send(OutboundRequest(url: url, timeout: Readiness.patience, connectTimeout: Readiness.patience)).status
    }
}
