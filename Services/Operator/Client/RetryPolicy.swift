// What the reference client does after each answer or failure of an upload. Pure.

import Contracts

/// What came back for an upload.
enum UploadOutcome: Hashable, Sendable {
    /// An HTTP answer; `retryAfter` as the server asked.
    case answered(status: Int, retryAfter: Duration?)
    /// No answer: no connection, broken off, too late.
    case unreachable
}

enum UploadVerdict: Hashable, Sendable {
    /// Stored for good: take it off the queue.
    case done
    /// The same bytes again after a pause.
    case again(after: Duration)
    /// Too many bytes: half as many entries.
    case halve
    /// This device may not deliver; nothing is lost, but only a person can mend it.
    case stop(String)
    /// The server refuses the batch as a whole; sending it again cannot help.
    case refuse
}

struct RetryPolicy: Hashable, Sendable {
    /// Short at its longest too: while nothing is tried, a network that is back helps nobody.
    var backoff = Backoff(.milliseconds(200), upTo: .seconds(4))
    /// The longest `Retry-After` of a server that is followed.
    var longestAskedFor = Duration.seconds(300)

    /// `attempt` counts from 1; `jitter` in [0, 1) spreads clients that were cut off together over a pause's upper half.
    func verdict(on outcome: UploadOutcome, attempt: Int, jitter: Double) -> UploadVerdict {
        switch outcome {
        case .unreachable: return .again(after: backoff.pause(after: attempt, random: jitter))
        case .answered(let status, let retryAfter):
            switch status {
            case 200..<300: return .done
            case 401: return .stop("the token is not known here or was revoked; make a device with `trackme device add`")
            case 403: return .stop("this device may not deliver entries")
            case 404, 405: return .stop("nothing takes entries at this address; check --url")
            case 413: return .halve
            case 408, 425, 429, 500...:
                return .again(after: retryAfter.map { min($0, longestAskedFor) } ?? backoff.pause(after: attempt, random: jitter))
            case 409: return .again(after: backoff.pause(after: attempt, random: jitter))
            default: return .refuse
            }
        }
    }
}
