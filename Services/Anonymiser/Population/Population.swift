// Who can be in a group, in memory: columns, opt-ins, and who has data on the last days. Made of the store at the start.

import Contracts
import Sealing
import ServiceKit
import Storage

/// The one owner of what `CohortData` shows. What transactions have changed it takes over before it shows anything, so that nobody sees
/// less than what is committed.
actor Population {
    /// The tables that it is made of, and what their transactions leave for it.
    struct Stores: Sendable {
        let people: PopulationStore
        let hours: HourStore
        let chunks: ChunkStore
        let squares: SquareStore
        let changes = PopulationChanges()

        init(key: SymmetricKey, policy: AnonymityPolicy) {
            people = PopulationStore(key: key)
            hours = HourStore(key: key)
            chunks = ChunkStore(key: key)
            squares = SquareStore(chunks: chunks, policy: policy, key: key)
        }
    }

    private static let rowsOfPage = 20_000

    private let store: Store
    private let stores: Stores
    private let buckets: BucketStore
    private let leaf: @Sendable (String) -> Int
    private let policy: AnonymityPolicy
    private let now: @Sendable () -> Timestamp

    private var columns = PopulationColumns()
    private var counting = CountingHours()
    private var dataDays: DataDays
    /// Packed birth dates by row; 0 for whoever shares nothing.
    private var births: [Int32] = []
    private var changedAt: [Int64] = []
    private var closedThrough: Int?
    private var rights = 0
    /// Restored from a copy, and not told yet who still shares: nothing is closed for anybody.
    private var isHeld = false
    /// Of the ages, since 1970.
    private var day: Int

    /// - Parameters:
    ///   - leaf: the catalogue's number of a place, by the code that profiles hold.
    ///   - now: the clock by which ages change.
    /// - Throws: where the store cannot be read, or holds what nobody wrote.
    init(
        _ stores: Stores, in store: Store, buckets: BucketStore, leaf: @escaping @Sendable (String) -> Int,
        now: @escaping @Sendable () -> Timestamp = { .now }
    ) async throws {
        (self.stores, self.store, self.buckets, self.leaf, self.now) = (stores, store, buckets, leaf, now)
        policy = stores.squares.policy
        day = Self.day(of: now())
        dataDays = DataDays(first: day - DataDays.kept)
        // What was committed before the store is read is in what is read.
        _ = stores.changes.take()
        try await load()
    }

    /// Everything that releases are made of, as it is now.
    func current() -> CohortData {
        takeOver()
        renewDay()
        return CohortData(
            columns: columns, closedUntil: isHeld ? nil : closedThrough.map { $0 * TimeSpan.perHour }, counting: counting,
            rights: rights, dataDays: dataDays, changedAt: changedAt, buckets: buckets)
    }

    /// From which hour on values count, and how often anything was taken away before that was so.
    func rightsNow() -> (counting: CountingHours, number: Int) {
        takeOver()
        return (counting, rights)
    }

    /// So that what waits does not become much.
    func takeOver() {
        for change in stores.changes.take() {
            switch change {
            case .row(let row, let rights):
                self.rights = max(self.rights, rights)
                put(row)
            case .data(let type, let day, let chunk, let words):
                dataDays.replace(type, day: day, chunk: chunk, words: words)
            case .closed(let hour):
                closedThrough = hour
            case .heard:
                isHeld = false
            }
        }
    }

    // MARK: Rows

    private func personRow(_ row: CohortRow) -> PersonRow? {
        guard !row.isErased else { return nil }
        return row.record.profile.map { PersonRow($0, on: CivilDate(daysSince1970: Int64(day)), policy, leaf: leaf) }
    }

    private func put(_ row: CohortRow) {
        while columns.count <= row.row { columns.append(Self.nobody) }
        counting.grow(to: columns.count)
        dataDays.grow(to: columns.bitmapSize)
        let missing = columns.count - births.count
        if missing > 0 {
            births.append(contentsOf: repeatElement(0, count: missing))
            changedAt.append(contentsOf: repeatElement(0, count: missing))
        }
        if let person = personRow(row) { columns.update(person, at: row.row) } else { columns.erase(at: row.row) }
        births[row.row] = row.record.profile.map { SharedProfile.packed($0.birthDate) } ?? 0
        changedAt[row.row] = row.changedAt.milliseconds
        for type in GroupDataType.measured { count(type, row) }
    }

    private func count(_ type: GroupDataType, _ row: CohortRow) {
        let from = row.record.counting(type, erasedUntil: row.erasedUntil)
        let former = counting[type, row.row]
        guard from != former else { return }
        counting[type, row.row] = from
        // Whole days before the new hour; of the day that holds it, the transaction has said who still has data.
        if from < CountingHours.unknown { dataDays.clear(type, row.row, before: Int(from) / 24) }
    }

    private static let nobody = PersonRow(
        age: 0, weight: 0, height: 0, sex: nil, occupation: .student, residence: 0, birthPlace: 0, shares: [], isEligible: false)

    // MARK: Days

    private static func day(of time: Timestamp) -> Int {
        Int(time.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient)
    }

    /// Ages are of the day; a clock that is set back changes nothing.
    private func renewDay() {
        let today = Self.day(of: now())
        guard today > day else { return }
        day = today
        dataDays.forget(before: today - DataDays.kept)
        let date = CivilDate(daysSince1970: Int64(today))
        let ages = births.map { $0 == 0 ? 0 : SharedProfile.age(born: $0, on: date) }
        columns.replaceAges { ages[$0] }
        columns.replaceEligible { births[$0] != 0 && ages[$0] >= policy.youngestAge }
    }

    // MARK: Starting

    private func load() async throws {
        var rows: [PersonRow] = []
        var reading = readPage(after: -1)
        while true {
            let page = try await reading.value
            let end = page.count == Self.rowsOfPage ? page.last : nil
            // The next one comes while this one is taken.
            if let end { reading = readPage(after: end.row) }
            for row in page {
                while rows.count < row.row { rows.append(Self.nobody) }
                rows.append(personRow(row) ?? Self.nobody)
                births.append(contentsOf: repeatElement(0, count: rows.count - births.count))
                changedAt.append(contentsOf: repeatElement(0, count: rows.count - changedAt.count))
                births[row.row] = row.record.profile.map { SharedProfile.packed($0.birthDate) } ?? 0
                changedAt[row.row] = row.changedAt.milliseconds
                counting.grow(to: rows.count)
                for type in GroupDataType.measured { counting[type, row.row] = row.record.counting(type, erasedUntil: row.erasedUntil) }
            }
            if end == nil { break }
        }
        columns = PopulationColumns(rows)
        dataDays.grow(to: columns.bitmapSize)
        let state = try await store.read { [hours = stores.hours] db in try hours.state(db) }
        (closedThrough, rights, isHeld) = (state.closedThrough, state.rights, state.restoredRows != nil)
        for type in GroupDataType.measured { try await loadDays(type) }
    }

    private func readPage(after row: Int) -> Task<[CohortRow], any Error> {
        Task { [store, people = stores.people] in
            try await store.read { db in try people.page(db, after: row, limit: Self.rowsOfPage) }
        }
    }

    private func loadDays(_ type: GroupDataType) async throws {
        for chunk in 0..<Bitmap.chunkCount(columns.count) {
            // Also days that are ahead of a clock that was set back.
            let starts = dataDays.first * 24..<Int(CountingHours.unknown)
            let kept = try await store.read { [chunks = stores.chunks] db in
                try chunks.read(db, chunk: chunk, .data(type), starts: starts)
            }
            for (start, bytes) in kept {
                dataDays.replace(type, day: start / 24, chunk: chunk, words: try BitmapChunk(bytes: bytes).words)
            }
        }
        let hours = counting.column(type)
        for row in hours.indices where hours[row] < CountingHours.unknown && Int(hours[row]) / 24 > dataDays.first {
            dataDays.clear(type, row, before: Int(hours[row]) / 24)
        }
    }
}
