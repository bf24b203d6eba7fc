// How long a session lives, and what a refresh token that comes again means.

import Contracts

/// Times of one session. A pure value.
struct SessionLife: Hashable, Sendable {
    /// Of one access token; every service believes it for that long, unless it receives that the session has ended.
    static let accessToken = Duration.seconds(600)
    /// How far the clocks of two services may differ.
    static let clockSkew = Duration.seconds(30)
    /// How long the answer to a refresh may be asked for again, by the token that it spent, where it was lost on its way.
    static let lostAnswer = Duration.seconds(60)

    /// Without a refresh for that long it is over.
    let idle: Duration
    /// It is over then, however often it was refreshed.
    let absolute: Duration

    /// - Parameter lastUsed: when it began or was last refreshed.
    func end(created: Timestamp, lastUsed: Timestamp) -> Timestamp {
        min(created + absolute, lastUsed + idle)
    }

    func isOver(created: Timestamp, lastUsed: Timestamp, at now: Timestamp) -> Bool {
        now >= end(created: created, lastUsed: lastUsed)
    }

    /// When the last access token of a session, made at its last use, has expired everywhere.
    static func lastTokenExpires(lastUsed: Timestamp) -> Timestamp {
        lastUsed + accessToken + clockSkew
    }
}

/// What to do with a refresh token that has been spent already.
enum SpentTokenVerdict: Hashable, Sendable {
    /// The caller has not received the answer: the same one again.
    case sameAnswer
    /// Two hold the token, one of them a thief: the session ends (ASVS 10.4.8).
    case reuse

    /// - Parameters:
    ///   - spentAt: when the token was spent by the session's latest refresh; nil where another refresh came after it, or may have: then
    ///     its answer was received.
    static func judge(spentAt: Timestamp?, now: Timestamp) -> SpentTokenVerdict {
        guard let spentAt, (.zero - SessionLife.lostAnswer..<SessionLife.lostAnswer).contains(now - spentAt) else { return .reuse }
        return .sameAnswer
    }
}
