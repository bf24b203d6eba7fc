// The people of one request, by type and day: who contributes, and with which values.

import Contracts

/// A table that is to be made. `members` are S(t, b): who has no value in the bucket is not among them.
struct PlannedTable: Sendable {
    let values: ValueColumn
    let members: Bitmap
}

/// E ∧ F ∧ P less those whose day is spent, at one moment. Lives as long as one request is judged.
struct GroupPeople {
    /// Days whose sets are held at once.
    fileprivate static let daysAtOnce = 32

    let source: any CohortSource
    let filters: GroupFilters
    let types: [GroupDataType]
    /// By day: who can take part in no further statistics of it. Nobody on other days, and nobody for records.
    let spent: [Int: Bitmap]
    /// E ∧ F by type.
    private let cohorts: [Bitmap]
    /// E ∧ F, whichever types are shared: for the guard and for classes.
    let cohort: Bitmap
    private let area: AreaPresence?

    /// - Parameter others: who does not count, whatever the filters say.
    init(
        _ source: any CohortSource, _ filters: GroupFilters, _ types: [GroupDataType], spent: [Int: Bitmap],
        leavingOut others: Bitmap? = nil
    ) {
        func left(_ people: Bitmap) -> Bitmap { others.map { people.subtracting($0.resized(to: people.size)) } ?? people }
        let columns = source.columns
        (self.source, self.filters, self.types) = (source, filters, types)
        self.spent = spent.mapValues { $0.resized(to: columns.bitmapSize) }
        cohorts = types.map { left(columns.cohort(filters, for: $0)) }
        cohort = left(columns.cohort(filters))
        if case .cell(let cell) = filters.area { area = AreaPresence(source, cell) } else { area = nil }
    }

    /// Who may count on a day, with data or without. - Parameter type: its place in `types`.
    private func eligible(_ type: Int, day: Int) throws -> Bitmap {
        var left = cohorts[type]
        if let there = try area?.people(day) { left.formIntersection(there) }
        if let spent = spent[day] { left.subtract(spent) }
        return left
    }

    private func hasData(_ type: Int, _ day: Int) -> Bitmap {
        source.hasData(types[type], day: day).resized(to: cohort.size)
    }

    /// S of a whole day.
    func members(_ type: Int, day: Int) throws -> Bitmap {
        var present = hasData(type, day)
        if !present.isEmpty { present.formIntersection(try eligible(type, day: day)) }
        return present
    }

    /// ⋃ S over the window, by type: distinct people who really contribute.
    func contributors(_ window: DayWindow) throws -> [Bitmap] {
        var unions = types.map { _ in Bitmap(size: source.columns.bitmapSize) }
        for start in stride(from: window.days.lowerBound, to: window.days.upperBound, by: Self.daysAtOnce) {
            let days = start..<min(start + Self.daysAtOnce, window.days.upperBound)
            let areas = try days.map { try area?.people($0) }
            for place in types.indices {
                let presences = zip(days, areas).map { day, area in
                    var data = hasData(place, day)
                    if let spent = spent[day] { data.subtract(spent) }
                    return Presence(hasData: data, inArea: area)
                }
                unions[place].formUnion(Contributors(cohort: cohorts[place], presences: presences).members)
            }
        }
        return unions
    }

    /// What the guard compares: E ∧ F, and ⋃ P(d) with an area.
    func guarded(_ window: DayWindow) throws -> Bitmap {
        guard let area else { return cohort }
        var there = Bitmap(size: cohort.size)
        for day in window.days { there.formUnion(try area.people(day)) }
        return cohort.intersection(there)
    }

    // MARK: Buckets

    /// Whether a bucket of one day or less can have that many people at all, by what is in memory.
    func mayReach(_ count: Int, _ type: Int, _ bucket: TimeSpan) throws -> Bool {
        let days = bucket.days
        return try days.count > 1 || members(type, day: days.lowerBound).count >= count
    }

    /// The values of one table and S(t, b): who has one.
    func values(_ type: Int, _ bucket: TimeSpan, _ granularity: Granularity) throws -> PlannedTable {
        guard granularity <= .day else {
            return try means(type, of: bucket.days.map { TimeSpan($0 * TimeSpan.perDay, ($0 + 1) * TimeSpan.perDay) }, .day)
        }
        let values = try source.values(types[type], bucket, granularity)
        return PlannedTable(values: values, members: try members(values, type, day: bucket.days.lowerBound))
    }

