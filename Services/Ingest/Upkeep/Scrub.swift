// Scans all chunks, so that damage is known before somebody asks for what it took.

import Contracts
import Sealing
import ServiceKit
import Storage

/// Opens every chunk once a day, a few at a time, so that it takes a fiftieth of one core at most; starts over at each start.
struct Scrub: Sendable {
    /// Chunks of one read.
    private static let step = 64
    /// How many times as long it rests as it worked.
    private static let rests = 50
    private static let interval = Duration.seconds(24 * 3600)
    /// Between two steps at least.
    private static let pause = Duration.milliseconds(100)

    let store: Store
    let vault: ChunkVault

    /// Runs until it is cancelled.
    func run() async throws {
        while true {
            let begun = ContinuousClock.now
            try await pass()
            try await Task.sleep(until: begun + Self.interval)
        }
    }

    /// Once through all that there is.
    func pass() async throws {
        var damaged: Set<Int64> = []
        var after: Int64 = 0
        while true {
            let begun = ContinuousClock.now
            let from = after
            let found = try await store.read { [vault] db in try ScrubStore(vault: vault).scan(db, after: from, limit: Self.step) }
            damaged.formUnion(found.damaged)
            guard let last = found.last else { break }
            after = last
            try await Task.sleep(for: max(Self.pause, (ContinuousClock.now - begun) * Self.rests))
        }
        vault.damage.keep(only: damaged)
    }
}
