// What is sealed opens under its key and place, and nowhere else.

import Contracts
import Testing

@testable import Sealing

@Suite("Seals")
struct SealTests {
    private let key = SymmetricKey.random()
    private let context = Array("chunk|per_1".utf8)

    @Test("a message of any length comes back under its key and context", arguments: [0, 1, 15, 16, 17, 200, 70_000])
    func roundTrip(length: Int) throws {
        let plain = Random.bytes(length)
        let sealed = try Seal.seal(plain, key: key, context: context)
        #expect(sealed.count == length + Seal.overhead)
        #expect(sealed[0] == Seal.version)
        #expect(try Seal.open(sealed, key: key, context: context) == plain)
        #expect(try Seal.open(sealed[...], key: key, context: context[...]) == plain)
        let bare = try Seal.seal(plain, key: key, context: [])
        #expect(try Seal.open(bare, key: key, context: []) == plain)
    }

    @Test("NFR-11: the same message is sealed differently each time, and none of it is readable")
    func nonces() throws {
        let plain = Array("45.4642137,73.28125".utf8)
        let seals = try (0..<1000).map { _ in try Seal.seal(plain, key: key, context: context) }
        #expect(Set(seals.map { Array($0[1..<13]) }).count == 1000)
        #expect(seals.allSatisfy { !$0.contains(subsequence: plain) })
    }

    @Test("a change of any one byte, and any cut or addition, is refused")
    func tampering() throws {
        let sealed = try Seal.seal(Array("a heart rate of 192".utf8), key: key, context: context)
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << bit
                #expect(throws: SealingError.cannotOpen) { try Seal.open(changed, key: key, context: context) }
            }
        }
        for length in 0..<sealed.count {
            #expect(throws: SealingError.cannotOpen) { try Seal.open(sealed.prefix(length), key: key, context: context) }
        }
        #expect(throws: SealingError.cannotOpen) { try Seal.open(sealed + [0], key: key, context: context) }
    }

    @Test("another key or context is refused")
    func elsewhere() throws {
        let sealed = try Seal.seal([1, 2, 3], key: key, context: context)
        #expect(throws: SealingError.cannotOpen) { try Seal.open(sealed, key: .random(), context: context) }
        for other in [[], Array("chunk|per_2".utf8), context + [0], context.dropLast()] {
            #expect(throws: SealingError.cannotOpen) { try Seal.open(sealed, key: key, context: other) }
        }
    }

    @Test("opens what another implementation of AES-256-GCM has sealed (NIST GCM test case 16)")
    func knownAnswer() throws {
        let key = try SymmetricKey(bytes: hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let plain = hex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
        let cipher = hex(
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662")
        let sealed = [1] + hex("cafebabefacedbaddecaf888") + cipher + hex("76fc6ece0f4e1768cddf8853bb2d551b")
        let context = hex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        #expect(try Seal.open(sealed, key: key, context: context) == plain)
    }

    @Test("many tasks seal and open at once")
    func concurrent() async throws {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask { [key] in
                    for round in 0..<200 {
                        let (plain, context) = ([UInt8](repeating: UInt8(number), count: round), [UInt8(number)])
                        guard try Seal.open(Seal.seal(plain, key: key, context: context), key: key, context: context) == plain else {
                            return false
                        }
                    }
                    return true
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

extension [UInt8] {
    func contains(subsequence: [UInt8]) -> Bool {
        guard count >= subsequence.count else { return false }
        return (0...(count - subsequence.count)).contains { self[$0..<($0 + subsequence.count)].elementsEqual(subsequence) }
    }
}

/// The bytes of a test vector.
func hex(_ text: String) -> [UInt8] {
    guard let bytes = Hex.decode(text) else { preconditionFailure("a test vector is hexadecimal") }
    return bytes
}
