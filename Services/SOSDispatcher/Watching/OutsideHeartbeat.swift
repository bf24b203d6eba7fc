// A sign of life to somebody outside, so that silence is noticed there when nobody here can tell.

import Contracts
import Foundation
import Logging
import Outbound
import Sealing
import ServiceKit

/// A signed POST every 15 s (Standard Webhooks). It says whether the last test emergency got through: an outside watch that looks for
/// `"healthy":true` learns of more than a process that runs.
struct OutsideHeartbeat: Sendable {
    static let period = Duration.seconds(15)
    private static let timeout = Duration.seconds(5)
    /// A canary of longer ago proves nothing.
    private static let fresh = Duration.seconds(60)

    struct Message: Codable, Hashable, Sendable {
        var schema = "heartbeat/1"
        var service: String
        var at: String
        /// Whether ingest is heard and the last test emergency was acknowledged in time.
        var healthy: Bool
        var listening: Bool
        /// `ok`, `late` or `missed`; absent where none was flown of late.
        var canary: String?
    }

    let peer: Peer
    let url: String
    let secret: WebhookSecret
    let sender: HTTPSender
    let supervision: SupervisionService
    /// nil where none flies.
    let canary: Canary?
    let metrics: WatchMetrics
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async throws {
        while true {
            await send(at: .now)
            try await Task.sleep(for: OutsideHeartbeat.period)
        }
    }

    private func send(at now: Timestamp) async {
        do {
            let body = try await message(at: now)
            let signature = try WebhookSignature.sign(id: "\(peer)-\(now.milliseconds)", at: now, body: body, secrets: [secret])
            var request = OutboundRequest.post(url, body, contentType: "application/json")
            request.headers += [
                (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
                (WebhookSignature.signatureHeader, signature.signatures),
            ]
            (request.timeout, request.connectTimeout) = (OutsideHeartbeat.timeout, OutsideHeartbeat.timeout)
            let answer = try await sender.send(request)
            if answer.isSuccess {
                metrics.sentHeartbeat(at: now)
            } else {
                logger.warning("the heartbeat was not accepted", metadata: ["status": "\(answer.status)"])
            }
        } catch {
            logger.warning("the heartbeat could not be sent", metadata: ["reason": "\(error)"])
        }
    }

    private func message(at now: Timestamp) async throws -> [UInt8] {
        let listening = await supervision.isListening()
        let last = await canary?.last.flatMap { now - $0.at < OutsideHeartbeat.fresh ? $0.outcome.word : nil }
        let message = Message(
            service: peer.name, at: now.rfc3339, healthy: listening && (canary == nil || last == "ok"), listening: listening, canary: last)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(message))
    }
}
