// What a running service says of itself at `/metrics`.

import Contracts
import Outbound
import TestKit

struct MetricsPage {
    private let text: String

    init(of port: Int) async throws {
        let request = OutboundRequest(url: "http://127.0.0.1:\(port)/metrics", maxResponseBytes: 1 << 20)
        let response = try await HTTPSender.anywhere().send(request)
        text = String(decoding: response.body, as: UTF8.self)
    }

    /// Of one family of streams; nil where it was never written.
    func value(_ name: String, family: StreamFamily) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(name) && $0.contains("\"\(family.name)\"") }
            .flatMap { $0.split(separator: " ").last }.flatMap { Double($0) }
    }
}
