// A population that tests make up and change, in the place of the one that facts make.

import Contracts
import Synchronization
import TestKit

@testable import Anonymiser

/// At one moment. Everybody of `sharing` has a value in every bucket, the same one for ever.
struct PlayedPeople: CohortSource {
    var rows: [PersonRow]
    var columns: PopulationColumns
    var closedUntil: Int? = Samples.today * TimeSpan.perDay
    /// By type, who has data.
    var sharing: [GroupDataType: Bitmap]
    /// Whose profile changed, since ever.
    var changes: Bitmap
    var cells: [CellVisit] = []
    /// By the beginning of an hour in quarter hours since 1970, who of them has a value in it; everybody in other ones.
    var inHour: [Int: Bitmap] = [:]
    /// By day, who was in any square that is asked for; everybody on other days.
    var present: [Int: Bitmap] = [:]

    /// - Parameter ages: of how many people each, in this order. All share all types.
    init(_ ages: [(age: Int, people: Int)]) {
        rows = ages.flatMap { group in (0..<group.people).map { Self.person(age: group.age, number: $0) } }
        columns = PopulationColumns(rows)
        let everybody = Bitmap.full(size: columns.bitmapSize)
        sharing = Dictionary(uniqueKeysWithValues: GroupDataType.allCases.map { ($0, everybody) })
        changes = Bitmap(size: columns.bitmapSize)
    }

    static func person(age: Int, number: Int) -> PersonRow {
        PersonRow(
            age: age, weight: 70, height: 170, sex: number.isMultiple(of: 2) ? .female : .male, occupation: .employed,
            residence: number % Samples.places.leaves.count, birthPlace: 0, shares: Set(GroupDataType.allCases), isEligible: true)
    }

    /// One more person, or another profile of somebody; either counts as changed.
    mutating func change(_ row: Int?, _ person: PersonRow) {
        if let row { rows[row] = person } else { rows.append(person) }
        columns = PopulationColumns(rows)
        changes = changes.resized(to: columns.bitmapSize)
        changes[row ?? rows.count - 1] = true
        for type in GroupDataType.allCases { sharing[type] = .full(size: columns.bitmapSize) }
    }

    func hasData(_ type: GroupDataType, day: Int) -> Bitmap {
        sharing[type] ?? Bitmap(size: columns.bitmapSize)
    }

    func values(_ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity) -> ValueColumn {
        let scales = type.scales(granularity)
        var values = ValueColumn(scales: scales, size: columns.bitmapSize)
        var present = hasData(type, day: 0)
        if let some = inHour[bucket.start] { present.formIntersection(some.resized(to: present.size)) }
        present.forEach { row in
            var chance = SeededGenerator(seed: UInt64(row) << 32 | UInt64(bucket.start))
            values.set(scales.map { $0.codes / 4 + Int(chance.next() % UInt64($0.codes / 2)) }, at: row)
        }
        return values
    }

    func counted(
        _ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity, of members: Bitmap, in column: ClassColumn
    ) -> ClassHistogram {
        var histogram = ClassHistogram(column, codes: type.scales(granularity)[0].codes)
        let (codes, hours) = (values(type, bucket, granularity).columns[0], [Int32](repeating: 0, count: column.ids.count))
        histogram.add(codes[...], of: members, at: 0, ids: column.ids, hours: hours, before: 1)
        return histogram
    }

    func visits(_ bucket: TimeSpan) -> [CellVisit] { cells }

    func presence(in cell: GridCell, day: Int) -> Bitmap { present[day] ?? .full(size: columns.bitmapSize) }

    func changed(since: Timestamp) -> Bitmap { changes }
}

/// As it is now.
final class PlayedPopulation: Sendable {
    private let people: Mutex<PlayedPeople>

    init(_ people: PlayedPeople) {
        self.people = Mutex(people)
    }

    var current: PlayedPeople { people.withLock { $0 } }

    func change(_ change: (inout PlayedPeople) -> Void) {
        people.withLock { change(&$0) }
    }
}
