// What the reference emergency desk answers to each message. Pure; the same rules serve as the sample for integrators.

import Contracts

/// How the desk behaves. All but `accept` are for trying what the suite does with integrators that fail.
enum DeskMode: Hashable, Sendable, CustomStringConvertible {
    /// Verifies, and acknowledges in the answer.
    case accept
    /// Acknowledges with `rejected`.
    case refuse
    /// Answers 202 and acknowledges by a call-back after a while.
    case delay(Duration)
    /// A bare 200, or an acknowledgement under a forged signature, in turns.
    case lie
    /// Takes the message and never answers.
    case silent
    /// Acknowledges after 1.5 s.
    case slow
    /// Answers 503 to every first try of a message.
    case flaky

    static let slowness = Duration.milliseconds(1500)
    static let longestDelay = Duration.seconds(3600)
    static let words = "accept, refuse, delay:5s, lie, silent, slow, flaky"

    init?(_ text: String) {
        switch text {
        case "accept": self = .accept
        case "refuse": self = .refuse
        case "lie": self = .lie
        case "silent": self = .silent
        case "slow": self = .slow
        case "flaky": self = .flaky
        default:
            guard text.hasPrefix("delay:"), let delay = SpokenDuration(String(text.dropFirst(6))), delay.duration <= DeskMode.longestDelay
            else { return nil }
            self = .delay(delay.duration)
        }
    }

    var description: String {
        switch self {
        case .accept: "accept"
        case .refuse: "refuse"
        case .delay(let duration): "delay:\(SpokenDuration(duration))"
        case .lie: "lie"
        case .silent: "silent"
        case .slow: "slow"
        case .flaky: "flaky"
        }
    }
}

/// What the signatures of a message were worth.
struct DeskVerification: Hashable, Sendable {
    /// HMAC under the shared secret; nil where the desk has none or the message has none.
    var v1: Bool?
    /// Ed25519 under the suite's public key; likewise.
    var v1a: Bool?

    /// At least one holds and none is wrong.
    var isVerified: Bool {
        (v1 == true || v1a == true) && v1 != false && v1a != false
    }
}

enum DeskReply: Hashable, Sendable {
    /// The business acknowledgement in the answer, signed.
    case acknowledge(AcknowledgementResult, after: Duration)
    /// 202 now; the acknowledgement follows by call-back.
    case callBack(after: Duration)
    case bare(status: Int)
    case forged
    case silence
    /// 401: the message is not from the suite; it was written to the log and nothing else.
    case unauthorised
}

enum AcknowledgementResult: String, Codable, Sendable {
    case accepted
    case rejected
    case duplicate
}

/// Remembers which messages came, so that a repeat is answered as one.
struct DeskMachine: Sendable {
    private struct Message {
        var received = 0
        var isAccepted = false
    }

    let mode: DeskMode
    private var messages: [String: Message] = [:]

    init(mode: DeskMode) {
        self.mode = mode
    }

    /// Different message ids that were verified.
    var distinct: Int { messages.count }
    /// Verified messages beyond the first of each id.
    var repeats: Int { messages.values.reduce(0) { $0 + $1.received - 1 } }

    mutating func received(_ id: String, _ verification: DeskVerification) -> DeskReply {
        guard verification.isVerified else { return .unauthorised }
        var message = messages[id] ?? Message()
        message.received += 1
        defer { messages[id] = message }
        switch mode {
        case .accept, .slow:
            let result: AcknowledgementResult = message.isAccepted ? .duplicate : .accepted
            message.isAccepted = true
            return .acknowledge(result, after: mode == .slow ? DeskMode.slowness : .zero)
        case .refuse: return .acknowledge(.rejected, after: .zero)
        case .delay(let delay): return message.received == 1 ? .callBack(after: delay) : .bare(status: 202)
        case .lie: return message.received.isMultiple(of: 2) ? .forged : .bare(status: 200)
        case .silent: return .silence
        case .flaky:
            if message.received == 1 { return .bare(status: 503) }
            let result: AcknowledgementResult = message.isAccepted ? .duplicate : .accepted
            message.isAccepted = true
            return .acknowledge(result, after: .zero)
        }
    }
}

/// The answer that stops the suite's repeating: `{"ack":{"messageId":…,"result":…,"ackId":…}}`, signed over these bytes.
struct Acknowledgement: Codable, Hashable, Sendable {
    struct Content: Codable, Hashable, Sendable {
        var messageId: String
        var result: AcknowledgementResult
        /// The desk's own name for it; quoted in the emergency's timeline.
        var ackId: String
        /// Why it was rejected; required there.
        var reason: String?
    }

    var ack: Content
}
