// Asks a part over HTTP whether it takes work.

import Contracts
import Logging
import Outbound

struct Readiness: Sendable {
    private let sender: HTTPSender
    private static let timeout = Duration.seconds(1)

    /// - Parameter authorities: PEM file of those who sign certificates; nil for the system's.
    init(authorities: String? = nil) {
        var settings = OutboundSettings()
        (settings.policy, settings.authorities) = (.anywhere, authorities)
        sender = HTTPSender(settings, logger: Logger(label: "trackme.readiness") { _ in SwiftLogNoOpLogHandler() })
    }

    /// What `/health/ready` answers.
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

    /// Whether the edge shows a certificate for `localhost` that these authorities have signed; what it answers does not matter.
    func edgeIsTrusted(port: Int, authorities: String) async -> Bool {
        await Readiness(authorities: authorities).status("https://localhost:\(port)/") != nil
    }

    /// Whether what listens there is a part of the suite. The edge's ports count as its own where caddy leads to https.
    func answers(port: Int, isEdge: Bool) async -> Bool {
        guard isEdge else { return await status("http://127.0.0.1:\(port)/health/live") == 200 }
        return [308, 400].contains(await status("http://127.0.0.1:\(port)/") ?? 0)
    }

    /// What does not go as it should at a service that runs; empty where it reports nothing.
    func remarks(port: Int) async -> [String] {
        guard let answer = await answer("http://127.0.0.1:\(port)/health/ready") else { return [] }
        return (try? CheckedJSON.decode(Remarked.self, from: answer.body, of: .suite))?.remarks ?? []
    }

    private struct Remarked: Decodable {
        let remarks: [String]
    }

    private func status(_ url: String) async -> Int? { await answer(url)?.status }

    private func answer(_ url: String) async -> OutboundResponse? {
        try? await sender.send(OutboundRequest(url: url, timeout: Readiness.timeout, connectTimeout: Readiness.timeout))
    }
}
