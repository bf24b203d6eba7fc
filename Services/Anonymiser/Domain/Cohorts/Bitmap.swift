// A dense set of people: one bit for each internal row number.

/// Bits 0 to `size` − 1; those beyond are always zero in `words`. 125 KB for a million. Who combines two must give them the same size.
struct Bitmap: Hashable, Sendable {
    private(set) var size: Int
    private(set) var words: [UInt64]

    /// Empty.
    init(size: Int) {
        self.size = size
        words = [UInt64](repeating: 0, count: Self.wordCount(size))
    }

    /// Bits of the last word beyond `size` are cleared. - Precondition: as many words as `size` needs.
    init(size: Int, words: [UInt64]) {
        precondition(words.count == Self.wordCount(size), "as many words as bits need")
        (self.size, self.words) = (size, words)
        clearTail()
    }

    init(size: Int, members: some Sequence<Int>) {
        self.init(size: size)
        for member in members { self[member] = true }
    }

    static func full(size: Int) -> Bitmap {
        Bitmap(size: size, words: [UInt64](repeating: .max, count: wordCount(size)))
    }

    static func wordCount(_ size: Int) -> Int { (size + 63) / 64 }

    private mutating func clearTail() {
        let used = size % 64
        if used != 0 { words[words.count - 1] &= (1 << UInt64(used)) - 1 }
    }

    /// - Precondition: within `size`.
    subscript(member: Int) -> Bool {
        get {
            precondition(member >= 0 && member < size, "a member has a row")
            return words[member >> 6] >> UInt64(member & 63) & 1 == 1
        }
        set {
            precondition(member >= 0 && member < size, "a member has a row")
            let bit: UInt64 = 1 << UInt64(member & 63)
            if newValue { words[member >> 6] |= bit } else { words[member >> 6] &= ~bit }
        }
    }

    /// New rows are not members. - Precondition: it does not shrink.
    mutating func grow(to size: Int) {
        precondition(size >= self.size, "rows are never taken away")
        self.size = size
        words.append(contentsOf: repeatElement(0, count: Self.wordCount(size) - words.count))
    }

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    // MARK: Combining in place

    mutating func formIntersection(_ other: Bitmap) {
        combine(other) { $0 & $1 }
    }

    mutating func formUnion(_ other: Bitmap) {
        combine(other) { $0 | $1 }
    }

    /// Takes away the other's members.
    mutating func subtract(_ other: Bitmap) {
        combine(other) { $0 & ~$1 }
    }

    mutating func formSymmetricDifference(_ other: Bitmap) {
        combine(other) { $0 ^ $1 }
    }

    func intersection(_ other: Bitmap) -> Bitmap {
        var copy = self
        copy.formIntersection(other)
        return copy
    }

    func union(_ other: Bitmap) -> Bitmap {
        var copy = self
        copy.formUnion(other)
        return copy
    }

    func subtracting(_ other: Bitmap) -> Bitmap {
        var copy = self
        copy.subtract(other)
        return copy
    }

    @inline(__always)
    private mutating func combine(_ other: Bitmap, _ operation: (UInt64, UInt64) -> UInt64) {
        precondition(size == other.size, "sets of the same population")
        words.withUnsafeMutableBufferPointer { own in
            other.words.withUnsafeBufferPointer { theirs in
                for index in 0..<own.count { own[index] = operation(own[index], theirs[index]) }
            }
        }
    }

    // MARK: Counting

    var count: Int {
        words.withUnsafeBufferPointer { words in
            var total = 0
            for word in words { total &+= word.nonzeroBitCount }
            return total
        }
    }

    func intersectionCount(_ other: Bitmap) -> Int {
        precondition(size == other.size, "sets of the same population")
        return words.withUnsafeBufferPointer { own in
            other.words.withUnsafeBufferPointer { theirs in
                var total = 0
                for index in 0..<own.count { total &+= (own[index] & theirs[index]).nonzeroBitCount }
                return total
            }
        }
    }

    /// Whether at least `limit` people are in exactly one of the two sets, those of `ignored` left out. Stops as soon as it knows.
    func differs(from other: Bitmap, byAtLeast limit: Int, ignoring ignored: Bitmap? = nil) -> Bool {
        precondition(size == other.size && (ignored == nil || ignored?.size == size), "sets of the same population")
        let block = 512
        var total = 0
        var start = 0
        while total < limit, start < words.count {
            let end = min(start + block, words.count)
            total += words.withUnsafeBufferPointer { own in
                other.words.withUnsafeBufferPointer { theirs in
                    var found = 0
                    if let ignored {
                        ignored.words.withUnsafeBufferPointer { skipped in
                            for index in start..<end { found &+= ((own[index] ^ theirs[index]) & ~skipped[index]).nonzeroBitCount }
                        }
                    } else {
                        for index in start..<end { found &+= (own[index] ^ theirs[index]).nonzeroBitCount }
                    }
                    return found
                }
            }
            start = end
        }
        return total >= limit
    }

    // MARK: Members

    /// Calls `body` with each member in ascending order.
    @inline(__always)
    func forEach(_ body: (Int) -> Void) {
        words.withUnsafeBufferPointer { words in
            for index in 0..<words.count {
                var word = words[index]
                while word != 0 {
                    body(index &<< 6 &+ word.trailingZeroBitCount)
                    word &= word &- 1
                }
            }
        }
    }

    /// Members of a stretch, less its first row. - Precondition: it begins with a word.
    func forEach(from first: Int, count: Int, _ body: (Int) -> Void) {
        precondition(first.isMultiple(of: 64), "a stretch begins with a word")
        let end = min(words.count, (first + max(0, count) + 63) / 64)
        words.withUnsafeBufferPointer { words in
            for index in first / 64..<max(first / 64, end) {
                var word = words[index]
                while word != 0 {
                    let row = index &<< 6 &+ word.trailingZeroBitCount &- first
                    if row < count { body(row) }
                    word &= word &- 1
                }
            }
        }
    }

    /// Ascending. For small sets and tests.
    var members: [Int] {
        var found: [Int] = []
        forEach { found.append($0) }
        return found
    }

    /// Replaces a stretch of words. Bits beyond `size` are cleared.
    mutating func replaceWords(from start: Int, with chunk: [UInt64]) {
        words.replaceSubrange(start..<start + chunk.count, with: chunk)
        clearTail()
    }
}
