// Handing out many short stretches at once: each by its own grant, all of them in one look at the store and one record.

import Bus
import Contracts
import ServiceKit
import Storage

/// Answers `read-sample-ranges`, which keeps subscriptions going (SHR-14); the rules are those of `read-samples`.
struct GrantedRanges: Sendable {
    private let store: Store
    private let vault: ChunkVault
    private let accesses: FactStream
    private let silence: @Sendable () -> Duration
    private let clock: @Sendable () -> Timestamp
    private let ranges: GrantedRangeStore

    init(_ reading: GrantedReading) {
        (store, vault, accesses) = (reading.store, reading.vault, reading.accesses)
        (silence, clock) = (reading.silence, reading.clock)
        ranges = GrantedRangeStore(vault: reading.vault, accesses: reading.accesses)
    }

    func read(_ asked: ReadSampleRanges, _ context: RequestContext) async throws -> ReadSampleRanges.Reply {
        guard (1...ReadSampleRanges.mostStretches).contains(asked.stretches.count) else {
            throw Failure(.invalid, "from 1 to \(ReadSampleRanges.mostStretches) stretches are read at once")
        }
        let taken = try await store.read { [ranges, clock, silence] db in
            var room = GrantedPage.bytes
            return try asked.stretches.map { try ranges.take(db, $0, now: clock(), silence: silence(), room: &room) }
        }
        guard taken.contains(where: { $0.hasSamples }) else { return ReadSampleRanges.Reply(outcomes: taken.map(outcome)) }
        // Whatever was withdrawn while the answer was made is seen here: facts and this check go through one writer.
        let (recorded, facts) = try await store.write { [ranges, clock, silence] db in
            try ranges.record(db, taken, now: clock(), silence: silence(), trace: context.trace)
        }
        accesses.publish(facts)
        return ReadSampleRanges.Reply(outcomes: recorded.map(outcome))
    }

    private func outcome(_ taken: GrantedRangeStore.Taken) -> ReadSampleRanges.Outcome {
        switch taken {
        case .denied(let denial): return ReadSampleRanges.Outcome(samples: [], readTo: nil, denial: denial.failure)
        case .read(let part):
            // A person who was erased meanwhile has no key any more.
            guard part.samples.isEmpty || (try? vault.key(of: part.grant.person)) != nil else { return outcome(.denied(.nothingLeft)) }
            return ReadSampleRanges.Outcome(samples: part.samples, readTo: part.readTo)
        }
    }
}
