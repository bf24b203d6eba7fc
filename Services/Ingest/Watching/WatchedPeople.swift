// What the dispatcher asks about people whom it watches or is to watch: what their devices deliver, and the weeks before.

import Bus
import Contracts
import ServiceKit
import Storage

/// Answers `read-abilities` and `read-history`.
struct WatchedPeople: Sendable {
    /// JSON of a row at most: a time, and the longest spelling of each number.
    private static let bytesOfEntry = 14 + 26
    private static let bytesOfMinute = 14 + 3 * 26 + 11
    private static let bytesOfPage = 1_000_000
    /// A period beyond is no history that bounds are fitted to.
    static let longestPeriod = Duration.seconds(400 * 86_400)

    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry

    func register(in methods: inout Methods) {
        methods.on(ReadAbilities.self) { request, _ in abilities(of: request.person) }
        methods.on(ReadHistory.self) { request, _ in try await history(request) }
    }

    /// Nobody's data may be acquired who has not accepted the conditions: their devices deliver nothing.
    func abilities(of person: PersonID) -> ReadAbilities.Reply {
        guard let household = registry.household(of: person), registry.bar(of: person) == nil else {
            return ReadAbilities.Reply(devices: [])
        }
        let plan = household.plan
        let abilities = household.active.compactMap { row -> ReadAbilities.Ability? in
            var delivered = plan.admitted(row.device) ?? .everything
            delivered.subtract(MetricSet.everything.subtracting(row.measures))
            let metrics = delivered.metrics
            return metrics.isEmpty ? nil : ReadAbilities.Ability(metrics: metrics, intervalMs: row.intervalMs)
        }
        return ReadAbilities.Reply(devices: abilities)
    }

    func history(_ asked: ReadHistory) async throws -> ReadHistory.Reply {
        guard asked.type.definition.shape == .scalar else { throw Failure(.invalid, "this metric has no numbers") }
        guard asked.from <= asked.to, asked.to - asked.from <= Self.longestPeriod else {
            throw Failure(.invalid, "from is not after to, and they are at most 400 days apart")
        }
        let nothing = ReadHistory.Reply(times: [], values: [], next: nil)
        guard let number = registry.number(of: asked.person), let key = try vault.keyForPeer(of: asked.person) else { return nothing }
        let entries = ReadStore(vault: vault, person: asked.person, number: number, key: key)
        let period = asked.from.milliseconds..<asked.to.milliseconds
        return switch asked.grain {
        case .entry: try await values(entries, asked.type, period)
        case .minute: try await minutes(entries, asked.type, period)
        }
    }

    private func values(_ entries: ReadStore, _ metric: Metric, _ period: Range<Int64>) async throws -> ReadHistory.Reply {
        let limit = Self.bytesOfPage / Self.bytesOfEntry
        let found = try await store.read { db in try entries.page(db, metric, in: period, limit: limit + 1) }
        let page = found.prefix(limit).map(\.sample)
        return ReadHistory.Reply(
            times: page.map(\.at), values: page.map { $0.value ?? 0 }, next: found.count > limit ? found[limit].sample.at : nil,
            damaged: entries.damaged.reported(in: period))
    }

    private func minutes(_ entries: ReadStore, _ metric: Metric, _ period: Range<Int64>) async throws -> ReadHistory.Reply {
        let limit = Self.bytesOfPage / Self.bytesOfMinute
        let whole = ReadingPeriod(metric: metric, range: period).widened(to: Granularity.minuteWidth)
        let found = try await store.read { db in
            try entries.stretches(db, metric, in: whole, width: Granularity.minuteWidth, limit: limit + 1)
        }
        let page = found.prefix(limit)
        return ReadHistory.Reply(
            times: page.map { Timestamp(milliseconds: $0.start) }, values: page.map(\.aggregate.mean), least: page.map(\.aggregate.least),
            greatest: page.map(\.aggregate.greatest), counts: page.map(\.aggregate.count),
            next: found.count > limit ? Timestamp(milliseconds: found[limit].start) : nil, damaged: entries.damaged.reported(in: whole))
    }
}
