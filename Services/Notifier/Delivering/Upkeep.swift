// What happens without an attempt: attempts that a restart cut off, messages whose time is over, old rows, gauges.

import Contracts
import Logging
import ServiceKit
import Storage
import Synchronization

final class Upkeep: Sendable {
    private static let pollInterval = Duration.seconds(1)
    /// Rounds between measurements of how much waits.
    private static let roundsPerMeasure = 5
    /// Rounds between removals of what is old.
    private static let roundsPerExpiry = 3600

    private let store: MessageRepository
    private let pace: Pace
    private let keep: Duration
    private let keepInbox: Duration
    private let configured: Set<Channel>
    private let metrics: NotifierMetrics
    private let logger: Logger
    private let stuck = Mutex<[Channel: Int]>([:])
    private let overdueAtStart = Mutex<Set<DeliveryID>>([])

    /// - Parameter configured: channels that have a provider.
    init(
        store: MessageRepository, pace: Pace, keep: Duration, keepInbox: Duration, configured: Set<Channel>, metrics: NotifierMetrics,
        logger: Logger
    ) {
        (self.store, self.pace, self.keep, self.keepInbox) = (store, pace, keep, keepInbox)
        (self.configured, self.metrics, self.logger) = (configured, metrics, logger)
    }

    /// Before the workers start: attempts that were under way when the service ended are treated as unknown.
    func recover() async throws {
        let pace = pace
        let now = store.clock.now
        for id in try await store.neglected(at: now, afterStart: true) {
            try await store.change(id, at: .now) { delivery in
                delivery.interrupted(pace: pace, at: now)
                return true
            }
        }
        let overdue = Set(try await store.neglected(at: now, afterStart: false, limit: .max))
        overdueAtStart.withLock { $0 = overdue }
    }

    /// What waits for a channel that nobody configured, one phrase each; empty where nothing does.
    var complaints: [String] {
        stuck.withLock { $0 }.sorted { $0.key.rawValue < $1.key.rawValue }.map { channel, count in
            "\(count) messages wait: no provider for \(channel.rawValue) is configured"
        }
    }

    /// Runs until it is cancelled.
    func run() async throws {
        var round = 0
        while true {
            do {
                try await settleOverdue()
                try await store.hasten(pace, at: store.clock.now)
                if round.isMultiple(of: Upkeep.roundsPerMeasure) { try await measure() }
                if round.isMultiple(of: Upkeep.roundsPerExpiry) {
                    let now = store.clock.now
                    try await store.expire(messagesBefore: now - keep, inboxBefore: now - keepInbox)
                }
            } catch {
                try Task.checkCancellation()
                logger.error("upkeep failed; retrying", metadata: ["reason": "\(type(of: error))"])
            }
            round += 1
            try await Task.sleep(for: Upkeep.pollInterval)
        }
    }

    private func settleOverdue() async throws {
        let now = store.clock.now
        if store.clock.uptime >= DeadlineClock.settlingTime { overdueAtStart.withLock { $0 = [] } }
        let spared = overdueAtStart.withLock { $0 }
        for id in try await store.neglected(at: now, afterStart: false, limit: 500 + spared.count) where !spared.contains(id) {
            let delivery = try await store.change(id, at: .now) { $0.expire(at: now) }
            if let delivery, delivery.isSettled { metrics.settled(id.channel, delivery) }
        }
    }

    private func measure() async throws {
        let waiting = try await store.waiting()
        for channel in Channel.allCases where channel != .inbox {
            let known = waiting.first { $0.channel == channel }
            metrics.waiting(channel, count: known?.count ?? 0, oldest: known.map { Timestamp.now - $0.oldest } ?? .zero)
        }
        let unserved = waiting.filter { !configured.contains($0.channel) }
        stuck.withLock { $0 = Dictionary(uniqueKeysWithValues: unserved.map { ($0.channel, $0.count) }) }
    }
}
