// What follows from an attempt to deliver a webhook: settled, again later, given up, or the end of the endpoint.

import Contracts

/// What came of one attempt, without anything that the other side wrote.
enum WebhookOutcome: Hashable, Sendable {
    case answered(status: Int, retryAfter: Duration?)
    /// Nothing came back; a kebab-case word for why.
    case failed(String)

    /// No answer in time.
    static let timeout = "timeout"

    /// For the endpoint's health, as its owner sees it.
    var text: String {
        switch self {
        case .answered(let status, _): "status \(status)"
        case .failed(let why): why
        }
    }

    var isSuccess: Bool {
        if case .answered(let status, _) = self { (200...299).contains(status) } else { false }
    }
}

enum WebhookDecision: Hashable, Sendable {
    case settled
    case again(at: Timestamp)
    /// To the dead letters; the endpoint is paused and its owner told.
    case deadLettered
    /// The endpoint said that it is gone (410): nothing more is sent there until it is verified again; the message waits.
    case gone
}

struct WebhookSchedule: Hashable, Sendable {
    /// How long a message is tried.
    var retryFor: Duration = .seconds(72 * 3600)

    /// The longest that the receiver may ask us to wait.
    static let longestRetryAfter = Duration.seconds(3600)

    /// Whether the next attempt's time has come. Nothing puts off the first one, nor any for longer than a receiver may ask for.
    static func isDue(_ dueAt: Timestamp, attempts: Int, at now: Timestamp) -> Bool {
        attempts == 0 || dueAt.isOver(at: now, putOffAtMost: longestRetryAfter)
    }

    /// - Parameters:
    ///   - attempts: including this one.
    ///   - since: when the first attempt began.
    ///   - jitter: 0 to 1, so that many endpoints that fail together do not come back together.
    func decide(_ outcome: WebhookOutcome, attempts: Int, since: Timestamp, now: Timestamp, jitter: Double) -> WebhookDecision {
        var asked = Duration.zero
        if case .answered(let status, let retryAfter) = outcome {
            if (200...299).contains(status) { return .settled }
            if status == 410 { return .gone }
            asked = min(max(retryAfter ?? .zero, .zero), Self.longestRetryAfter)
        }
        let failing = now - since
        guard failing < retryFor else { return .deadLettered }
        let pause = max(Self.backoff(failing: failing).pause(after: attempts, random: 1 - min(max(jitter, 0), 1)), asked)
        // The last attempt comes at the very end, not before it.
        return .again(at: min(now + pause, max(since + retryFor, now + .seconds(1))))
    }

    /// Doubled from one second; at most 15 s in the first ten minutes, so that a restart over there costs little, 2 min in the first
    /// two hours, then 15 min.
    private static func backoff(failing: Duration) -> Backoff {
        Backoff(.seconds(1), upTo: failing < .seconds(600) ? .seconds(15) : failing < .seconds(7200) ? .seconds(120) : .seconds(900))
    }
}

/// How an endpoint is doing, as its owner sees it.
struct EndpointHealth: Hashable, Codable, Sendable {
    var lastSuccessAt: Timestamp?
    var lastFailureAt: Timestamp?
    /// Of the failures in a row, the first; nil while it is well.
    var failingSince: Timestamp?
    var failuresInARow = 0
    /// Of the last attempt.
    var lastOutcome: String?
    /// The last attempt was not answered at once, or not at all; absent where it was.
    var isSlow: Bool?

    /// An attempt that lasts longer is slow.
    static let promptness = Duration.seconds(2)

    /// - Parameter took: how long the attempt lasted.
    mutating func note(_ outcome: WebhookOutcome, at now: Timestamp, took: Duration = .zero) {
        lastOutcome = outcome.text
        isSlow = took >= Self.promptness || outcome == .failed(WebhookOutcome.timeout) ? true : nil
        if outcome.isSuccess {
            (lastSuccessAt, failingSince, failuresInARow) = (now, nil, 0)
        } else {
            lastFailureAt = now
            failingSince = failingSince ?? now
            failuresInARow += 1
        }
    }
}

enum EndpointState: String, CaseIterable, Codable, Sendable {
    /// Has not yet shown that it wants our messages.
    case unverified
    case active
    /// Failed for too long; verifying it again sets it going where it stopped.
    case paused
    /// Answered 410.
    case gone
}
