// The people behind tables: S(t, b) = E ∧ F ∧ P(day) ∧ H(t, b), and their union over a window.

/// One day or bucket: who has data in it, and, where the filters name an area, who was there on that day.
struct Presence: Sendable {
    /// H: at least one valid sample of the type.
    let hasData: Bitmap
    /// P, evaluated by day, never over the window; nil without an area.
    let inArea: Bitmap?

    init(hasData: Bitmap, inArea: Bitmap? = nil) {
        (self.hasData, self.inArea) = (hasData, inArea)
    }
}

/// E ∧ F of one type, and the days or buckets in which its members may contribute. It depends on the filters, the type and the buckets
/// alone.
struct Contributors: Sendable {
    /// E ∧ F.
    let cohort: Bitmap
    let presences: [Presence]

    /// S of one bucket.
    func members(in bucket: Int) -> Bitmap {
        var members = cohort.intersection(presences[bucket].hasData)
        if let area = presences[bucket].inArea { members.formIntersection(area) }
        return members
    }

    /// ⋃ S over all buckets: distinct people.
    var members: Bitmap {
        var words: [UInt64] = []
        words.reserveCapacity(cohort.words.count)
        visitBlocks { block in
            words.append(contentsOf: block)
            return true
        }
        return Bitmap(size: cohort.size, words: words)
    }

    var count: Int {
        var total = 0
        visitBlocks { block in
            for word in block { total &+= word.nonzeroBitCount }
            return true
        }
        return total
    }

    /// Whether there are at least `limit`; stops as soon as it knows.
    func reaches(_ limit: Int) -> Bool {
        var total = 0
        visitBlocks { block in
            for word in block { total &+= word.nonzeroBitCount }
            return total < limit
        }
        return total >= limit
    }

    /// In words; a block and its union stay in the first cache.
    private static let block = 1024

    /// Calls `body` with the union's words, block by block, until it returns false. A block without members of the cohort costs nothing
    /// more.
    private func visitBlocks(_ body: (UnsafeMutableBufferPointer<UInt64>) -> Bool) {
        let total = cohort.words.count
        precondition(presences.allSatisfy { $0.hasData.size == cohort.size && ($0.inArea?.size ?? cohort.size) == cohort.size })
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: Self.block) { buffer in
            var start = 0
            var goesOn = true
            while goesOn, start < total {
                let count = min(Self.block, total - start)
                let union = UnsafeMutableBufferPointer(rebasing: buffer[0..<count])
                union.update(repeating: 0)
                let isEmpty = cohort.words.withUnsafeBufferPointer { words in
                    var any: UInt64 = 0
                    for index in 0..<count { any |= words[start + index] }
                    return any == 0
                }
                if !isEmpty {
                    Self.add(presences, from: start, to: union)
                    cohort.words.withUnsafeBufferPointer { words in
                        for index in 0..<count { union[index] &= words[start + index] }
                    }
                }
                goesOn = body(union)
                start += count
            }
        }
    }

    /// Four at a time, so that the union is read and written less often.
    private static func add(_ presences: [Presence], from start: Int, to union: UnsafeMutableBufferPointer<UInt64>) {
        var index = 0
        while index < presences.count {
            if index + 4 <= presences.count, presences[index..<index + 4].allSatisfy({ $0.inArea == nil }) {
                presences[index].hasData.words.withUnsafeBufferPointer { one in
                    presences[index + 1].hasData.words.withUnsafeBufferPointer { two in
                        presences[index + 2].hasData.words.withUnsafeBufferPointer { three in
                            presences[index + 3].hasData.words.withUnsafeBufferPointer { four in
                                for word in 0..<union.count {
                                    union[word] |= one[start + word] | two[start + word] | three[start + word] | four[start + word]
                                }
                            }
                        }
                    }
                }
                index += 4
            } else {
                add(presences[index], from: start, to: union)
                index += 1
            }
        }
    }

    @inline(__always)
    private static func add(_ presence: Presence, from start: Int, to union: UnsafeMutableBufferPointer<UInt64>) {
        presence.hasData.words.withUnsafeBufferPointer { data in
            if let area = presence.inArea {
                area.words.withUnsafeBufferPointer { there in
                    for index in 0..<union.count { union[index] |= data[start + index] & there[start + index] }
                }
            } else {
                for index in 0..<union.count { union[index] |= data[start + index] }
            }
        }
    }
}
