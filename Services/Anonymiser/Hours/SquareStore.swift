// In which squares people count: chosen hour by hour, and kept by square once a day is closed.

import Contracts
import GRDB
import Sealing

/// Of a closed day, what was chosen lies in parts, each with the squares that a keyed digest puts there: who asks for one square opens one
/// part of a chunk, and none of its hours.
struct SquareStore: Sendable {
    /// Of a chunk's day. Changing it would need a migration.
    static let parts = 32

    let chunks: ChunkStore
    let policy: AnonymityPolicy
    /// Of the choice: nobody can guess by it which squares count.
    private let choice: SymmetricKey
    private let division: SymmetricKey

    init(chunks: ChunkStore, policy: AnonymityPolicy, key: SymmetricKey) {
        (self.chunks, self.policy) = (chunks, policy)
        (choice, division) = (key.derived(for: "squares"), key.derived(for: "squares.parts"))
    }

    // MARK: Choosing

    /// A person's squares of a day are admitted hour by hour, those of one hour by a keyed digest, until there are enough: what counts in
    /// an hour never depends on a later one, and is the same for everybody who asks.
    /// - Parameter known: the person's of the day's earlier hours; those of this one follow.
    func admit(_ cells: [GridCell], row: Int, day: Int, to known: inout [GridCell]) {
        let new = cells.filter { !known.contains($0) }
        guard !new.isEmpty, known.count < policy.cellsPerPersonDay else { return }
        known += chosen(new, row: row, day: day, most: policy.cellsPerPersonDay - known.count)
    }

    private func chosen(_ cells: [GridCell], row: Int, day: Int, most: Int) -> [GridCell] {
        guard cells.count > most else { return cells }
        var bounded = policy
        bounded.cellsPerPersonDay = most
        return CellChoice.chosen(cells, bounded) { cell in
            Self.number(Digest.hmacSHA256(Array("\(row) \(day) \(cell.x) \(cell.y)".utf8), key: choice))
        }.sorted()
    }

    private static func number(_ digest: [UInt8]) -> UInt64 { digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    // MARK: The day's end

    /// What a day leaves of a chunk, part by part; nil where nobody is in it.
    /// - Parameter hours: who was where, by hour.
    func closed(
        day: Int, chunk: Int, _ hours: [Int: [CellChunk.Entry]], _ counting: CountingHours
    ) -> [(place: ChunkPlace, bytes: [UInt8]?)] {
        let from = counting.column(.position)
        var admitted: [Int: [GridCell]] = [:]
        for (hour, entries) in hours.sorted(by: { $0.key < $1.key }) {
            for entry in entries {
                let row = chunk * BitmapChunk.rows + entry.row
                guard CountingHours.isKept(hour: hour, from: row < from.count ? from[row] : CountingHours.unknown) else { continue }
                admit(entry.cells, row: row, day: day, to: &admitted[entry.row, default: []])
            }
        }
        var rows: [GridCell: [Int]] = [:]
        for (row, cells) in admitted {
            for cell in cells { rows[cell, default: []].append(row) }
        }
        var parts = [[SquareChunk.Entry]](repeating: [], count: Self.parts)
        for (cell, rows) in rows.sorted(by: { $0.key < $1.key }) {
            parts[part(of: cell)].append(SquareChunk.Entry(cell: cell, rows: rows.sorted()))
        }
        return parts.enumerated().map { part, entries in (place(chunk, part, day), SquareChunk.bytes(entries)) }
    }

    /// Where somebody begins to count within a day: what is kept of that day, if it is closed, is chosen anew, of the hours that count.
    /// - Parameter hour: since 1970; the first that counts.
    func renew(_ db: Database, _ row: Int, from hour: Int) throws {
        let day = hour.flooredQuotient(24)
        guard day * 24 < hour, hour < Int(CountingHours.unknown) else { return }
        let (chunk, number) = row.quotientAndRemainder(dividingBy: BitmapChunk.rows)
        var kept: [(place: ChunkPlace, entries: [SquareChunk.Entry])] = []
        var isClosed = false
        for part in 0..<Self.parts {
            let bytes = try chunks.read(db, place(chunk, part, day))
            kept.append((place(chunk, part, day), try bytes.map { try SquareChunk.read($0) } ?? []))
            if bytes != nil { isClosed = true }
        }
        // Where the day is open, its close makes them; where nobody of the chunk has any, this person has none either.
        guard isClosed else { return }
        var admitted: [GridCell] = []
        let hours = try chunks.read(db, chunk: chunk, .cells, starts: hour..<(day + 1) * 24)
        for (_, bytes) in hours.sorted(by: { $0.key < $1.key }) {
            guard let entry = try CellChunk.read(bytes).first(where: { $0.row == number }) else { continue }
            admit(entry.cells, row: row, day: day, to: &admitted)
        }
        for (part, (place, entries)) in kept.enumerated() {
            let renewed = SquareChunk.placing(number, in: Set(admitted.filter { self.part(of: $0) == part }), entries)
            if renewed != entries { try chunks.write(db, place, SquareChunk.bytes(renewed)) }
        }
    }

    // MARK: Reading a closed day

    /// Who of the chunk was in one square.
    func rows(_ db: Database, in cell: GridCell, chunk: Int, day: Int) throws -> [Int] {
        try chunks.read(db, place(chunk, part(of: cell), day)).map { try SquareChunk.rows(in: cell, $0) } ?? []
    }

    /// Who of the chunk was in which squares.
    func entries(_ db: Database, chunk: Int, day: Int) throws -> [SquareChunk.Entry] {
        try (0..<Self.parts).flatMap { part in
            try chunks.read(db, place(chunk, part, day)).map { try SquareChunk.read($0) } ?? []
        }
    }

    private func part(of cell: GridCell) -> Int {
        Int(Self.number(Digest.hmacSHA256(Array("\(cell.x) \(cell.y)".utf8), key: division)) % UInt64(Self.parts))
    }

    private func place(_ chunk: Int, _ part: Int, _ day: Int) -> ChunkPlace {
        ChunkPlace(chunk: chunk, kind: .squares(part: part), start: day * 24)
    }
}
