// Sentences that read one person's entries in steps: whole minutes and hours out of roll-ups, the rest entry by entry.

import Contracts
import GRDB

struct GranuleReader: Sendable {
    /// Entries read at once. A second holds at most a thousand of one metric, since times are unique to the millisecond.
    private static let mostOfBlock = 20_000

    let entries: ReadStore
    let metric: Metric
    let plan: GranulePlan

    /// As `first`, of one person; nothing where nothing was ever measured.
    /// - Throws: `KeyDestroyed` where the person is erased.
    static func granules(
        _ metric: Metric, of person: PersonID, _ plan: GranulePlan, limit: Int, vault: ChunkVault, _ db: Database
    ) throws -> (granules: [Granule], hasMore: Bool) {
        let key = try vault.key(of: person)
        guard let number = try DeviceTable().personNumber(db, person) else { return ([], false) }
        let entries = ReadStore(vault: vault, person: person, number: number, key: key)
        return try GranuleReader(entries: entries, metric: metric, plan: plan).first(limit, db)
    }

    /// The first steps that hold something, at most `limit` of them, and whether there are more.
    func first(_ limit: Int, _ db: Database) throws -> (granules: [Granule], hasMore: Bool) {
        var found: [Granule] = []
        if plan.width == GrantGranularity.seconds.width || metric.definition.shape == .position {
            found = try folded(db, in: plan.range, atMost: limit + 1)
        } else {
            let cut = plan.cut
            found = try folded(db, in: cut.before, atMost: 1)
            if found.count <= limit {
                found += try entries.stretches(db, metric, in: plan.whole.clamped(to: plan.range), width: plan.width, limit: limit + 1)
                    .map { Granule(start: $0.start, value: $0.aggregate.mean, position: nil) }
            }
            if found.count <= limit { found += try folded(db, in: cut.after, atMost: 1) }
        }
        return (Array(found.prefix(limit)), found.count > limit)
    }

    /// Entry by entry. A step that is cut by the end of what was read is left out, unless nothing follows.
    private func folded(_ db: Database, in range: Range<Int64>, atMost limit: Int) throws -> [Granule] {
        var fold = GranuleFold(width: plan.width)
        var from = range.lowerBound
        // Where every second holds one entry, this is just enough: the last step is complete once a later one has begun.
        var size = plan.width == GrantGranularity.seconds.width ? min(limit + 1, Self.mostOfBlock) : Self.mostOfBlock
        while from < range.upperBound, fold.complete.count < limit {
            let block = try entries.page(db, metric, in: from..<range.upperBound, limit: size)
            for stored in block { fold.add(stored.sample) }
            guard block.count == size, let last = block.last else { break }
            from = last.sample.at.milliseconds + 1
            size = min(4 * size, Self.mostOfBlock)
        }
        return Array((fold.complete.count < limit ? fold.finish() : fold.complete).prefix(limit))
    }
}
