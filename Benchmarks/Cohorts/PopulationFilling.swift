// The anonymiser's store, filled as its followers and the close of hours would have left it, without the hours that they would take.

import Contracts
import ServiceKit
import Storage

/// Rows, who has data and values of thirty days of heart rate; of the last of them hours, and of two more types.
struct PopulationFilling: Sendable {
    /// People of one transaction.
    private static let slice = 8192

    private let people: MadeUpPeople
    private let stores: Population.Stores
    private let store: Store
    /// Days since 1970: the first that is not closed.
    private let today: Int
    private let hourDays: Int

    /// A row has another number than whose it is: the store was not empty.
    struct Misplaced: Error {}

    init(_ people: MadeUpPeople, stores: Population.Stores, store: Store, now: Timestamp, hourDays: Int) {
        (self.people, self.stores, self.store, self.hourDays) = (people, stores, store, hourDays)
        today = Int(now.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient)
    }

    /// - Throws: where the store is not empty, or cannot be written.
    func fill() async throws {
        try await addPeople()
        for chunk in 0..<Bitmap.chunkCount(people.count) {
            for day in 0..<MadeUpPeople.days { try await add(day, chunk) }
        }
        try await store.write { [hours = stores.hours, today] db in
            try hours.say(db, through: today * 24)
            try hours.close(db, through: today * 24)
        }
    }

    private func addPeople() async throws {
        let since = Timestamp(milliseconds: Int64(today - MadeUpPeople.days) * 86_400_000)
        let date = CivilDate(daysSince1970: Int64(today))
        for start in stride(from: 0, to: people.count, by: Self.slice) {
            let rows = start..<min(start + Self.slice, people.count)
            try await store.write { [people, table = stores.people] db in
                for row in rows {
                    guard let profile = SharedProfile(people.profile(row, on: date, since: since)),
                        let (found, _) = try table.findOrAdd(db, people.person(row)), found.row == row
                    else { throw Misplaced() }
                    try table.update(
                        db,
                        CohortRow(
                            row: row, record: CohortRecord(profile: profile), erasedUntil: 0, changedAt: since, isErased: false))
                }
            }
        }
    }

    /// - Parameter day: from the first of those with data.
    private func add(_ day: Int, _ chunk: Int) async throws {
        let first = chunk * BitmapChunk.rows
        let present = (first..<min(first + BitmapChunk.rows, people.count)).filter { people.daysWithData($0) >> UInt32(day) & 1 == 1 }
        var words = BitmapChunk.absent.words
        for row in present { words[(row - first) >> 6] |= 1 << UInt64((row - first) & 63) }
        let data = BitmapChunk(words: words[...])
        let hour = (today - MadeUpPeople.days + day) * 24
        let hasHours = day >= MadeUpPeople.days - hourDays
        var made: [(place: ChunkPlace, bytes: [UInt8]?)] = []
        for type in hasHours ? MadeUpPeople.types : [.heartRate] {
            made.append((ChunkPlace(chunk: chunk, kind: .data(type), start: hour), data == .absent ? nil : data.bytes))
            // Hours are told from days by their sign.
            made.append((ChunkPlace(chunk: chunk, kind: .values(type, .day), start: hour), codes(type, -hour, present, first)))
            for next in hour..<hour + (hasHours ? 24 : 0) {
                made.append((ChunkPlace(chunk: chunk, kind: .values(type, .hour), start: next), codes(type, next, present, first)))
            }
        }
        try await store.write { [made, chunks = stores.chunks] db in
            for (place, bytes) in made { try chunks.write(db, place, bytes) }
        }
    }

    private func codes(_ type: GroupDataType, _ bucket: Int, _ present: [Int], _ first: Int) -> [UInt8]? {
        var column = [UInt16](repeating: 0, count: BitmapChunk.rows)
        for row in present { column[row - first] = people.code(row, bucket, type) }
        return CodeChunk.bytes([column], type.scales(.hour))
    }
}
