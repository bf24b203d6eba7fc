// Sets of people against the standard library's, and how they are kept.

import TestKit
import Testing

@testable import Anonymiser

@Suite("Bitmap")
struct BitmapTests {
    @Test("combining, counting and listing agree with Set, at every size around a word")
    func sets() {
        let seed: UInt64 = 0xB17
        var generator = SeededGenerator(seed: seed)
        for size in [1, 63, 64, 65, 127, 128, 1000, 40_000] {
            for round in 0..<5 {
                func some() -> Set<Int> { Set((0..<size / 2 + 1).map { _ in Int.random(in: 0..<size, using: &generator) }) }
                let (a, b, c) = (some(), some(), some())
                let (one, other, third) = (
                    Bitmap(size: size, members: a), Bitmap(size: size, members: b), Bitmap(size: size, members: c)
                )
                let label: Comment = "seed \(seed), size \(size), round \(round)"
                #expect(one.members == a.sorted() && one.count == a.count, label)
                #expect(Set(one.intersection(other).members) == a.intersection(b), label)
                #expect(Set(one.union(other).members) == a.union(b), label)
                #expect(Set(one.subtracting(other).members) == a.subtracting(b), label)
                #expect(one.intersectionCount(other) == a.intersection(b).count, label)
                let difference = a.symmetricDifference(b)
                for limit in [0, 1, difference.count, difference.count + 1] {
                    #expect(one.differs(from: other, byAtLeast: limit) == (difference.count >= limit), label)
                }
                let counted = difference.subtracting(c).count
                #expect(one.differs(from: other, byAtLeast: counted, ignoring: third), label)
                #expect(!one.differs(from: other, byAtLeast: counted + 1, ignoring: third), label)
            }
        }
    }

    @Test("bits beyond the size are never set, and growing adds nobody")
    func tail() {
        var everybody = Bitmap.full(size: 70)
        #expect(everybody.count == 70 && everybody.words[1] == 63)
        everybody.grow(to: 200)
        #expect(everybody.count == 70 && everybody.words.count == 4)
        everybody[199] = true
        everybody[0] = false
        #expect(everybody.count == 70 && everybody[199] && !everybody[0])
        #expect(Bitmap(size: 0).isEmpty && Bitmap(size: 0).members == [])
    }
}

@Suite("BitmapChunk")
struct BitmapChunkTests {
    @Test("a set comes back from its bytes, in each of the three forms")
    func roundTrip() throws {
        let seed: UInt64 = 0xC4A
        var generator = SeededGenerator(seed: seed)
        for (size, people) in [(65_536 * 3 + 77, 200_000), (65_536, 4096), (65_536, 4097), (70_000, 5), (1, 1), (65_537, 0)] {
            let members = (0..<size).shuffled(using: &generator).prefix(people)
            let bitmap = Bitmap(size: size, members: members)
            let chunks = bitmap.chunks
            let read = try chunks.map { try BitmapChunk(bytes: $0.bytes) }
            #expect(read == chunks, "seed \(seed)")
            #expect(try Bitmap(size: size, chunks: read) == bitmap)
        }
        let dense = Bitmap.full(size: 65_536).chunks[0]
        #expect(dense.bytes.count == 8193 && dense.end == 65_536)
        #expect(Bitmap(size: 65_536, members: [3, 9]).chunks[0].bytes == [1, 3, 0, 9, 0])
    }

    @Test(
        "malformed bytes are refused, each with its reason",
        arguments: [
            ([], .wrongLength), ([3], .unknownForm), ([0, 0], .wrongLength), ([1], .wrongForm), ([1, 5], .wrongLength),
            ([1, 5, 0, 5, 0], .notAscending), ([1, 9, 0, 3, 0], .notAscending), ([2], .wrongLength),
            ([2] + [UInt8](repeating: 0, count: 8192), .wrongForm), ([2] + [UInt8](repeating: 255, count: 8191), .wrongLength),
            ([2] + [UInt8](repeating: 255, count: 8193), .wrongLength), ([1] + [UInt8](repeating: 0, count: 9000), .wrongLength),
            ([1] + (0..<4097).flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }, .wrongLength),
        ] as [([UInt8], BitmapChunk.Fault)])
    func malformed(bytes: [UInt8], fault: BitmapChunk.Fault) {
        #expect(throws: fault) { try BitmapChunk(bytes: bytes) }
    }

    @Test("rubbish never stops the reader, and what it takes has exactly those bytes")
    func rubbish() {
        let seed: UInt64 = 0xF022
        var generator = SeededGenerator(seed: seed)
        var taken = 0
        for _ in 0..<5000 {
            var bytes = (0..<Int.random(in: 0...9, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            if !bytes.isEmpty { bytes[0] %= 4 }
            if let chunk = try? BitmapChunk(bytes: bytes) {
                taken += 1
                #expect(chunk.bytes == bytes, "seed \(seed)")
            }
        }
        #expect(taken > 100)
    }

    @Test("chunks that do not make up the population are refused")
    func population() {
        let chunk = BitmapChunk.list([100])
        #expect(throws: BitmapChunk.Fault.wrongChunkCount) { try Bitmap(size: 65_537, chunks: [chunk]) }
        #expect(throws: BitmapChunk.Fault.outside) { try Bitmap(size: 100, chunks: [chunk]) }
        #expect(throws: Never.self) { try Bitmap(size: 101, chunks: [chunk]) }
        #expect(throws: BitmapChunk.Fault.outside) { try Bitmap(size: 60_000, chunks: Bitmap.full(size: 65_536).chunks) }
    }

    @Test("a bucket's values come back from their bytes; codes that the scale does not have are refused")
    func values() throws {
        for scale in GroupDataType.allCases.flatMap({ $0.scales(.hour) + $0.scales(.day) }) {
            let column = (0...scale.codes).map(UInt16.init)
            let bytes = ValueChunk.bytes(column[...], scale)
            #expect(try ValueChunk.read(bytes, rows: column.count, scale) == column)
            #expect(throws: ValueChunk.Fault.wrongLength) { try ValueChunk.read(bytes.dropLast(), rows: column.count, scale) }
            let outside = ValueChunk.bytes([UInt16(scale.codes + 1)], scale)
            if scale.codes != 255 { #expect(throws: ValueChunk.Fault.outside) { try ValueChunk.read(outside, rows: 1, scale) } }
        }
    }
}
