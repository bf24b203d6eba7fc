// Identifiers as text, as bytes and as JSON.

import Contracts
import Foundation
import Testing

@Suite("Identifiers")
struct IdentifierTests {
    @Test("The written form reads back", arguments: [UInt128.min, 1, 31, 32, .max, .max / 3])
    func readBack(bits: UInt128) {
        let person = PersonID(bits: bits)
        #expect(PersonID(person.description) == person)
        #expect(PersonID(bytes: person.bytes) == person)
        #expect(person.description.count == 30)
    }

    @Test("An id behind six other words of an async call does not crash the process on the way back")
    func behindOthers() async throws {
        let actor = Turnstile()
        let person = PersonID(bits: .max / 7)
        let back = await Self.carry("name", [1], (1, 2, 3), person, through: actor)
        #expect(back == person)
    }

    private actor Turnstile {
        var turns = 0
        func turn() { turns += 1 }
    }

    @inline(never)
    private static func carry(
        _ name: String, _ list: [Int], _ numbers: (Int, Int, Int), _ person: PersonID, through turnstile: Turnstile
    ) async -> PersonID {
        await turnstile.turn()
        return person
    }

    @Test("Known bits have their known form")
    func known() {
        #expect(PersonID(bits: 0).description == "per_00000000000000000000000000")
        #expect(DeviceID(bits: .max).description == "dev_7zzzzzzzzzzzzzzzzzzzzzzzzz")
        #expect(PersonID(bits: 1).bytes == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    }

    @Test(
        "A person's id is not taken for a device's, and nothing else is taken for an id",
        arguments: [
            "", "per_", "dev_00000000000000000000000000", "per-00000000000000000000000000", "per_0000000000000000000000000",
            "per_000000000000000000000000000", "per_80000000000000000000000000", "per_0000000000000000000000000u",
            "per_0000000000000000000000000i",
            "per_0000000000000000000000000A", "per_00000000000000000000000000 ", "per_0000000000000000000000000é",
        ])
    func refused(text: String) {
        #expect(PersonID(text) == nil)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([PersonID].self, from: JSONEncoder().encode([text])) }
    }

    @Test("Other lengths than 16 bytes are no identifier")
    func bytes() {
        #expect(PersonID(bytes: [UInt8](repeating: 0, count: 15)) == nil)
        #expect(PersonID(bytes: [UInt8](repeating: 0, count: 17)) == nil)
    }

    @Test("Random ones differ")
    func random() {
        #expect(Set((0..<1000).map { _ in EmergencyID.random() }).count == 1000)
    }
}
