// Sentences behind reads under grants: one stretch taken by its grant, and judged again where it is written down before it leaves.

import Contracts
import GRDB
import ServiceKit
import Storage
import Synchronization

/// What was taken of one series by one grant.
struct GrantedStretch: Sendable {
    let asked: ReadSamples
    let grant: GrantState
    let plan: GranulePlan
    /// Steps by their beginnings.
    let granules: EntryColumns
    /// Whether there was no room for all.
    let hasMore: Bool
    /// What of the asked period could not be read.
    let damaged: [DamagedPeriod]

    var columns: SampleColumns { plan.columns(granules, of: asked.type) }

    var readTo: Timestamp { plan.readTo(granules, hasMore: hasMore) }

    /// What to send as `after` for the rest.
    var next: String? { hasMore ? granules.times.last.map(String.init) : nil }

    /// As it is recorded for the person; nil where nothing leaves.
    var read: DataRead? {
        guard let first = granules.times.first, let last = granules.times.last else { return nil }
        return DataRead(
            grant: grant.grant, organisation: grant.organisation, metric: asked.type, from: plan.time(of: first),
            to: Timestamp(milliseconds: plan.end(of: last)), count: granules.count)
    }
}

struct GrantedAccessStore: Sendable {
    let vault: ChunkVault
    let accesses: FactStream
    private let grants = GrantMemory()

    init(vault: ChunkVault, accesses: FactStream) {
        (self.vault, self.accesses) = (vault, accesses)
    }

    /// At most `limit` steps.
    /// - Throws: `ReadDenial`; `KeyDestroyed` where the person is erased; `TakesLonger` where it was to be brief and is not.
    func take(
        _ db: Database, _ asked: ReadSamples, limit: Int, briefly isBrief: Bool = false, now: Timestamp, silence: Duration
    ) throws -> GrantedStretch {
        let known = try grants.find(db, asked.grant)
        try GrantRules.check(asked, against: known, silence: silence)
        guard let grant = known else { throw ReadDenial.unknownGrant }
        let plan = try GranulePlan(asked, under: grant, now: now)
        let (granules, hasMore, damaged) =
            plan.range.isEmpty || limit <= 0
            ? (EntryColumns(), false, [])
            : try GranuleStore.granules(asked.type, of: grant.person, plan, limit: limit, briefly: isBrief, vault: vault, db)
        return GrantedStretch(asked: asked, grant: grant, plan: plan, granules: granules, hasMore: hasMore, damaged: damaged)
    }

    /// Takes a stretch in a read of its own: what opens a page's own entries alone at once, everything else beside the other work.
    func take(
        _ asked: ReadSamples, limit: Int, in store: Store, clock: @escaping @Sendable () -> Timestamp,
        silence: @escaping @Sendable () -> Duration
    ) async throws -> GrantedStretch {
        func taking(briefly isBrief: Bool) -> @Sendable (Database) throws -> GrantedStretch {
            { db in try take(db, asked, limit: limit, briefly: isBrief, now: clock(), silence: silence()) }
        }
        if limit <= GrantedPage.brief {
            do { return try await store.readBriefly(taking(briefly: true)) } catch is GranuleStore.TakesLonger {}
        }
        return try await store.read(taking(briefly: false))
    }

    /// Judges once more and writes down what is about to leave (SHR-24). Whatever was withdrawn while it was made is seen here: the
    /// facts of consent go through the same writer.
    /// - Returns: why it may not leave. A denial is no reason to undo what others do in this transaction, so that it is a value.
    func record(
        _ db: Database, _ stretch: GrantedStretch, in facts: inout StreamLog.Appending, now: Timestamp, silence: Duration, trace: String
    ) throws -> ReadDenial? {
        guard let read = stretch.read else { return nil }
        let known = try grants.find(db, stretch.asked.grant)
        do throws(ReadDenial) {
            try GrantRules.check(stretch.asked, takenBy: stretch.grant, against: known, silence: silence)
        } catch {
            return error
        }
        try accesses.publish(db, in: &facts, type: DataRead.type, subject: stretch.grant.person, body: read, at: now, trace: trace)
        return nil
    }
}

/// One page on its way out, recorded together with others that leave at that moment.
struct GrantedAccess: GatheredBody {
    let stretch: GrantedStretch
    let trace: String
    let reading: GrantedReading

    static func perform(_ bodies: [GrantedAccess], in db: Database) throws -> [ReadDenial?] {
        var facts = StreamLog.Appending()
        let denials = try bodies.map { body in
            try body.reading.accesses.record(
                db, body.stretch, in: &facts, now: body.reading.clock(), silence: body.reading.silence(), trace: body.trace)
        }
        try facts.finish(db)
        return denials
    }
}

/// Reads grants for who asks for the same ones again and again: a row that holds what it held is not decoded again.
final class GrantMemory: Sendable {
    /// More are not remembered.
    private static let most = 10_000

    private let grants = GrantProjection()
    private let decoded = Mutex<[GrantID: (row: GrantProjection.Stored, state: GrantState)]>([:])

    /// As `GrantProjection.find`.
    func find(_ db: Database, _ grant: GrantID) throws -> GrantState? {
        guard let row = try grants.row(db, grant) else { return nil }
        if let known = decoded.withLock({ $0[grant] }), known.row == row { return known.state }
        let state = try row.decoded()
        decoded.withLock { decoded in
            if decoded.count >= Self.most { decoded.removeAll() }
            decoded[grant] = (row, state)
        }
        return state
    }
}
