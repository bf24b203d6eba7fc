// From a plan to the content of its new tables.

import Contracts

/// A table that is to be kept: encoded, not yet sealed.
struct NewTable: Sendable {
    let digest: [UInt8]
    let kept: KeptTable
    let bytes: [UInt8]
}

/// What was made of a plan.
struct MadeTables: Sendable {
    /// In the order of the release.
    var digests: [[UInt8]] = []
    var entries = 0
    var new: [NewTable] = []
    /// Of records: the step of the recoding path.
    var step: Int?
}

struct TableMaker {
    let request: GroupRequest
    let people: GroupPeople
    let policy: AnonymityPolicy
    let places: PlaceCatalogue
    let hierarchies: [PersonAttribute: Hierarchy]

    /// Everybody's class, for records of these attributes.
    static func column(_ request: GroupRequest, _ people: GroupPeople, _ hierarchies: [PersonAttribute: Hierarchy]) -> ClassColumn {
        let path = RecodingPath(request.attributes.compactMap { hierarchies[$0] })
        return ClassColumn(path, cohort: people.cohort, columns: path.hierarchies.map { people.source.columns.codes(of: $0.attribute) })
    }

    /// - Parameters:
    ///   - column: of `column`, where it was made for the plan already.
    ///   - kept: the step at which another table of these filters and attributes was kept, if one was.
    ///   - generator: the system's in production; what is drawn here is kept with the tables and never drawn again.
    /// - Returns: without tables of which too few people are left at every step.
    func make(
        _ plan: [PlannedEntry], column: ClassColumn? = nil, kept: Int?, using generator: inout some RandomNumberGenerator
    ) throws -> MadeTables {
        switch request.product {
        case .records: return try records(plan, column, kept)
        case .statistics: return try statistics(plan, using: &generator)
        }
    }

    /// A table as it is kept.
    private struct Encoded: Sendable {
        let entries: Int
        let bytes: [UInt8]

        init(_ key: TableKey, _ content: StoredTable.Content, _ policy: AnonymityPolicy) {
            let table = StoredTable(key, content, policy)
            (entries, bytes) = (table.entryCount, TableCodec.bytes(table))
        }
    }

    /// - Parameter make: gets the place in the plan as well.
    private func collect(
        _ plan: [PlannedEntry], step: Int?, variance: Int = 0, _ make: (Int, PlannedEntry) throws -> Encoded?
    ) rethrows -> MadeTables {
        var made = MadeTables()
        made.step = step
        for (place, planned) in plan.enumerated() {
            if case .kept(let kept) = planned.content {
                made.entries += kept.entries
            } else {
                guard let encoded = try make(place, planned) else { continue }
                made.entries += encoded.entries
                let kept = KeptTable(entries: encoded.entries, variance: variance)
                made.new.append(NewTable(digest: planned.digest, kept: kept, bytes: encoded.bytes))
            }
            made.digests.append(planned.digest)
        }
        return made
    }

    private func values(_ planned: PlannedEntry) throws -> (ValueColumn, Bitmap)? {
        guard case .values(let values, let members) = planned.content else { return nil }
        return (try values ?? people.values(planned.type, planned.key.bucket, planned.key.granularity).values, members)
    }

    // MARK: Records and positions

    /// How many people a table of values has, and how many of each finest class.
    private struct Counting {
        let people: Int
        let classes: (ClassColumn) -> [Int]

        init?(_ content: PlannedEntry.Content) {
            switch content {
            case .values(_, let members): (people, classes) = (members.count, { $0.counts(members) })
            case .counted(let histogram, let count): (people, classes) = (count, { _ in histogram.counts })
            case .kept, .positions: return nil
            }
        }
    }

    private func records(_ plan: [PlannedEntry], _ made: ClassColumn?, _ kept: Int?) throws -> MadeTables {
        let countings = plan.compactMap { Counting($0.content) }
        guard !countings.isEmpty else { return collect(plan, step: nil) { encoded(positions: $1) } }
        let column = made ?? Self.column(request, people, hierarchies)
        let step = min(
            kept ?? column.step(sizes: countings.map(\.people), policy) { countings[$0].classes(column) }, column.path.last)
        let tables = RecordTables(policy: policy, column: column)
        let counted = try Self.made(plan, tables, from: step)
        return try collect(plan, step: step) { place, planned in
            if case .counted = planned.content { return counted[place] }
            guard let (values, members) = try values(planned) else { return encoded(positions: planned) }
            return tables.table(values, members: members, from: step).map { Encoded(planned.key, .init($0), policy) }
        }
    }

