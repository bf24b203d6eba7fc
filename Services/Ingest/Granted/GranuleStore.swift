// Sentences that read one person's entries in steps: whole minutes and hours out of roll-ups, the rest entry by entry.

import Contracts
import GRDB

struct GranuleStore: Sendable {
    /// Entries read at once. A second holds at most a thousand of one metric, since times are unique to the millisecond.
    private static let mostOfBlock = 20_000

    let entries: ReadStore
    let metric: Metric
    let plan: GranulePlan
    /// Gives up, by `TakesLonger`, where more is to be opened than a page's own entries.
    let isBrief: Bool

    struct TakesLonger: Error {}

    /// As `first`, of one person; nothing where nothing was ever measured.
    /// - Throws: `KeyDestroyed` where the person is erased.
    static func granules(
        _ metric: Metric, of person: PersonID, _ plan: GranulePlan, limit: Int, briefly isBrief: Bool, vault: ChunkVault, _ db: Database
    ) throws -> (granules: EntryColumns, hasMore: Bool, damaged: [DamagedPeriod]) {
        // A minute or an hour may hold as many entries as a device can measure.
        if isBrief, plan.width > GrantGranularity.seconds.width { throw TakesLonger() }
        let key = try vault.key(of: person)
        guard let number = try DeviceStore().personNumber(db, person) else { return (EntryColumns(), false, []) }
        let entries = ReadStore(vault: vault, person: person, number: number, key: key)
        let (granules, hasMore) = try GranuleStore(entries: entries, metric: metric, plan: plan, isBrief: isBrief).first(limit, db)
        return (granules, hasMore, entries.damaged.reported(in: plan.range) ?? [])
    }

    /// The first steps that hold something, at most `limit` of them, and whether there are more.
    func first(_ limit: Int, _ db: Database) throws -> (granules: EntryColumns, hasMore: Bool) {
        var found: EntryColumns
        if plan.width == GrantGranularity.seconds.width || metric.definition.shape == .position {
            found = try folded(db, in: plan.range, atMost: limit + 1)
        } else {
            let cut = plan.cut
            found = try folded(db, in: cut.before, atMost: 1)
            if found.count <= limit {
                let whole = plan.whole.clamped(to: plan.range)
                for stretch in try entries.stretches(db, metric, in: whole, width: plan.width, limit: limit + 1) {
                    found.append(stretch.start, value: stretch.aggregate.mean)
                }
            }
            if found.count <= limit { found.append(contentsOf: try folded(db, in: cut.after, atMost: 1)) }
        }
        let hasMore = found.count > limit
        found.cut(to: limit)
        return (found, hasMore)
    }

    /// Entry by entry. A step that is cut by the end of what was read is left out, unless nothing follows.
    private func folded(_ db: Database, in range: Range<Int64>, atMost limit: Int) throws -> EntryColumns {
        var fold = GranuleFold(width: plan.width)
        var from = range.lowerBound
        // Where every second holds one entry, this is just enough: the last step is complete once a later one has begun.
        var size = plan.width == GrantGranularity.seconds.width ? min(limit + 1, Self.mostOfBlock) : Self.mostOfBlock
        while from < range.upperBound, fold.complete.count < limit {
            let block = try entries.columns(db, metric, in: from..<range.upperBound, limit: size)
            fold.add(block)
            guard block.count == size, let last = block.times.last else { break }
            if isBrief, fold.complete.count < limit { throw TakesLonger() }
            from = last + 1
            size = min(4 * size, Self.mostOfBlock)
        }
        var steps = fold.complete.count < limit ? fold.finish() : fold.complete
        steps.cut(to: limit)
        return steps
    }
}
