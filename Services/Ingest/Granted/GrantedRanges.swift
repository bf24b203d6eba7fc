// Handing out many short stretches at once: each by its own grant, all of them in one read of the store and one record.

import Bus
import Contracts
import ServiceKit
import Storage

/// Answers `read-sample-ranges`, which keeps subscriptions going (SHR-14); the rules are those of `read-samples`.
struct GrantedRanges: Sendable {
    private let reading: GrantedReading
    private let ranges: GrantedRangeStore

    init(_ reading: GrantedReading) {
        self.reading = reading
        ranges = GrantedRangeStore(accesses: reading.accesses)
    }

    func read(_ asked: ReadSampleRanges, _ context: RequestContext) async throws -> ReadSampleRanges.Reply {
        guard (1...ReadSampleRanges.mostStretches).contains(asked.stretches.count) else {
            throw Failure(.invalid, "from 1 to \(ReadSampleRanges.mostStretches) stretches are read at once")
        }
        let taken = try await reading.store.read { [ranges, reading] db in
            var room = GrantedPage.bytes
            return try asked.stretches.map { try ranges.take(db, $0, now: reading.clock(), silence: reading.silence(), room: &room) }
        }
        guard taken.contains(where: { $0.hasSamples }) else { return ReadSampleRanges.Reply(outcomes: taken.map(outcome)) }
        // Whatever was withdrawn while the answer was made is seen here: facts and this check go through one writer.
        let recorded = try await reading.store.write { [ranges, reading] db in
            try ranges.record(db, taken, now: reading.clock(), silence: reading.silence(), trace: context.trace)
        }
        return ReadSampleRanges.Reply(outcomes: recorded.map(outcome))
    }

    private func outcome(_ taken: GrantedRangeStore.Taken) -> ReadSampleRanges.Outcome {
        switch taken {
        case .denied(let denial): return ReadSampleRanges.Outcome(samples: [], readTo: nil, denial: denial.failure)
        case .read(let stretch, let readTo):
            // A person who was erased meanwhile has no key any more.
            guard stretch.granules.isEmpty || (try? reading.vault.key(of: stretch.grant.person)) != nil else {
                return outcome(.denied(.nothingLeft))
            }
            return ReadSampleRanges.Outcome(
                samples: stretch.columns.samples, readTo: readTo, damaged: stretch.damaged.isEmpty ? nil : stretch.damaged)
        }
    }
}
