// What ingest does when nobody asks: minutes summed up, chunks merged, what has expired forgotten.

import Contracts
import Logging
import Sealing
import ServiceKit
import Storage

/// One round after the other, each in small steps between which uploads go on.
struct Upkeep: Sendable {
    /// Chunks of one series since its last roll-up from which on the current day is summed up too.
    static let busyChunks = 256
    /// Days that one round sums up or merges at most.
    static let daysPerRound = 2000
    /// Days that one read covers and one transaction changes: some hundred kilobytes that no upload's flush waits long for.
    private static let daysPerStep = 4
    /// Uploads come first: upkeep rests so many times as long as it worked, so that it takes a quarter of one core.
    private static let restsPerWork = 3
    /// Chunks of a synthetic person that one transaction deletes.
    private static let chunksPerStep = 500
    /// Chunks that one transaction writes into the index of times.
    private static let settledPerStep = 1000
    /// With so many waiting the index of times is filled before its turn: a start reads all that wait.
    private static let mostFresh = 100_000
    private static let pollInterval = Duration.seconds(1)
    /// Days are merged when they have been over for so many: by then their log rows are mostly released.
    static let daysUntilMerging: Int64 = 4

    let store: Store
    let steps: UpkeepStore
    let memory: SeriesMemory
    let chunks: ChunkStore
    let synthetic: SyntheticPeople
    let interval: Duration
    let logger: Logger

    /// Runs until it is cancelled.
    func run() async throws {
        var due = ContinuousClock.now + interval
        while true {
            try await Task.sleep(for: min(interval, Self.pollInterval))
            do {
                try await settleMany()
                guard ContinuousClock.now >= due else { continue }
                due = .now + interval
                try await round(now: .now)
            } catch let error where !(error is CancellationError) && error as? StoreError != .closed {
                // Full or busy: uploads come first, the next round is soon enough.
                logger.warning("upkeep failed; retrying", metadata: ["reason": "\(type(of: error))"])
            }
        }
    }

    func round(now: Timestamp) async throws {
        let today = UTCDay.number(of: now.milliseconds)
        // First, so that what follows finds all that came before.
        try await settle()
        for person in synthetic.all { try await forget(person, before: now - SyntheticPeople.kept) }
        let closed = try await store.read { [steps] db in try steps.days.dirty(db, before: today, limit: Self.daysPerRound) }
        let busy = memory.takeBusy(atLeast: Self.busyChunks).map { DayKey(series: $0, day: today) }
        try await fulfil(.summing, for: closed + busy)
        let loose = try await store.read { [steps] db in
            try steps.days.loose(db, before: today - Self.daysUntilMerging, limit: Self.daysPerRound)
        }
        try await fulfil(.merging, for: loose)
    }

    private func settleMany() async throws {
        if chunks.fresh.count >= Self.mostFresh { try await settle() }
    }

    /// Writes what waits into the index of times: all of a series together, so that each page of it changes once.
    private func settle() async throws {
        let through = try await store.read { [chunks] db in try chunks.highestID(db) }
        let waiting = chunks.fresh.waiting(through: through)
        for start in stride(from: 0, to: waiting.count, by: Self.settledPerStep) {
            let begun = ContinuousClock.now
            let some = waiting[start..<min(waiting.count, start + Self.settledPerStep)]
            try await store.write { [chunks] db in try chunks.settle(db, ids: some) }
            try await rest(since: begun)
        }
        try await store.write { [chunks] db in try chunks.noteSettled(db, through: through) }
        chunks.fresh.settled(through: through)
    }

    /// Uploads have the machine meanwhile.
    private func rest(since begun: ContinuousClock.Instant) async throws {
        try await Task.sleep(for: (ContinuousClock.now - begun) * Self.restsPerWork)
    }

    private func forget(_ person: PersonID, before time: Timestamp) async throws {
        var count: Int
        repeat {
            count = try await store.write { [steps] db in
                try steps.forget(db, entriesOf: person, before: time, limit: Self.chunksPerStep)
            }
        } while count == Self.chunksPerStep
    }

    private func fulfil(_ job: UpkeepStore.UpkeepJob, for keys: [DayKey]) async throws {
        for start in stride(from: 0, to: keys.count, by: Self.daysPerStep) {
            let begun = ContinuousClock.now
            let some = Array(keys[start..<min(keys.count, start + Self.daysPerStep)])
            let found = try await find(at: some, for: job)
            guard !found.isEmpty else { continue }
            try await store.write { [steps, memory] db in
                for work in found { try steps.carryOut(db, work, nextID: memory.nextChunk) }
            }
            try await rest(since: begun)
            try await settleMany()
        }
    }

    /// A day that cannot be read is logged and does not hold up the others.
    private func find(at keys: [DayKey], for job: UpkeepStore.UpkeepJob) async throws -> [DayWork] {
        do {
            return try await store.read { [steps] db in try steps.find(db, at: keys, for: job) }
        } catch let error where error is CorruptBytes || error is SealingError || error is DamagedKey {
            guard keys.count == 1 else {
                var found: [DayWork] = []
                for key in keys { found += try await find(at: [key], for: job) }
                return found
            }
            // A damaged key is logged once, not with each day.
            if error is DamagedKey { return [] }
            logger.error(
                "a day's chunks cannot be read",
                metadata: ["metric": "\(keys[0].series.metric)", "day": "\(keys[0].day)", "error": "\(type(of: error))"])
            return []
        }
    }
}
