// One attempt to bring a message to an endpoint: signed, to a checked address, bounded in size and time (Standard Webhooks).

import Contracts
import Logging
import Outbound
import Sealing

/// What leaves, without signatures.
struct WebhookPost: Sendable {
    let url: String
    let id: String
    let body: [UInt8]
    /// Of the endpoint, the newest first.
    let secrets: [String]
}

struct WebhookSender: Sendable {
    /// From the beginning to the last byte of the answer.
    static let timeout = Duration.seconds(10)
    static let connectTimeout = Duration.seconds(5)
    /// Of an answer; what is longer is a failure.
    static let mostOfAnswer = 16 << 10

    /// Places beside those of workers.
    private static let handshakes = 50

    let sender: HTTPSender
    /// For http, which leads to private networks alone, whatever the name resolves to at that moment.
    let plainSender: HTTPSender
    /// The suite's own: signs `v1a`; its public half is at `/thirdparty/v1/webhook-keys`.
    let signingKey: SigningKey
    let clock: @Sendable () -> Timestamp

    /// - Parameter allowsPrivate: by the operator's word: addresses of this machine and of private networks too.
    init(signingKey: SigningKey, allowsPrivate: Bool, clock: @escaping @Sendable () -> Timestamp, logger: Logger) {
        var outbound = OutboundSettings()
        outbound.policy = allowsPrivate ? .publicAndPrivate : .publicOnly
        outbound.userAgent = "TrackMe-Webhooks"
        outbound.parallel = DeliveryPermits.Bounds().all + Self.handshakes
        sender = HTTPSender(outbound, logger: logger)
        if allowsPrivate { outbound.policy = .privateOnly }
        plainSender = allowsPrivate ? HTTPSender(outbound, logger: logger) : sender
        (self.signingKey, self.clock) = (signingKey, clock)
    }

    func send(_ post: WebhookPost) async -> WebhookOutcome {
        await sendForAnswer(post).outcome
    }

    /// As `send`, with what was answered, for the handshake.
    func sendForAnswer(_ post: WebhookPost) async -> (outcome: WebhookOutcome, body: [UInt8]) {
        let isPlain = post.url.lowercased().hasPrefix("http://")
        do {
            let signature = try WebhookSignature.sign(
                id: post.id, at: clock(), body: post.body, secrets: try post.secrets.map { try WebhookSecret($0) }, keys: [signingKey])
            var request = OutboundRequest.post(post.url, post.body, contentType: "application/json")
            request.headers += [
                (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
                (WebhookSignature.signatureHeader, signature.signatures),
            ]
            (request.timeout, request.connectTimeout) = (Self.timeout, Self.connectTimeout)
            request.maxResponseBytes = Self.mostOfAnswer
            let response = try await (isPlain ? plainSender : sender).send(request)
            return (.answered(status: response.status, retryAfter: Self.seconds(response.header("Retry-After"))), response.body)
        } catch let error as OutboundError {
            if isPlain, case .refusedAddress = error { return (.failed("address-public-without-tls"), []) }
            return (.failed(Self.word(for: error)), [])
        } catch {
            return (.failed("not-signed"), [])
        }
    }

    /// Only the form in seconds; a date is taken as nothing.
    private static func seconds(_ text: String?) -> Duration? {
        text.flatMap { Int64($0) }.flatMap { $0 >= 0 ? .seconds(min($0, 1 << 32)) : nil }
    }

    private static func word(for error: OutboundError) -> String {
        switch error {
        case .malformed: "address-malformed"
        case .refusedAddress: "address-private"
        case .unresolved: "name-not-resolved"
        case .connect: "not-connected"
        case .tls: "no-secure-connection"
        case .timeout: WebhookOutcome.timeout
        case .tooLarge: "answer-too-large"
        case .logInRefused: "log-in-refused"
        case .cancelled: "cancelled"
        case .queueFull: "busy"
        case .other: "connection-broken"
        }
    }
}
