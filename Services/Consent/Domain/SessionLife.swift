// How long a session lives, and what a refresh token that comes again means.

import Contracts

/// Times of one session. A pure value.
struct SessionLife: Hashable, Sendable {
    /// Of one access token; every service believes it for that long, unless it hears that the session has ended.
    static let accessToken = Duration.seconds(600)
    /// How far the clocks of two services may differ.
    static let clockSkew = Duration.seconds(30)
    /// How long the answer to a refresh may be asked for again, by the same key, where it was lost on its way.
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
    /// The caller has not heard the answer: the same one again.
    case sameAnswer
    /// Two hold the token, one of them a thief: the session ends (ASVS 10.4.8).
    case reuse

    /// - Parameters:
    ///   - key: the idempotency key of the request that spent the token, or a digest of it; nil where it had none.
    ///   - retryKey: that of the request that has come now.
    static func judge(spentAt: Timestamp, key: [UInt8]?, retryKey: [UInt8]?, now: Timestamp) -> SpentTokenVerdict {
        guard let key, let retryKey, key == retryKey, now - spentAt < SessionLife.lostAnswer else { return .reuse }
        return .sameAnswer
    }
}
