// How often somebody may come.

import Synchronization

/// A token bucket: `burst` tokens at most, `rate` new ones per second. A pure value; time is told.
package struct TokenBucket: Hashable, Sendable {
    package let rate: Double
    package let burst: Double
    private var tokens: Double
    private var last: ContinuousClock.Instant

    /// - Parameters:
    ///   - rate: per second, above 0.
    ///   - burst: at least 1; as many may come at once.
    package init(rate: Double, burst: Double, at now: ContinuousClock.Instant) {
        (self.rate, self.burst, tokens, last) = (rate, burst, burst, now)
    }

    /// Takes one token. nil is leave to go on; else how long to wait until there is one.
    package mutating func take(at now: ContinuousClock.Instant) -> Duration? {
        refill(now)
        guard tokens < 1 else {
            tokens -= 1
            return nil
        }
        return .milliseconds(Int64((((1 - tokens) / rate) * 1000).rounded(.up)))
    }

    /// Puts a token back that was taken.
    package mutating func giveBack() {
        tokens = min(burst, tokens + 1)
    }

    /// Whether it would be the same as a new one.
    package func isFull(at now: ContinuousClock.Instant) -> Bool {
        var copy = self
        copy.refill(now)
        return copy.tokens >= burst
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        let passed = (now - last) / .seconds(1)
        guard passed > 0 else { return }
        tokens = min(burst, tokens + passed * rate)
        last = now
    }
}

/// One bucket per key, in memory only. Buckets that are full again are forgotten, so that it holds those who come, not those who came.
package final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private final class Shard: Sendable {
        let state = Mutex<(buckets: [Key: TokenBucket], sweepAt: Int)>(([:], RateLimiter.leastSweep))
    }

    private static var shardCount: Int { 16 }
    private static var leastSweep: Int { 1024 }
    private let shards: [Shard]
    private let rate: Double
    private let burst: Double

    /// - Parameters:
    ///   - rate: per second and key.
    ///   - burst: as many may come at once.
    package init(rate: Double, burst: Double) {
        (self.rate, self.burst) = (rate, burst)
        shards = (0..<Self.shardCount).map { _ in Shard() }
    }

    /// Counts one coming of `key`. nil is leave to go on; else how long to wait.
    package func take(_ key: Key, at now: ContinuousClock.Instant = .now) -> Duration? {
        shard(of: key).state.withLock { state in
            if state.buckets.count >= state.sweepAt {
                state.buckets = state.buckets.filter { !$0.value.isFull(at: now) }
                state.sweepAt = max(Self.leastSweep, state.buckets.count * 2)
            }
            return state.buckets[key, default: TokenBucket(rate: rate, burst: burst, at: now)].take(at: now)
        }
    }

    /// Undoes one `take` of what turned out not to count: counted first, so that no number of them at once passes unseen.
    package func giveBack(_ key: Key) {
        shard(of: key).state.withLock { state in
            // One that is forgotten was full.
            guard var bucket = state.buckets[key] else { return }
            bucket.giveBack()
            state.buckets[key] = bucket
        }
    }

    private func shard(of key: Key) -> Shard {
        shards[Int(UInt(bitPattern: key.hashValue) % UInt(Self.shardCount))]
    }

    /// As `take`, as 429 `too-many-requests` with `Retry-After`.
    package func admit(_ key: Key, at now: ContinuousClock.Instant = .now) throws(Refusal) {
        if let wait = take(key, at: now) { throw Refusal(.tooManyRequests, retryAfter: wait) }
    }

    /// How many keys are remembered.
    package var count: Int {
        shards.reduce(0) { $0 + $1.state.withLock { $0.buckets.count } }
    }
}
