// Credentials that proved nobody: counted by reason and told to the log, never with what was shown.

import Contracts
import HTTPKit
import Logging
import Metrics
import Synchronization

/// Why credentials proved nobody; the label of `refused_credentials_total`.
enum CredentialFault: String, CaseIterable, Sendable {
    case noClient = "no-client"
    case unknownClient = "unknown-client"
    case wrongSecret = "wrong-secret"
    /// The secret before the one in force, later than `org.secret_overlap_h` allows.
    case endedSecret = "ended-secret"
    /// Never given, withdrawn, or forgotten after its end.
    case unknownToken = "unknown-token"
    /// What happens to every program once in an hour.
    case endedToken = "ended-token"
    /// Of a member: not consent's, over, or of a log-in that ended.
    case logInToken = "log-in-token"

    /// Somebody may be trying out what they should not have.
    var isSuspicious: Bool {
        switch self {
        case .unknownClient, .wrongSecret, .endedSecret, .unknownToken: true
        case .noClient, .endedToken, .logInToken: false
        }
    }
}

final class RefusedCredentials: Sendable {
    /// Lines of one reason: so many at once, then one in ten seconds. The metric counts all of them.
    private static let lines = (burst: 20.0, perSecond: 0.1)

    private struct Lines {
        var allowance: TokenBucket
        /// Since the last line.
        var silent = 0
    }

    private let logger: Logger
    private let lines = Mutex<[CredentialFault: Lines]>([:])

    init(logger: Logger) {
        self.logger = logger
    }

    /// - Parameters:
    ///   - client: one that there is; a text that names nobody is not repeated.
    ///   - requestID: nil where it is not known; the answer's own line has it.
    func note(_ fault: CredentialFault, client: ClientID? = nil, requestID: String? = nil, at now: ContinuousClock.Instant = .now) {
        Counter(label: "refused_credentials_total", dimensions: [("reason", fault.rawValue)]).increment()
        guard let silent = line(fault, now) else { return }
        var metadata: Logger.Metadata = ["reason": "\(fault.rawValue)"]
        if let client { metadata["client"] = "\(client)" }
        if let requestID { metadata["requestId"] = "\(requestID)" }
        if silent > 0 { metadata["passedOver"] = "\(silent)" }
        logger.log(level: fault.isSuspicious ? .warning : .info, "credentials were refused", metadata: metadata)
    }

    /// How many lines were skipped before this one; nil where it is skipped too.
    private func line(_ fault: CredentialFault, _ now: ContinuousClock.Instant) -> Int? {
        lines.withLock { lines in
            var kept = lines[fault] ?? Lines(allowance: TokenBucket(rate: Self.lines.perSecond, burst: Self.lines.burst, at: now))
            let silent = kept.silent
            let isWritten = kept.allowance.take(at: now) == nil
            kept.silent = isWritten ? 0 : silent + 1
            lines[fault] = kept
            return isWritten ? silent : nil
        }
    }
}
