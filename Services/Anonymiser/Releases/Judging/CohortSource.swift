// What releases are made of, as whoever makes them sees it.

import Contracts

/// Everything at one moment: a value that the next fact does not change. All bitmaps have the size `columns.bitmapSize`.
protocol CohortSource: Sendable {
    /// Those who are not eligible are left out already.
    var columns: PopulationColumns { get }
    /// Buckets that end by then are closed: quarter hours since 1970; nil while nothing is.
    var closedUntil: Int? { get }
    /// Who has at least one value of the type on that UTC day (since 1970) that counts.
    func hasData(_ type: GroupDataType, day: Int) -> Bitmap
    /// Values of a closed bucket of the grid, hours to days; nobody where nothing is kept.
    func values(_ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity) throws -> ValueColumn
    /// How many of the members have which code of such a bucket, by finest class. - Precondition: the type has one component.
    func counted(
        _ type: GroupDataType, _ bucket: TimeSpan, _ granularity: Granularity, of members: Bitmap, in column: ClassColumn
    ) throws -> ClassHistogram
    /// Who was in which squares within a bucket of hours to a day, bounded by `CellChoice`.
    func visits(_ bucket: TimeSpan) throws -> [CellVisit]
    /// Who was in the square on that day.
    func presence(in cell: GridCell, day: Int) throws -> Bitmap
    /// Rows whose profile or opt-ins changed after a moment, or who were erased since.
    func changed(since: Timestamp) -> Bitmap
}
