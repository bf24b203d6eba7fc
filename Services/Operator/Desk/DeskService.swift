// The desk itself: verifies, writes its log, then answers in its mode.

import Contracts
import Foundation
import Sealing
import ServiceKit

/// A message as it came in.
struct DeskMessage: Sendable {
    var id: String
    var timestamp: String
    var signatures: String
    var body: [UInt8]
}

/// What goes back over HTTP.
struct DeskResponse: Sendable {
    var status: Int
    var body: [UInt8] = []
    var contentType = "application/json"
    var signature: WebhookSignature?
}

actor DeskService {
    private var machine: DeskMachine
    private let keys: DeskKeys
    private let log: DeskLog
    /// Delivers a delayed acknowledgement.
    private let callBack: @Sendable (_ messageID: String, _ response: DeskResponse) async -> Void
    private let show: @Sendable (String) -> Void
    private var seen: [String: Int] = [:]
    /// Of verified messages, as they came first. Their members are needed where others come under the same id, and no answer waits for them.
    private var first: [String: (digest: [UInt8], members: Task<MessageMembers, Never>)] = [:]

    /// A silent desk keeps the connection for so long.
    private static let silence = Duration.seconds(60)

    init(
        mode: DeskMode, keys: DeskKeys, log: DeskLog, show: @escaping @Sendable (String) -> Void,
        callBack: @escaping @Sendable (_ messageID: String, _ response: DeskResponse) async -> Void
    ) {
        machine = DeskMachine(mode: mode)
        (self.keys, self.log, self.show, self.callBack) = (keys, log, show, callBack)
    }

    /// The log has the message before this returns. Throws where it cannot be written: the desk then must not acknowledge.
    func receive(_ message: DeskMessage) async throws -> DeskResponse {
        let now = Timestamp.now
        let signature = WebhookSignature(id: message.id, timestamp: message.timestamp, signatures: message.signatures)
        let verification = keys.verification(of: signature, body: message.body, now: now)
        let reply = machine.received(message.id, verification)
        let repeated = seen[message.id, default: 0]
        if verification.isVerified { seen[message.id] = repeated + 1 }
        let digest = Digest.sha256(message.body)
        let differences = verification.isVerified ? await differences(of: message, digest) : []
        let entry = DeskEntry(
            receivedAt: now, messageId: message.id, sha256: Hex.encode(digest),
            kind: verification.isVerified ? DeskService.kind(message.body) : "",
            verified: verification.isVerified, v1: verification.v1, v1a: verification.v1a, answer: reply.word, repeated: repeated,
            differs: differences.isEmpty ? nil : differences)
        try log.append(entry)
        show(DeskService.line(entry, message.body))
        return try await respond(reply, to: message)
    }

    private func differences(of message: DeskMessage, _ digest: [UInt8]) async -> [String] {
        guard let known = first[message.id] else {
            first[message.id] = (digest, Task.detached { MessageMembers(message.body) })
            return []
        }
        return known.digest == digest ? [] : await known.members.value.differences(from: MessageMembers(message.body))
    }

    private func respond(_ reply: DeskReply, to message: DeskMessage) async throws -> DeskResponse {
        let id = message.id
        switch reply {
        case .acknowledge(let result, let after):
            if after > .zero { try await Task.sleep(for: after) }
            return try acknowledgement(of: message, result)
        case .callBack(let after):
            let response = try acknowledgement(of: message, .accepted)
            let callBack = callBack
            Task {
                try? await Task.sleep(for: after)
                await callBack(id, response)
            }
            return DeskResponse(status: 202)
        case .bare(let status): return DeskResponse(status: status)
        case .forged:
            var response = try acknowledgement(of: message, .accepted)
            response.signature = try response.signature.map {
                try WebhookSignature.sign(id: $0.id, at: .now, body: response.body, secrets: [.random()])
            }
            return response
        case .silence:
            try await Task.sleep(for: DeskService.silence)
            return DeskResponse(status: 503)
        case .unauthorised: return DeskResponse(status: 401)
        }
    }

    /// In the form of the message.
    private func acknowledgement(of message: DeskMessage, _ result: AcknowledgementResult) throws -> DeskResponse {
        let ackID = "desk-" + Hex.encode(Random.bytes(8))
        let reason = result == .rejected ? "this desk was told to refuse" : nil
        let (now, document) = (Timestamp.now, DeskCAP(message.body))
        let body: [UInt8]
        if let document {
            body = document.answer(result, ackID: ackID, reason: reason, at: now)
        } else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            let content = Acknowledgement.Content(messageId: message.id, result: result, ackId: ackID, reason: reason)
            body = Array(try encoder.encode(Acknowledgement(ack: content)))
        }
        let signature = try WebhookSignature.sign(id: ackID, at: now, body: body, secrets: [keys.secret])
        return DeskResponse(
            status: 200, body: body, contentType: document == nil ? "application/json" : DeskCAP.contentType, signature: signature)
    }

    // MARK: What is shown

    /// The few fields that the desk's line needs.
    private struct Excerpt: Decodable {
        struct Threshold: Decodable {
            var metric: String
            var value: Double
            var unit: String
        }
        struct Trigger: Decodable {
            var threshold: Threshold?
        }
        var msgType: String?
        var firstBreachAt: String?
        var trigger: Trigger?
    }

    private static func kind(_ body: [UInt8]) -> String {
        DeskCAP(body)?.kind ?? (try? CheckedJSON.decode(Excerpt.self, from: body))?.msgType ?? ""
    }

    /// On the desk's own screen the vital sign is shown: whoever sits there must act on it. It is not written anywhere.
    private static func line(_ entry: DeskEntry, _ body: [UInt8]) -> String {
        // What a stranger wrote is not shown.
        let excerpt = entry.verified ? try? CheckedJSON.decode(Excerpt.self, from: body) : nil
        let reason = excerpt?.trigger?.threshold.map { " \($0.metric) \($0.value) \($0.unit)" } ?? ""
        let proof = entry.verified ? "verified" : "NOT VERIFIED"
        let again = entry.repeated > 0 ? " (repeat \(entry.repeated))" : ""
        return
            "\(entry.receivedAt.rfc3339)  \(entry.kind.uppercased().padded(to: 6))  \(entry.messageId)  \(proof)\(reason) → \(entry.answer)\(again)"
    }
}

extension DeskReply {
    /// How the log names it.
    var word: String {
        switch self {
        case .acknowledge(let result, _): result.rawValue
        case .callBack: "call-back"
        case .bare(let status): String(status)
        case .forged: "forged"
        case .silence: "silence"
        case .unauthorised: "401"
        }
    }
}
