// When signing keys come, sign and go: each signs for a month, and is known before and after.

import Contracts

/// The times of one key that signs access tokens.
struct KeyPeriod: Hashable, Sendable {
    let id: String
    /// From here on it is published.
    let notBefore: Timestamp
    let signsFrom: Timestamp
    let signsUntil: Timestamp
    /// From here on nothing signed by it is valid.
    let notAfter: Timestamp
}

/// A pure plan over the keys that exist.
struct KeyRotation: Hashable, Sendable {
    /// How long a key signs.
    let period: Duration
    /// How long a key is published before it signs, so that every service knows it by then.
    static let lead = Duration.seconds(24 * 3600)
    /// How long a key stays valid after its last signature: longer than any token.
    static let tail = Duration.seconds(3600)

    /// The key that signs now; where the clock was put back to before the first one, the one that would sign next, which every service
    /// knows already. Nil where there is none.
    /// - Parameter keys: those whose secret half is there.
    func signer(of keys: [KeyPeriod], at now: Timestamp) -> KeyPeriod? {
        keys.filter { $0.signsFrom <= now && now < $0.signsUntil }.max { $0.signsFrom < $1.signsFrom }
            ?? keys.filter { now < $0.signsFrom }.min { $0.signsFrom < $1.signsFrom }
    }

    /// The period of the key that must be made now; nil where none must. The first one, and one after a long standstill, signs at once. One
    /// that lies further ahead than the next may was made while the clock was wrong, and keeps no other from being made.
    func due(after keys: [KeyPeriod], at now: Timestamp, id: String) -> KeyPeriod? {
        let last = keys.filter { $0.signsFrom - now <= Self.lead }.map(\.signsUntil).max() ?? now
        guard last - now <= Self.lead else { return nil }
        let start = max(last, now)
        return KeyPeriod(id: id, notBefore: now, signsFrom: start, signsUntil: start + period, notAfter: start + period + Self.tail)
    }

    /// Those whose tokens may still be valid, and those that will sign.
    func published(of keys: [KeyPeriod], at now: Timestamp) -> [KeyPeriod] {
        keys.filter { now < $0.notAfter }
    }
}
