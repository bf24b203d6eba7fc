// The conversation with one emergency service: one signed message out, perhaps a signed acknowledgement back.

import Contracts
import Logging
import Outbound
import Sealing
import ServiceKit

/// What came of one attempt.
enum Delivery: Hashable, Sendable {
    /// The integrator's own, proved word about this message; it may be a rejection.
    case answered(Acknowledgement)
    /// A 2xx without a word about the message: transport did its part, nothing more.
    case delivered(status: Int)
    /// The notifier has taken the text.
    case texted
    /// There was an acknowledgement that nobody has to believe or can read, and why.
    case ignored(status: Int, why: String)
    /// Known at once not to have been taken: refused connection, TLS or name failure, an answer of 3xx to 5xx.
    case failed(String)
    /// Perhaps taken, perhaps not: nothing came back in time.
    case unanswered(String)

    /// For labels and the timeline; holds nothing that the other side wrote.
    var outcome: String {
        switch self {
        case .answered(let acknowledgement): acknowledgement.result.rawValue
        case .delivered, .texted: "delivered"
        case .ignored: "ignored"
        case .failed, .unanswered: "failed"
        }
    }

    /// Whether the integrator said something about the message, whether it is believed or not.
    var isWord: Bool {
        switch self {
        case .answered, .ignored: true
        case .delivered, .texted, .failed, .unanswered: false
        }
    }

    /// Whether other ways need not wait for this one (SOS-39).
    var isHardFailure: Bool {
        switch self {
        case .failed: true
        case .ignored(let status, _): !(200..<300).contains(status)
        case .answered, .delivered, .texted, .unanswered: false
        }
    }

    var detail: String {
        switch self {
        case .answered(let acknowledgement): acknowledgement.result.rawValue
        case .delivered(let status): "delivered with status \(status), not acknowledged"
        case .texted: "handed to the notifier"
        case .ignored(let status, let why): "status \(status), answer ignored: \(why)"
        case .failed(let why), .unanswered(let why): "failed: \(why)"
        }
    }
}

/// A way on which an integrator is reached. Each goes its own pace: none waits for another (SOS-18).
enum DispatchWay: String, Hashable, Sendable, CaseIterable {
    case first = "endpoint"
    case second = "second endpoint"
    case text
}

/// One emergency service: by webhook (Standard Webhooks, `v1` and `v1a`), by text, by its stream.
struct Integrator: Sendable {
    /// An address with connections and a thread of its own, so that one that hangs holds up no other.
    struct Endpoint: Sendable {
        let url: String
        let sender: HTTPSender
    }

    /// Of the one that the settings name; registered ones have their names.
    static let configuredID = "default"
    /// The probe of this process, which takes the canary's calls; no registered one can have such a name.
    static let probeID = "(canary)"

    let id: String
    let settings: IntegratorSettings
    /// What is signed with, the newest first: the secrets of its endpoints, and the suite's own key.
    let secrets: [WebhookSecret]
    let signingKey: SigningKey
    /// What the integrator's answers may be signed with besides the secrets.
    let answerKeys: [VerifyingKey]
    /// The bearer token of its own calls.
    let token: String
    let endpoints: [Endpoint]
    /// Gets no new emergencies.
    let isRetired: Bool
    /// Where its stream is published over TCP; nil where it has none.
    let streamPort: Int?

    var name: String { settings.name }

    /// Whether it is called about new emergencies: it must be reached somehow.
    var isActive: Bool { !isRetired && (settings.number != nil || !endpoints.isEmpty || stream != nil) }

    var isConfigured: Bool { id == Integrator.configuredID }

    /// The stream that says every message to its peer.
    var stream: String? { settings.peer == nil || streamPort == nil ? nil : StreamFamily.dispatchesName(to: id) }

    /// nil where the integrator has no such way.
    func endpoint(of way: DispatchWay) -> Endpoint? {
        switch way {
        case .first: endpoints.first
        case .second: endpoints.count > 1 ? endpoints[1] : nil
        case .text: nil
        }
    }

    /// The ways of which one is to be heard: its addresses; where it has none, the text; none where it has a stream alone.
    var addresses: [DispatchWay] {
        let endpoints = [DispatchWay.first, .second].filter(takes)
        return endpoints.isEmpty ? [.text].filter(takes) : endpoints
    }

    /// Whether messages go that way. One without any way is tried all the same, so that it is seen that nobody is called.
    func takes(_ way: DispatchWay) -> Bool {
        switch way {
        case .first: !endpoints.isEmpty || (settings.number == nil && stream == nil)
        case .second: endpoints.count > 1
        case .text: settings.number != nil
        }
    }

    /// Sends the stored bytes once; returns within `DispatchOutbox.answerDeadline`.
    /// - Parameter earlier: the emergency's messages before this one.
    func deliver(_ message: OutboxMessage, earlier: [OutboxMessage], by way: DispatchWay) async -> Delivery {
        guard let endpoint = endpoint(of: way) else { return .failed("no emergency service is configured (sos.webhook_url)") }
        do {
            let (body, contentType) = try form(message, earlier)
            let signature = try WebhookSignature.sign(
                id: message.id.description, at: .now, body: body, secrets: secrets, keys: [signingKey])
            var request = OutboundRequest.post(endpoint.url, body, contentType: contentType)
            request.headers += [
                (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
                (WebhookSignature.signatureHeader, signature.signatures),
            ]
            request.timeout = DispatchOutbox.answerDeadline
            request.connectTimeout = DispatchOutbox.connectDeadline
            let attempt = await endpoint.sender.attempt(request)
            switch attempt.outcome {
            case .success(let response): return judge(response, of: message.id)
            case .failure(.timeout) where attempt.wasHandedOver: return .unanswered("\(OutboundError.timeout)")
            case .failure(let error) where error == .cancelled || error == .queueFull: return .unanswered("\(error)")
            case .failure(let error): return .failed("\(error)")
            }
        } catch {
            return .failed("\(error)")
        }
    }

    private func form(_ message: OutboxMessage, _ earlier: [OutboxMessage]) throws -> (body: [UInt8], contentType: String) {
        switch settings.format {
        case .json: (message.body, DispatchMessage.contentType)
        case .cap: (try CAPDocument.render(message, earlier: earlier, to: name), CAPDocument.contentType)
        }
    }

    private func judge(_ response: OutboundResponse, of id: MessageID) -> Delivery {
        guard let acknowledgement = AcknowledgementBody.read(response.body) ?? CAPDocument.acknowledgement(response.body) else {
            if let why = AcknowledgementBody.fault(in: response.body) ?? CAPDocument.acknowledgementFault(in: response.body) {
                return .ignored(status: response.status, why: why)
            }
            return response.isSuccess ? .delivered(status: response.status) : .failed("status \(response.status)")
        }
        guard let ackID = response.header(WebhookSignature.idHeader), let timestamp = response.header(WebhookSignature.timestampHeader),
            let signatures = response.header(WebhookSignature.signatureHeader)
        else { return .ignored(status: response.status, why: "not signed") }
        guard ackID == acknowledgement.ackId else { return .ignored(status: response.status, why: "signed under another id") }
        guard acknowledgement.messageId == id.description else { return .ignored(status: response.status, why: "about another message") }
        do {
            try WebhookSignature(id: ackID, timestamp: timestamp, signatures: signatures)
                .verify(body: response.body, secrets: secrets, keys: answerKeys, now: .now)
            return .answered(acknowledgement)
        } catch {
            return .ignored(status: response.status, why: "\(error)")
        }
    }
}
