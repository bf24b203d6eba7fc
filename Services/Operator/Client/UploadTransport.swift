// How the reference client reaches the server: one POST per batch, over connections that stay warm.

import Contracts
import Foundation
import Logging
import Outbound

/// What came back for one upload.
struct UploadReply: Sendable {
    var outcome: UploadOutcome
    var body: [UInt8]
}

/// Sends one batch's body. A struct of one closure, so that tests can put a server of their own in its place.
struct UploadTransport: Sendable {
    static let path = "/ingest/v1/entries"
    /// An upload waits for a commit to the disk; half a minute is a server in trouble.
    static let timeout = Duration.seconds(30)
    /// Of a small upload, as one with a reading of now is: nothing fresh waits longer behind a connection that is dead.
    static let shortTimeout = Duration.seconds(5)
    /// So small; ingest takes an upload of that size with values of now also from a device that has sent too much.
    static let smallBytes = 4 << 10
    /// An answer names every duplicate and rejection of up to 10,000 entries.
    static let answerBytes = 8 << 20

    var send: @Sendable (_ body: [UInt8], _ token: String, _ idempotencyKey: String) async -> UploadReply

    /// - Parameters:
    ///   - server: such as `http://127.0.0.1:8101` or the edge's `https://localhost:8443`.
    ///   - authorities: PEM file that the server's certificate must lead to; nil trusts the system's.
    ///   - shortTimeout: for the answer to a small upload.
    static func http(
        server: String, authorities: String?, parallel: Int = 64, shortTimeout: Duration = UploadTransport.timeout
    ) -> UploadTransport {
        var settings = OutboundSettings()
        settings.policy = .anywhere
        settings.authorities = authorities
        settings.parallel = parallel
        settings.warmConnections = parallel
        settings.userAgent = "trackme-client"
        let sender = HTTPSender(settings, logger: Logger(label: "trackme.client") { _ in SwiftLogNoOpLogHandler() })
        let address = (server.hasSuffix("/") ? String(server.dropLast()) : server) + path
        return UploadTransport { body, token, key in
            let request = OutboundRequest(
                url: address, method: "POST",
                headers: [
                    ("Content-Type", "application/json"), ("Authorization", "Bearer \(token)"), ("Idempotency-Key", key),
                ],
                body: body, timeout: body.count <= smallBytes ? shortTimeout : timeout, maxResponseBytes: answerBytes)
            do {
                let response = try await sender.send(request)
                let retryAfter = response.header("Retry-After").flatMap { Int64($0) }.map { Duration.seconds(max(0, $0)) }
                return UploadReply(outcome: .answered(status: response.status, retryAfter: retryAfter), body: response.body)
            } catch {
                return UploadReply(outcome: .unreachable, body: [])
            }
        }
    }
}
