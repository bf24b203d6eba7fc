// The loop that keeps subscriptions going: reads what arrived as soon as its step is over, and adds it to the logs.

import Contracts
import Logging
import Sealing
import ServiceKit
import Storage

/// Reads in batches, so that a thousand subscriptions cost ingest a few questions a second. What is to be read is in the store: a crash
/// of either side forgets nothing, and reading again delivers nothing twice.
struct FeedReading: Sendable {
    typealias Ask = @Sendable (ReadSampleRanges) async throws -> ReadSampleRanges.Reply

    /// From the beginning of one batch to the next, so that what arrives together is delivered together.
    private static let pace = Duration.milliseconds(100)
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(2)
    /// While ingest does not answer.
    private static let backoff = Backoff(.milliseconds(200), upTo: .seconds(5))

    let store: Store
    let keys: PersonKeys
    let hub: FeedHub
    let table: FeedReadingStore
    let ask: Ask
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    init(
        store: Store, keys: PersonKeys, hub: FeedHub, table: FeedReadingStore, clock: @escaping @Sendable () -> Timestamp, logger: Logger,
        ask: @escaping Ask
    ) {
        (self.store, self.keys, self.hub, self.table) = (store, keys, hub, table)
        (self.clock, self.logger, self.ask) = (clock, logger, ask)
    }

    /// Runs until it is cancelled.
    func run() async throws {
        let loop = WorkLoop(every: Self.pollInterval, signal: hub.reading, backoff: Self.backoff) { [logger] error in
            logger.warning("new samples could not be read; retrying", metadata: ["error": "\(String(reflecting: type(of: error)))"])
        }
        try await loop.run {
            let begun = ContinuousClock.now
            if try await turn() { return .atOnce }
            // Sleeping gathers what comes within a moment.
            try await Task.sleep(until: begun + Self.pace, clock: .continuous)
            let next = try await store.read { [table] db in try table.nextDue(db) }
            return next.map { NextRound.after($0 - clock()) } ?? .whenWoken
        }
    }

    /// One batch.
    /// - Returns: whether more may be due already.
    @discardableResult
    func turn() async throws -> Bool {
        let now = clock()
        let due = try await store.read { [table] db in try table.due(db, at: now) }
        guard !due.isEmpty else { return false }
        var known: [PersonID: SymmetricKey] = [:]
        for person in Set(due.compactMap(\.feed.person)) { known[person] = try? await keys.makeKey(for: person) }
        let people = known
        func isReadable(_ one: FeedEvent) -> Bool {
            one.feed.state == .running && one.feed.person.map { people[$0] != nil } ?? false
        }
        let (asked, idle) = (due.filter(isReadable), due.filter { !isReadable($0) })
        let outcomes = try await outcomes(of: asked.map(\.stretch))
        let grown = try await store.write { [table] db in
            for one in idle { try table.putOff(db, one, at: now) }
            return try table.take(db, asked, outcomes, keys: people, at: now)
        }
        for feed in grown { hub.grew(feed.number, of: feed.organisation) }
        return due.count == FeedReadingStore.batch
    }

    /// One for each stretch; questions of one batch are asked at the same time.
    private func outcomes(of stretches: [ReadSampleRanges.Stretch]) async throws -> [ReadSampleRanges.Outcome] {
        let most = ReadSampleRanges.mostStretches
        let starts = Array(stride(from: 0, to: stretches.count, by: most))
        return try await withThrowingTaskGroup(of: (Int, [ReadSampleRanges.Outcome]).self) { group in
            for start in starts {
                let part = Array(stretches[start..<min(start + most, stretches.count)])
                group.addTask { (start, try await outcomes(together: part)) }
            }
            let parts = try await group.reduce(into: [Int: [ReadSampleRanges.Outcome]]()) { $0[$1.0] = $1.1 }
            return starts.flatMap { parts[$0] ?? [] }
        }
    }

    /// Of one question. Where ingest stumbles over one of the stretches, by what is damaged there, it is found by halves and set aside:
    /// it must not hold up everybody else's.
    private func outcomes(together part: [ReadSampleRanges.Stretch]) async throws -> [ReadSampleRanges.Outcome] {
        do {
            let outcomes = try await ask(ReadSampleRanges(stretches: part)).outcomes
            guard outcomes.count == part.count else { throw Failure(.internal, "an answer for each stretch") }
            return outcomes
        } catch let failure as Failure where failure.code == .internal {
            guard part.count > 1 else {
                logger.error("a range of a subscription's samples cannot be read", metadata: ["grant": "\(part[0].grant)"])
                return [ReadSampleRanges.Outcome(samples: [], readTo: nil, denial: Failure(.invalid, "cannot be read"))]
            }
            let middle = part.count / 2
            return try await outcomes(together: Array(part[..<middle])) + outcomes(together: Array(part[middle...]))
        }
    }
}

extension FeedEvent {
    var stretch: ReadSampleRanges.Stretch {
        ReadSampleRanges.Stretch(
            grant: feed.grant, organisation: feed.organisation, type: metric, from: Timestamp(milliseconds: range.lowerBound),
            to: Timestamp(milliseconds: range.upperBound))
    }
}
