// What a device's token tells whoever routes by it, and that nobody is let in for it.

import Contracts
import Foundation
import Sealing
import Testing

@testable import Ingest

@Suite("Device tokens")
struct DeviceTokenTests {
    private let person = PersonID.random()
    private let lookupKey = LookupKey(.random(), purpose: "tokens")
    /// As tokens were given before they had a shard.
    private static let former = "tmd_" + Base64URL.encode(Random.bytes(32))

    private func registry(_ secret: String) -> DeviceRegistry {
        let device = DeviceRow(
            number: 1, device: .random(), person: person, personNumber: 7, tokenLookup: lookupKey.lookup(secret), intervalMs: nil,
            isActive: true, kind: .wearable, origin: .enrolled, measures: MetricSet([.heartRate]), tracking: .rest,
            condition: DeviceCondition(), addedAt: Timestamp(milliseconds: 1))
        let household = Household(person: person, number: 7, isEnrolled: true, priority: .usual, devices: [device], pauses: [])
        return DeviceRegistry([household], accounts: [], lookupKey: lookupKey, startedAt: Timestamp(milliseconds: 1))
    }

    @Test("characters 5 and 6 of a token are the last two of the person's id; behind the dot are 256 random bits; nothing else is in it")
    func place() throws {
        for _ in 0..<100 {
            let (person, pattern) = (PersonID.random(), try Regex(DeviceToken.pattern))
            let text = DeviceToken.random(of: person).text
            #expect(text.wholeMatch(of: pattern) != nil && text.utf8.count == 50)
            #expect(text.dropFirst(4).prefix(2) == person.description.suffix(2))
            #expect(Base64URL.decode(text.dropFirst(7))?.count == 32)
        }
        #expect(DeviceToken.random(of: person).secret != DeviceToken.random(of: person).secret)
    }

    @Test("a token reads as it is written; whatever is no token of this form is secret as a whole")
    func reading() {
        let token = DeviceToken.random(of: person)
        let read = DeviceToken(text: token.text)
        #expect(read.secret == token.secret && read.shard == VirtualShard(of: person) && read.text == token.text)
        let others = ["", "tmd_", "tmd_.", "tmd_0.x", "tmd_uu.x", "tmd_000.x", "tmp_00.x", "a.b.c", "tmd_00", "TMD_00.x", "é.x"]
        for text in others + [Self.former] {
            let other = DeviceToken(text: text)
            #expect(other.secret == text && other.shard == nil && other.text == text)
        }
    }

    @Test("ING-20: a token that was given before shards is let in for ever, and so is the same secret with its person's shard")
    func former() {
        let registry = registry(Self.former)
        var token = DeviceToken(text: Self.former)
        token.shard = VirtualShard(of: person)
        for text in [Self.former, token.text, Self.former, token.text] { #expect(registry.device(withToken: text)?.person == person) }
    }

    @Test("ING-20: the shard lets nobody in: a right one without the secret, and the secret with any other shard, are refused each time")
    func otherShards() {
        let token = DeviceToken.random(of: person)
        let registry = registry(token.secret)
        for _ in 0..<2 {
            #expect(registry.device(withToken: token.text)?.person == person)
            for number in 0..<VirtualShard.count where VirtualShard(of: person).number != number {
                var other = token
                other.shard = VirtualShard(of: PersonID(bits: UInt128(number)))
                #expect(registry.device(withToken: other.text) == nil)
            }
            #expect(registry.device(withToken: DeviceToken.random(of: person).text) == nil)
        }
        #expect(registry.device(withToken: token.text)?.person == person)
    }
}
