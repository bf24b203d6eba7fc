// Giving people their own entries back (ING-11, ING-13): no request can name anybody else.

import Contracts
import ServiceKit
import Storage

/// Whose entries are read, as proved by who asks.
struct Reader: Sendable {
    let person: PersonID
    let number: Int64
    /// Nil for who is logged in, and reads everything.
    var reach: DeviceReach?
    /// What could not be read for them: to be sent with the answer.
    let damaged = DamagedPeriods()
}

/// What a device's own token reads (decision 0032): a token is found on a lost watch, and tells no more than the watch itself could.
struct DeviceReach: Sendable {
    /// The device's number, where the person has other sources; nil where everything is the device's own.
    let only: Int64?
    /// Nothing before this.
    let since: Int64
}

/// What is asked for: one metric over a period that includes its beginning and not its end, in ms.
struct ReadingPeriod: Hashable, Sendable {
    let metric: Metric
    let range: Range<Int64>

    /// The period in whole stretches of a granularity, since sums of cut ones would look like less.
    func widened(to width: Int64) -> Range<Int64> {
        let start = range.lowerBound.flooredQuotientAndRemainder(dividingBy: width).quotient * width
        let end = (range.upperBound + width - 1).flooredQuotientAndRemainder(dividingBy: width).quotient * width
        return start..<max(start, end)
    }
}

struct Readings: Sendable {
    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    let undeclaredInterval: Duration

    init(store: Store, vault: ChunkVault, registry: DeviceRegistry, undeclaredInterval: Duration) {
        (self.store, self.vault, self.registry, self.undeclaredInterval) = (store, vault, registry, undeclaredInterval)
    }

    private func readStore(_ reader: Reader) throws -> ReadStore {
        ReadStore(
            vault: vault, person: reader.person, number: reader.number, key: try vault.key(of: reader.person), damaged: reader.damaged,
            only: reader.reach?.only)
    }

    /// The first `limit` entries after `after`, and whether there are more.
    func entries(_ period: ReadingPeriod, of reader: Reader, after: Int64?, limit: Int) async throws -> (items: [EntryItem], next: Int64?) {
        let from = max(period.range.lowerBound, after.map { $0 &+ 1 } ?? .min, reader.reach?.since ?? .min)
        let range = from..<max(from, period.range.upperBound)
        let readStore = try readStore(reader)
        let found = try await store.read { db in try readStore.page(db, period.metric, in: range, limit: limit + 1) }
        let items = found.prefix(limit).map(item)
        return (items, found.count > limit ? found[limit - 1].sample.at.milliseconds : nil)
    }

    private func item(_ stored: StoredSample) -> EntryItem {
        EntryItem(sample: stored.sample, source: registry.source(number: stored.device))
    }

    /// The first `limit` stretches after `after` that have entries, and where to go on.
    func stretches(
        _ period: ReadingPeriod, width: Int64, of reader: Reader, after: Int64?, limit: Int
    ) async throws -> (items: [StretchItem], next: Int64?) {
        let readStore = try readStore(reader)
        let whole = period.widened(to: width)
        // A stretch that its reach cuts would look like less, and is left out.
        let since = reader.reach.map { ($0.since + width - 1).flooredQuotientAndRemainder(dividingBy: width).quotient * width }
        let from = max(whole.lowerBound, after.map { $0 &+ width } ?? .min, since ?? .min)
        let range = from..<max(from, whole.upperBound)
        let found = try await store.read { db in
            try readStore.stretches(db, period.metric, in: range, width: width, limit: limit + 1)
        }
        let items = found.prefix(limit).map { StretchItem(start: $0.start, aggregate: $0.aggregate) }
        return (items, found.count > limit ? found[limit - 1].start : nil)
    }

    /// The newest entry of each metric that there is.
    func latest(of reader: Reader, _ metrics: [Metric]? = nil) async throws -> [EntryItem] {
        let readStore = try readStore(reader)
        let found = try await store.read { db in
            try (metrics ?? readStore.metrics(db)).compactMap { try readStore.newest(db, $0) }
        }
        return found.filter { $0.sample.at.milliseconds >= reader.reach?.since ?? .min }.map(item)
    }

    /// For a device of its own entries, within its reach.
    func coverage(_ asked: ReadingPeriod, of reader: Reader) async throws -> Coverage {
        let since = max(asked.range.lowerBound, reader.reach?.since ?? .min)
        let period = ReadingPeriod(metric: asked.metric, range: min(since, asked.range.upperBound)..<asked.range.upperBound)
        let readStore = try readStore(reader)
        let assumed = undeclaredInterval.wholeMilliseconds
        let reach: @Sendable (Int64) -> Int64 = { [registry] device in
            Coverage.reach(intervalMs: registry.device(number: device)?.intervalMs ?? assumed)
        }
        let covered = try await store.read { db in
            // What lies before the period may reach into it.
            let reaching = period.range.lowerBound - Coverage.longestReach..<period.range.upperBound
            return try readStore.covered(db, period.metric, in: reaching, reach: reach)
        }
        return Coverage(of: period.range, covered: covered)
    }

    /// For a peer on the bus: the newest entries of anybody. A person without entries, or erased, has none.
    func latest(_ request: ReadLatest) async throws -> ReadLatest.Reply {
        guard let number = try await store.read({ db in try DeviceStore().personNumber(db, request.person) }),
            try vault.keyForPeer(of: request.person) != nil
        else { return ReadLatest.Reply(samples: []) }
        let reader = Reader(person: request.person, number: number)
        let items = try await latest(of: reader, request.types)
        return ReadLatest.Reply(samples: items.map(\.sample), damaged: reader.damaged.reported(in: Int64.min..<Int64.max))
    }
}
