// How sets of people are kept: chunks of 65,536 rows, each absent, a list or a bitset.

/// One chunk, in the smaller of its forms; there is exactly one way to write a set.
enum BitmapChunk: Hashable, Sendable {
    static let rows = 65_536
    static let wordCount = rows / 64
    /// Up to so many members a list is not longer than the bitset of 8 KB.
    static let longestList = 4096

    case absent
    /// Ascending, 1 to 4096 members, relative to the chunk.
    case list([UInt16])
    /// Of 1024 words, more than 4096 members.
    case bitset([UInt64])

    /// Why bytes are not a chunk. Holds no content.
    enum Fault: Error, Hashable, Sendable {
        case unknownForm
        case wrongLength
        case notAscending
        /// Too few or too many members for the form.
        case wrongForm
        /// A member beyond the population.
        case outside
        case wrongChunkCount
    }

    /// - Parameter words: at most 1024; missing ones are zero.
    init(words: ArraySlice<UInt64>) {
        let count = words.reduce(0) { $0 + $1.nonzeroBitCount }
        if count == 0 {
            self = .absent
        } else if count <= Self.longestList {
            var list: [UInt16] = []
            list.reserveCapacity(count)
            for (index, word) in words.enumerated() {
                var word = word
                while word != 0 {
                    list.append(UInt16(index * 64 + word.trailingZeroBitCount))
                    word &= word &- 1
                }
            }
            self = .list(list)
        } else {
            self = .bitset(Array(words) + [UInt64](repeating: 0, count: Self.wordCount - words.count))
        }
    }

    /// 1024 of them.
    var words: [UInt64] {
        switch self {
        case .absent: return [UInt64](repeating: 0, count: Self.wordCount)
        case .bitset(let words): return words
        case .list(let list):
            var words = [UInt64](repeating: 0, count: Self.wordCount)
            for member in list { words[Int(member) >> 6] |= 1 << UInt64(member & 63) }
            return words
        }
    }

    /// A byte for the form, then its content, little-endian.
    var bytes: [UInt8] {
        switch self {
        case .absent: return [0]
        case .list(let list):
            var bytes: [UInt8] = [1]
            bytes.reserveCapacity(1 + 2 * list.count)
            for member in list { bytes.append(contentsOf: [UInt8(truncatingIfNeeded: member), UInt8(member >> 8)]) }
            return bytes
        case .bitset(let words):
            var bytes: [UInt8] = [2]
            bytes.reserveCapacity(1 + 8 * words.count)
            for word in words { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
            return bytes
        }
    }

    /// Reads what `bytes` writes, and nothing else; allocates at most 8 KB.
    init(bytes: some RandomAccessCollection<UInt8>) throws(Fault) {
        guard bytes.count <= 1 + 8 * Self.wordCount, let form = bytes.first else { throw .wrongLength }
        let bytes = Array(bytes)
        switch form {
        case 0:
            guard bytes.count == 1 else { throw .wrongLength }
            self = .absent
        case 1:
            guard bytes.count % 2 == 1 else { throw .wrongLength }
            guard bytes.count > 1 else { throw .wrongForm }
            let list = stride(from: 1, to: bytes.count, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
            guard zip(list, list.dropFirst()).allSatisfy({ $0 < $1 }) else { throw .notAscending }
            self = .list(list)
        case 2:
            guard bytes.count == 1 + 8 * Self.wordCount else { throw .wrongLength }
            let words = stride(from: 1, to: bytes.count, by: 8).map { start in
                (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[start + $1]) << UInt64(8 * $1) }
            }
            guard words.reduce(0, { $0 + $1.nonzeroBitCount }) > Self.longestList else { throw .wrongForm }
            self = .bitset(words)
        default: throw .unknownForm
        }
    }

    /// One more than its last member; 0 for none.
    var end: Int {
        switch self {
        case .absent: 0
        case .list(let list): Int(list[list.count - 1]) + 1
        case .bitset(let words):
            (words.lastIndex { $0 != 0 }).map { $0 * 64 + 64 - words[$0].leadingZeroBitCount } ?? 0
        }
    }
}

extension Bitmap {
    /// How many a population of this size has.
    static func chunkCount(_ size: Int) -> Int { (size + BitmapChunk.rows - 1) / BitmapChunk.rows }

    var chunks: [BitmapChunk] {
        (0..<Self.chunkCount(size)).map { chunk in
            let start = chunk * BitmapChunk.wordCount
            return BitmapChunk(words: words[start..<min(start + BitmapChunk.wordCount, words.count)])
        }
    }

    /// - Throws: where a chunk is missing or too many, or holds somebody beyond `size`.
    init(size: Int, chunks: [BitmapChunk]) throws(BitmapChunk.Fault) {
        guard chunks.count == Self.chunkCount(size) else { throw .wrongChunkCount }
        var words: [UInt64] = []
        words.reserveCapacity(chunks.count * BitmapChunk.wordCount)
        for (index, chunk) in chunks.enumerated() {
            guard index * BitmapChunk.rows + chunk.end <= size else { throw .outside }
            words.append(contentsOf: chunk.words)
        }
        words.removeLast(words.count - Self.wordCount(size))
        self.init(size: size, words: words)
    }
}
