// Replays a person's last 30 days under bounds that are not saved yet, within limits that leave the machine to rescue.

import Contracts
import HTTPKit
import ServiceKit
import Synchronization

/// What the last 30 days would have been.
struct ThresholdForecast: Sendable {
    let period: Range<Timestamp>
    /// From where on all alerts are known; later than the period's beginning where there were too many entries to replay.
    let from: Timestamp
    let alerts: [ThresholdReplay.Alert]
    let entries: Int
}

struct ThresholdPreview: Sendable {
    /// Entries of one replay.
    static let mostEntries = 200_000
    /// Replays at the same time, of all people.
    private static let atOnce = 2
    /// The farthest that an emergency which does not end is followed beyond its stretch.
    private static let longestTail = Duration.seconds(3 * 3600)

    let ingest: IngestClient
    let rules: SupervisionRules
    let limiter = RateLimiter<PersonID>(rate: 0.1, burst: 6)
    private let running = Running()

    init(ingest: IngestClient, rules: SupervisionRules) {
        (self.ingest, self.rules) = (ingest, rules)
    }

    private final class Running: Sendable {
        private let count = Mutex(0)

        func enter(most: Int) -> Bool {
            count.withLock { count in
                guard count < most else { return false }
                count += 1
                return true
            }
        }

        func leave() { count.withLock { $0 -= 1 } }
    }

    /// - Parameter states: bounds to be compared, as the machine has them.
    /// - Throws: 429 where the person asks too often, 503 where others are being served.
    func forecasts(_ states: [Supervision.State], of person: PersonID, at now: Timestamp) async throws -> [ThresholdForecast] {
        try limiter.admit(person)
        guard running.enter(most: Self.atOnce) else { throw Refusal(.unavailable, retryAfter: .seconds(5)) }
        defer { running.leave() }
        let period = (now - .seconds(Int64(PersonalRules.days) * 86_400))..<now
        let replays = states.map { ThresholdReplay($0, rules: rules, from: period.lowerBound) }
        var history: [Metric: [HistoryMinute]] = [:]
        for metric in replays.reduce(into: Set<Metric>(), { $0.formUnion($1.thresholds.watched) }) {
            history[metric] = try await ingest.minutes(metric, of: person, in: period)
        }
        var forecasts: [ThresholdForecast] = []
        for state in states { forecasts.append(try await forecast(state, history, of: person, in: period)) }
        return forecasts
    }

    private func forecast(
        _ state: Supervision.State, _ history: [Metric: [HistoryMinute]], of person: PersonID, in period: Range<Timestamp>
    ) async throws -> ThresholdForecast {
        let thresholds = ThresholdReplay(state, rules: rules, from: period.lowerBound).thresholds
        let watched = thresholds.watched.sorted { $0.number < $1.number }
        let plan = ReplayPlan(history.filter { watched.contains($0.key) }, under: thresholds, in: period, most: Self.mostEntries)
        var replay = ThresholdReplay(state, rules: rules, from: period.lowerBound)
        for (place, stretch) in plan.stretches.enumerated() {
            replay.hear(try await entries(watched, of: person, in: stretch))
            // How it ends, as far as the next stretch.
            let limit = min(
                place + 1 < plan.stretches.count ? plan.stretches[place + 1].lowerBound : period.upperBound,
                stretch.upperBound + Self.longestTail)
            var from = stretch.upperBound
            while replay.isRunning, from < limit {
                let next = min(from + ThresholdReplay.margin, limit)
                replay.hear(try await entries(watched, of: person, in: from..<next))
                replay.pass(to: next)
                from = next
            }
            await Task.yield()
        }
        return ThresholdForecast(period: period, from: plan.from, alerts: replay.alerts, entries: replay.entries)
    }

    private func entries(_ metrics: [Metric], of person: PersonID, in stretch: Range<Timestamp>) async throws -> [Sample] {
        var entries: [Sample] = []
        for metric in metrics { entries += try await ingest.entries(metric, of: person, in: stretch) }
        return entries.sorted { ($0.at, $0.type.number) < ($1.at, $1.type.number) }
    }
}
