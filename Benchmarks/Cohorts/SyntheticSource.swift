// A population as attacks on group data have it, in memory: what the judging of requests looks at, and no values.

import Contracts

/// People of the service's own synthetic population, whose attributes depend on each other as those of real people do.
struct SyntheticSource: CohortSource {
    /// Ages are of this day, since 1970; always the same, so that a seed has the same people for ever.
    private static let today = 20_500

    let columns: PopulationColumns
    /// Whole days since 1970, of which who has data is known.
    let days: Range<Int>
    /// By number of the type, by day of `days`. Whoever wears devices on a day has data of all that they measure.
    private let present: [[Bitmap]]

    /// - Parameter days: at least 1.
    init(_ people: Int, days: Int, seed: UInt64, _ places: GroupPlaces, _ policy: AnonymityPolicy) {
        let plan = SyntheticPlan(people: people, seed: seed, days: Self.today - days..<Self.today)
        let (towns, day) = (SyntheticCountry(places).towns, CivilDate(daysSince1970: Int64(Self.today)))
        let none = [Bitmap](repeating: Bitmap(size: people), count: days)
        var present = [[Bitmap]](repeating: none, count: GroupDataType.allCases.count + 1)
        var rows: [PersonRow] = []
        rows.reserveCapacity(people)
        let steps = StepReport("people", of: people)
        for index in 0..<people {
            let person = plan.person(index, towns)
            // Everybody who is made up has a profile that can be.
            guard let profile = SharedProfile(person.profile(since: Timestamp(milliseconds: 0))) else { continue }
            let row = rows.count
            rows.append(PersonRow(profile, on: day, policy, leaf: { places.leaf(ofCity: $0) }))
            for (place, worn) in plan.days.enumerated() where person.isWorn(onDay: worn) {
                for type in person.measures { present[Int(type.rawValue)][place][row] = true }
            }
            steps.reached(index + 1)
        }
        columns = PopulationColumns(rows)
        (self.days, self.present) = (plan.days, present)
    }

    var closedUntil: Int? { days.upperBound * TimeSpan.perDay }

    func hasData(_ type: GroupDataType, day: Int) -> Bitmap {
        days.contains(day) ? present[Int(type.rawValue)][day - days.lowerBound].resized(to: columns.bitmapSize) : nobody
    }

    func changed(since: Timestamp) -> Bitmap { nobody }

    private var nobody: Bitmap { Bitmap(size: columns.bitmapSize) }

    // MARK: What tables are made of: none is

    func values(_ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity) -> ValueColumn {
        ValueColumn(scales: type.scales(granularity), size: columns.bitmapSize)
    }

    func counted(
        _ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity, of members: Bitmap, in column: ClassColumn
    ) -> ClassHistogram {
        ClassHistogram(column, codes: type.scales(granularity)[0].codes)
    }

    func visits(_ bucket: TimeSpan) -> [CellVisit] { [] }

    func presence(in cell: GridCell, day: Int) -> Bitmap { nobody }
}
