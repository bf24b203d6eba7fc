// Which tables a request comes to: the first granularity whose every table has enough people.

import Contracts

/// One table of a plan.
struct PlannedEntry {
    enum Content {
        /// It was released before; nothing is computed of it again.
        case kept(KeptTable)
        /// `values` is nil where keeping all of them would take too much memory: they are read again.
        case values(ValueColumn?, members: Bitmap)
        /// Records of one value: how many people of each finest class have each code.
        case counted(ClassHistogram, people: Int)
        case positions(LocationTable)
    }

    let key: TableKey
    /// SHA-256 of the key's canonical bytes.
    let digest: [UInt8]
    /// The type's place in the request.
    let type: Int
    let content: Content
}

/// Looks at one granularity.
struct TablePlanner {
    /// Entries of one release; more of them make it coarser, as too many tables do.
    static let mostEntries = 1 << 24
    /// Bytes of values, or of what was counted of them, that are kept between counting and making.
    private static let valueBytes = 48 << 20

    let request: GroupRequest
    let people: GroupPeople
    let policy: AnonymityPolicy
    let tree: CellTree
    /// Of records: everybody's class.
    let column: ClassColumn?

    /// The keys of a granularity; empty where no bucket lies within the window, and where there would be too many tables or entries.
    /// - Parameter individuals: N(all).
    func keys(_ granularity: Granularity, individuals: Int) -> [TableKey] {
        func isTooMuch(_ tables: Int) -> Bool {
            let entries = request.product == .records ? tables * (individuals / policy.entrySize) : 0
            return tables * policy.individualsPerTable > individuals || entries > Self.mostEntries
        }
        // Days are whole buckets up to a day: there may be millions of them, which need not be made to be counted.
        if granularity <= .day, let length = granularity.length {
            let tables = request.window.span.length / length * request.types.count
            if isTooMuch(tables) { return [] }
        }
        let keys = request.tableKeys(granularity)
        return isTooMuch(keys.count) ? [] : keys
    }

    /// - Parameters:
    ///   - keys: of `keys`.
    ///   - kept: by digest, the tables that were released before.
    /// - Returns: nil where the granularity is too fine; without those tables that are withheld.
    func plan(
        _ granularity: Granularity, _ keys: [(key: TableKey, digest: [UInt8])], kept: [[UInt8]: KeptTable], individuals: Int
    ) throws -> [PlannedEntry]? {
        let least = granularity == .quarterHour ? policy.quarterHourIndividuals : policy.fewestIndividuals
        let typeCount = request.types.count
        var planned: [PlannedEntry] = []
        var counts = request.types.map { _ in [Int]() }
        var room = Self.valueBytes
        for (place, (key, digest)) in keys.enumerated() {
            let type = place % typeCount
            let (found, count) = try content(key, type, kept: kept[digest], least: least, room: &room)
            // In the window alone single tables may be withheld.
            if count < least, granularity != .window { return nil }
            counts[type].append(count)
            planned.append(PlannedEntry(key: key, digest: digest, type: type, content: found))
        }
        let ladder = GranularityLadder(policy: policy)
        let step = ladder.step(from: granularity, individuals: individuals) { $0 == granularity ? counts : [] }
        guard let step else { return nil }
        return planned.enumerated().filter { step.isReleased[$0.offset % typeCount][$0.offset / typeCount] }.map(\.element)
    }

    /// What of a table is known before it is made, and how many people it represents. Classes of records are made coarser until everybody
    /// is in one, so that nobody is lost on the way.
    private func content(
        _ key: TableKey, _ type: Int, kept: KeptTable?, least: Int, room: inout Int
    ) throws -> (PlannedEntry.Content, Int) {
        if let kept { return (.kept(kept), .max) }
        let size = people.cohort.size
        guard try people.mayReach(least, type, key.bucket) else { return (.values(nil, members: Bitmap(size: size)), 0) }
        if key.type == .position {
            let table = LocationTable(try people.visits(type, key.bucket), tree, policy)
            return (.positions(table), table.represented)
        }
        let scales = key.type.scales(key.granularity)
        if let column, key.granularity <= .day, scales.count == 1 {
            let bytes = ClassHistogram.byteCount(column, codes: scales[0].codes)
            if bytes <= room {
                room -= bytes
                let counted = try people.counted(type, key.bucket, key.granularity, column)
                let count = counted.people
                return (.counted(counted, people: count), count)
            }
        }
        let table = try people.values(type, key.bucket, key.granularity)
        let bytes = table.values.columns.reduce(0) { $0 + 2 * $1.count }
        let isHeld = bytes <= room
        if isHeld { room -= bytes }
        return (.values(isHeld ? table.values : nil, members: table.members), table.members.count)
    }
}
