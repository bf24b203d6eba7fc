// A chunk of a set of people as it is kept: sealed under the service's key, in its place.

import Sealing

/// Binds each chunk to where it stands, so that one that is moved does not open.
struct ChunkSeal: Sendable {
    /// The service's own.
    let key: SymmetricKey
    let table: String

    func seal(_ chunk: BitmapChunk, at place: String) throws -> [UInt8] {
        try Seal.seal(chunk.bytes, key: key, context: context(place))
    }

    /// - Throws: `SealingError`, `BitmapChunk.Fault` where the file is damaged.
    func open(_ sealed: some Collection<UInt8>, at place: String) throws -> BitmapChunk {
        try BitmapChunk(bytes: Seal.open(sealed, key: key, context: context(place)))
    }

    private func context(_ place: String) -> [UInt8] {
        Array("\(table) \(place)".utf8)
    }
}

extension BitmapChunk {
    /// The same without a row, which is counted from the population's first.
    func without(row: Int) -> BitmapChunk {
        var left = words
        let inside = row % BitmapChunk.rows
        left[inside >> 6] &= ~(1 << UInt64(inside & 63))
        return BitmapChunk(words: left[...])
    }

    func contains(row: Int) -> Bool {
        let inside = row % BitmapChunk.rows
        switch self {
        case .absent: return false
        case .list(let list): return list.contains(UInt16(inside))
        case .bitset(let words): return words[inside >> 6] >> UInt64(inside & 63) & 1 == 1
        }
    }
}

extension Bitmap {
    /// Rows of a population; of another size no set was ever kept.
    static let keptSizes = 0...1 << 27

    /// The same people in a population of another size, as it may have after a start; rows that it does not have are nobody's.
    func resized(to size: Int) -> Bitmap {
        guard size != self.size else { return self }
        let kept = Array(words.prefix(Bitmap.wordCount(size)))
        return Bitmap(size: size, words: kept + [UInt64](repeating: 0, count: Bitmap.wordCount(size) - kept.count))
    }
}
