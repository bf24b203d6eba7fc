// In which of 1,024 shards a person is, and which partition follows from it.

import TestKit
import Testing

@testable import Contracts

@Suite("Virtual shards")
struct VirtualShardTests {
    @Test("a shard is the last two characters of a person's id, and reads as it is written")
    func lastCharacters() throws {
        var random = SeededGenerator(seed: 10)
        for _ in 0..<10_000 {
            let person = PersonID(bits: UInt128.random(in: .min ... .max, using: &random))
            let shard = VirtualShard(of: person)
            #expect(shard.description == String(person.description.suffix(2)))
            #expect(shard.number == Int(truncatingIfNeeded: person.bits % 1024) && (0..<VirtualShard.count).contains(shard.number))
            #expect(VirtualShard(shard.description) == shard)
        }
    }

    @Test("each of the 1,024 shards has a name of its own, in the order of their numbers")
    func names() {
        let names = (0..<VirtualShard.count).map { VirtualShard(of: PersonID(bits: UInt128($0))).description }
        #expect(names == names.sorted() && Set(names).count == 1024 && names.first == "00" && names.last == "zz")
    }

    @Test("what is no shard is none", arguments: ["", "0", "000", "0u", "il", "A0", "é", "0 ", "-1", "\u{661}0"])
    func noShard(text: String) {
        #expect(VirtualShard(text) == nil)
    }

    /// Written down as they were when the partition was computed of all bits: a person who moved would lose the order of their facts.
    @Test(
        "no person has moved to another partition since partitions derive from shards",
        arguments: [
            ("per_00000000000000000000000000", "ingest.samples.00"), ("per_00000000000000000000000001", "ingest.samples.01"),
            ("per_0000000000000000000000000f", "ingest.samples.15"), ("per_0000000000000000000000000g", "ingest.samples.00"),
            ("per_0000000000000000000000000z", "ingest.samples.15"), ("per_00000000000000000000000010", "ingest.samples.00"),
            ("per_0000000000000000000000001h", "ingest.samples.01"), ("per_7zzzzzzzzzzzzzzzzzzzzzzzzz", "ingest.samples.15"),
            ("per_0123456789abcdefghjkmnpqrs", "ingest.samples.09"), ("per_6hyznqw84d2vgk3rtm5xbc7pea", "ingest.samples.10"),
        ])
    func partition(id: String, stream: String) throws {
        #expect(StreamFamily.samplesStream(of: try #require(PersonID(id))) == stream)
    }

    @Test("everybody is in the partition of before, which was the id modulo 16")
    func partitions() {
        var random = SeededGenerator(seed: 16)
        for _ in 0..<10_000 {
            let person = PersonID(bits: UInt128.random(in: .min ... .max, using: &random))
            let former = StreamFamily.samples.streams[Int(truncatingIfNeeded: person.bits % 16)]
            #expect(StreamFamily.samplesStream(of: person) == former)
        }
    }
}