    /// As `values` of a bucket of a day or less, counted by finest class. - Precondition: the type has one component.
    func counted(_ type: Int, _ bucket: TimeSpan, _ granularity: Granularity, _ column: ClassColumn) throws -> ClassHistogram {
        try source.counted(types[type], bucket, granularity, of: try eligible(type, day: bucket.days.lowerBound), in: column)
    }

    /// Of one bucket of the grid, or of some that are joined because each by itself has too few people.
    func values(_ type: Int, joining span: TimeSpan, of granularity: Granularity) throws -> PlannedTable {
        guard granularity <= .day, let length = granularity.length, span.length > length else {
            return try values(type, span, granularity)
        }
        let buckets = stride(from: span.start, to: span.end, by: length).map { TimeSpan($0, $0 + length) }
        return try means(type, of: buckets, granularity)
    }

    private func members(_ values: ValueColumn, _ type: Int, day: Int) throws -> Bitmap {
        let cohort = try eligible(type, day: day)
        return values.hasData.resized(to: cohort.size).intersection(cohort)
    }

    /// The mean of the codes of buckets of a day or less. Days on which somebody was not in the area, or that are spent, count for
    /// nothing in it.
    private func means(_ type: Int, of buckets: [TimeSpan], _ granularity: Granularity) throws -> PlannedTable {
        let size = source.columns.bitmapSize
        let scales = types[type].scales(granularity)
        var sums = scales.map { _ in [UInt32](repeating: 0, count: size) }
        var counts = [UInt32](repeating: 0, count: size)
        var everybody = Bitmap(size: size)
        for bucket in buckets {
            let day = bucket.days.lowerBound
            guard try !members(type, day: day).isEmpty else { continue }
            let values = try source.values(types[type], bucket, granularity)
            let present = try members(values, type, day: day)
            present.forEach { row in
                counts[row] += 1
                for component in scales.indices { sums[component][row] += UInt32(values.columns[component][row]) - 1 }
            }
            everybody.formUnion(present)
        }
        var means = ValueColumn(scales: scales, size: size)
        everybody.forEach { row in
            means.set(scales.indices.map { Int(sums[$0][row]).roundedQuotient(Int(counts[row])) }, at: row)
        }
        return PlannedTable(values: means, members: everybody)
    }

    // MARK: Positions

    /// Visits of S(t, b) alone, each square once for a person.
    func visits(_ type: Int, _ bucket: TimeSpan) throws -> [CellVisit] {
        var collected = VisitList()
        for day in bucket.days {
            let present = try members(type, day: day)
            guard !present.isEmpty else { continue }
            let start = max(bucket.start, day * TimeSpan.perDay)
            let span = TimeSpan(start, min(bucket.end, (day + 1) * TimeSpan.perDay))
            collected.add(try source.visits(span).lazy.filter { present[Int($0.row)] })
        }
        return collected.distinct
    }
}

/// P of one square. Contributors, the guard and tables ask for the same days one after the other: those of a month are kept.
private final class AreaPresence {
    private let source: any CohortSource
    private let cell: GridCell
    private var kept: [Int: Bitmap] = [:]

    init(_ source: any CohortSource, _ cell: GridCell) {
        (self.source, self.cell) = (source, cell)
    }

    func people(_ day: Int) throws -> Bitmap {
        if let people = kept[day] { return people }
        let people = try source.presence(in: cell, day: day)
        if kept.count >= GroupPeople.daysAtOnce { kept = [:] }
        kept[day] = people
        return people
    }
}

/// Visits of many days, of which repeated ones are dropped now and then.
private struct VisitList {
    private static let least = 1 << 20

    private var visits: [CellVisit] = []
    private var compactedAt = least

    mutating func add(_ more: some Sequence<CellVisit>) {
        visits.append(contentsOf: more)
        guard visits.count > compactedAt else { return }
        compact()
        compactedAt = max(Self.least, 2 * visits.count)
    }

    private mutating func compact() {
        visits.sort { ($0.row, $0.cell.x, $0.cell.y) < ($1.row, $1.cell.x, $1.cell.y) }
        var kept = 0
        for index in visits.indices where kept == 0 || visits[kept - 1] != visits[index] {
            visits[kept] = visits[index]
            kept += 1
        }
        visits.removeLast(visits.count - kept)
    }

    var distinct: [CellVisit] {
        var copy = self
        copy.compact()
        return copy.visits
    }
}