    /// Those that were counted, by their places: most of a large release. Each is made of nothing but its histogram.
    private static func made(_ plan: [PlannedEntry], _ tables: RecordTables, from step: Int) throws -> [Encoded?] {
        let counted = plan.map { planned -> (key: TableKey, histogram: ClassHistogram)? in
            guard case .counted(let histogram, _) = planned.content else { return nil }
            return (planned.key, histogram)
        }
        return try ConcurrentWork.map(counted.count) { place -> Encoded? in
            guard let (key, histogram) = counted[place] else { return nil }
            return tables.table(histogram, key.type.scales(key.granularity)[0], from: step).map {
                Encoded(key, .init($0), tables.policy)
            }
        }
    }

    private func encoded(positions planned: PlannedEntry) -> Encoded? {
        guard case .positions(let table) = planned.content else { return nil }
        return Encoded(planned.key, .init(table, policy), policy)
    }

    // MARK: Statistics

    private func statistics(
        _ plan: [PlannedEntry], using generator: inout some RandomNumberGenerator
    ) throws -> MadeTables {
        let granularity = plan.first?.key.granularity ?? request.granularity
        let mechanism = request.mechanism(granularity, policy)
        let tables = StatisticsTables(mechanism, StatisticsClasses(request.attributes, places), people)
        return try collect(plan, step: nil, variance: mechanism.variance) { _, planned in
            guard let (values, members) = try values(planned) else { return nil }
            return Encoded(planned.key, .statistics(tables.cells(values, members, using: &generator)), policy)
        }
    }
}

/// Adds everybody's values up by public class, and publishes what of it the noise lets through.
private struct StatisticsTables {
    private let mechanism: StatisticsMechanism
    private let classes: StatisticsClasses
    /// By row; empty where there is one class.
    private let classOfRow: [UInt32]

    init(_ mechanism: StatisticsMechanism, _ classes: StatisticsClasses, _ people: GroupPeople) {
        (self.mechanism, self.classes) = (mechanism, classes)
        guard classes.count > 1 else {
            classOfRow = []
            return
        }
        let columns = classes.hierarchies.map { people.source.columns.codes(of: $0.attribute) }
        var classOfRow = [UInt32](repeating: 0, count: people.cohort.size)
        people.cohort.forEach { row in classOfRow[row] = UInt32(classes.cell(columns.map { Int($0[row]) })) }
        self.classOfRow = classOfRow
    }

    /// Noise goes to every class, empty ones included.
    func cells(
        _ values: ValueColumn, _ members: Bitmap, using generator: inout some RandomNumberGenerator
    ) -> [StoredTable.Cell] {
        let exact = values.scales.count == 1 ? single(values, members) : several(values, members)
        var published: [StoredTable.Cell] = []
        for (number, cell) in exact.enumerated() {
            guard let statistics = mechanism.published(mechanism.noisy(cell, using: &generator), values.scales) else { continue }
            published.append(
                StoredTable.Cell(
                    labels: classes.labels(number), count: statistics.count, countError: statistics.countError, means: statistics.means,
                    meanErrors: statistics.meanErrors))
        }
        return published
    }

    private func number(_ row: Int) -> Int {
        classOfRow.isEmpty ? 0 : Int(classOfRow[row])
    }

    private func empty(_ components: Int) -> [StatisticsCell] {
        [StatisticsCell](repeating: StatisticsCell(components: components), count: classes.count)
    }

    private func single(_ values: ValueColumn, _ members: Bitmap) -> [StatisticsCell] {
        let (scale, column) = (values.scales[0], values.columns[0])
        var histogram = [Int](repeating: 0, count: classes.count * scale.codes)
        members.forEach { row in histogram[number(row) * scale.codes + Int(column[row]) - 1] += 1 }
        var cells = empty(1)
        for index in histogram.indices where histogram[index] > 0 {
            cells[index / scale.codes].add(index % scale.codes, people: histogram[index], scale)
        }
        return cells
    }

    private func several(_ values: ValueColumn, _ members: Bitmap) -> [StatisticsCell] {
        var cells = empty(values.scales.count)
        members.forEach { row in cells[number(row)].add(values.columns.map { Int($0[row]) - 1 }, values.scales) }
        return cells
    }
}
