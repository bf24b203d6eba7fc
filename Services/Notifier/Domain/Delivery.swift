// One message on one channel, from the first attempt to the last word.

import Contracts

/// How the pauses between attempts grow, and how long receipts are waited for.
struct Pace: Hashable, Sendable {
    /// In which the messages to one address are counted: how long the first attempt of one that is not urgent may have to wait.
    static let rateLimit = Duration.seconds(3600)

    /// After failed rounds of attempts.
    var backoff: Backoff
    /// After an attempt of which nobody knows what came of it: time for a receipt to come.
    var unknown: Duration
    /// How long after it was taken a receipt may still come.
    var receipt: Duration

    /// No attempt is put off for longer, but for the rate limit.
    var longestPause: Duration { max(backoff.last, unknown) }
}

/// The machine of one delivery. Every attempt is begun, and stored as begun, before it is made: one that is found begun after a
/// crash may have succeeded, and is treated as such an attempt is.
struct Delivery: Hashable, Sendable {
    enum Outcome: Hashable, Sendable {
        /// The next system has taken it; whether receipts follow.
        case taken(receipts: Bool)
        /// Nothing was handed over.
        case unreachable
        /// It was asked and wants to be asked later.
        case postponed
        /// It will never take it; a short kebab-case word why.
        case refused(String)
        /// It may have taken it or not.
        case unknown

        /// For metrics.
        var word: String {
            switch self {
            case .taken: "taken"
            case .unreachable: "unreachable"
            case .postponed: "postponed"
            case .refused: "refused"
            case .unknown: "unknown"
            }
        }
    }

    /// What a provider reports later about an attempt that it had taken.
    enum Receipt: String, Hashable, Sendable, CaseIterable {
        /// It has it and goes on trying.
        case accepted
        case delivered
        /// The recipient cannot be reached.
        case failed
        /// The network did not take it: another provider may have more luck.
        case rejected
    }

    var state = DeliveryState.queued
    /// Why it failed.
    var reason: String?
    var attempts = 0
    /// Of the attempt under way, else of the last one.
    var provider: String?
    /// Providers that will never take it.
    var refusedBy: Set<String> = []
    /// Whether the next attempt goes to the provider after `provider`, at once or after a pause.
    var movesOn = false
    /// When the attempt under way was begun; nil where there is none.
    var begunAt: Timestamp?
    /// When the next attempt is due; once sent, until when a receipt is waited for.
    var nextAt: Timestamp
    var notAfter: Timestamp
    /// Nothing more will happen.
    var isSettled = false

    init(nextAt: Timestamp, notAfter: Timestamp) {
        (self.nextAt, self.notAfter) = (nextAt, notAfter)
    }

    /// Settled before anything was tried.
    static func settled(_ state: DeliveryState, reason: String? = nil, at: Timestamp) -> Delivery {
        var delivery = Delivery(nextAt: at, notAfter: at)
        (delivery.state, delivery.reason, delivery.isSettled) = (state, reason, true)
        return delivery
    }

    // MARK: Attempts

    /// Whom the next attempt goes to; nil where no provider is left.
    /// - Parameter order: the providers as they are preferred.
    func choice(of order: [String]) -> String? {
        let left = order.filter { !refusedBy.contains($0) }
        guard movesOn, let provider, let index = order.firstIndex(of: provider) else {
            return provider.flatMap { left.contains($0) ? $0 : nil } ?? left.first
        }
        return order[(index + 1)...].first(where: left.contains) ?? left.first
    }

    mutating func begin(with provider: String, at now: Timestamp) {
        attempts += 1
        self.provider = provider
        movesOn = false
        begunAt = now
    }

    /// What came of the attempt under way.
    mutating func end(_ outcome: Outcome, order: [String], pace: Pace, jitter: Double, at now: Timestamp) {
        begunAt = nil
        switch outcome {
        case .taken(let receipts): taken(receipts: receipts, pace, at: now)
        case .unreachable, .postponed:
            movesOn = true
            // The whole order is gone through without a pause; then there is one.
            nextAt = isLast(in: order) ? now + pace.backoff.pause(after: rounds(order), random: jitter) : now
        case .refused(let reason): refused(reason, order, at: now)
        case .unknown:
            movesOn = true
            nextAt = now + max(pace.unknown, pace.backoff.pause(after: rounds(order), random: jitter))
        }
    }

    /// Found begun when the service started: nobody knows what came of it.
    mutating func interrupted(pace: Pace, at now: Timestamp) {
        begunAt = nil
        movesOn = true
        nextAt = now + pace.unknown
    }

    /// What has taken too long is settled: unsent is given up, sent stays sent. Returns whether it has changed.
    mutating func expire(at now: Timestamp) -> Bool {
        guard !isSettled, begunAt == nil else { return false }
        if state == .sent, nextAt <= now {
            isSettled = true
        } else if state == .queued, notAfter <= now {
            (state, reason, isSettled) = (.failed, "expired", true)
        } else {
            return false
        }
        return true
    }

    // MARK: Receipts

    /// Returns whether it has changed. A receipt of an earlier attempt counts only if it reports success.
    mutating func receive(_ receipt: Receipt, attempt: Int, order: [String], pace: Pace, at now: Timestamp) -> Bool {
        guard !isSettled, attempt <= attempts, attempt > 0 else { return false }
        switch receipt {
        case .delivered:
            (state, reason, isSettled, begunAt) = (.delivered, nil, true, nil)
        case .accepted:
            guard attempt == attempts, state == .queued else { return false }
            taken(receipts: true, pace, at: now)
            begunAt = nil
        case .failed, .rejected:
            guard attempt == attempts else { return false }
            begunAt = nil
            refused(receipt == .failed ? "undeliverable" : "refused", receipt == .failed ? [] : order, at: now)
        }
        return true
    }

    // MARK: Steps

    private mutating func taken(receipts: Bool, _ pace: Pace, at now: Timestamp) {
        state = .sent
        isSettled = !receipts
        nextAt = receipts ? now + pace.receipt : now
    }

    private mutating func refused(_ reason: String, _ order: [String], at now: Timestamp) {
        if let provider { refusedBy.insert(provider) }
        movesOn = true
        if choice(of: order) != nil, now < notAfter {
            state = .queued
            nextAt = now
        } else {
            (state, self.reason, isSettled) = (.failed, reason, true)
        }
    }

    private func isLast(in order: [String]) -> Bool {
        guard let provider, let index = order.firstIndex(of: provider) else { return true }
        return !order[(index + 1)...].contains { !refusedBy.contains($0) }
    }

    /// How often everybody has been asked.
    private func rounds(_ order: [String]) -> Int {
        max(1, (attempts + max(order.count, 1) - 1) / max(order.count, 1))
    }
}

/// What is published of a message on one channel, over all its targets.
enum ChannelVerdict {
    /// The best of them; nil while one is still under way.
    static func of(_ deliveries: [(state: DeliveryState, reason: String?, isSettled: Bool)]) -> (state: DeliveryState, reason: String?)? {
        guard !deliveries.isEmpty, deliveries.allSatisfy(\.isSettled) else { return nil }
        let best = deliveries.max { rank($0.state) < rank($1.state) }
        return best.map { ($0.state, $0.state == .failed ? $0.reason : nil) }
    }

    /// How far it has come on the way, of several targets the furthest.
    static func progress(_ states: [DeliveryState]) -> DeliveryState {
        states.max { rank($0) < rank($1) } ?? .queued
    }

    private static func rank(_ state: DeliveryState) -> Int {
        switch state {
        case .failed: 0
        case .queued: 1
        case .sent: 2
        case .delivered: 3
        }
    }
}
