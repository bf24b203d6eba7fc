// Keys: their lengths, what is derived from them, and how they are wrapped.

import Contracts
import Testing

@testable import Sealing

@Suite("Keys")
struct KeyTests {
    @Test("a key has 32 bytes and nothing else", arguments: [0, 16, 31, 33])
    func length(count: Int) {
        #expect(throws: SealingError.self) { try SymmetricKey(bytes: [UInt8](repeating: 1, count: count)) }
        #expect(throws: SealingError.self) { try KeyEncryptionKey(bytes: [UInt8](repeating: 1, count: count)) }
    }

    @Test("random keys differ, and random bytes are as many as asked for")
    func random() {
        #expect(SymmetricKey.random().bytes != SymmetricKey.random().bytes)
        #expect(Random.bytes(0) == [])
        #expect(Random.bytes(33).count == 33)
        #expect(Set((0..<100).map { _ in Random.bytes(16) }).count == 100)
    }

    @Test("keys derived for two purposes differ from each other and from their source, and are the same each time")
    func derived() throws {
        let key = try SymmetricKey(bytes: 0..<32)
        let (one, again, other) = (key.derived(for: "one"), key.derived(for: "one"), key.derived(for: "other"))
        #expect(one.bytes == again.bytes)
        #expect(Set([key.bytes, one.bytes, other.bytes]).count == 3)
    }

    @Test("CON-02: a person's key unwraps for that person alone, under the key that wrapped it")
    func wrapping() throws {
        let (wrapper, personal, person) = (KeyEncryptionKey(.random()), SymmetricKey.random(), PersonID.random())
        let wrapped = try wrapper.wrap(personal, of: person)
        #expect(try wrapper.unwrap(wrapped, of: person).bytes == personal.bytes)
        #expect(!wrapped.contains(subsequence: personal.bytes))
        #expect(throws: SealingError.cannotOpen) { try wrapper.unwrap(wrapped, of: .random()) }
        #expect(throws: SealingError.cannotOpen) { try KeyEncryptionKey(.random()).unwrap(wrapped, of: person) }
        #expect(throws: SealingError.cannotOpen) { try wrapper.unwrap([], of: person) }
        let short = try Seal.seal([1, 2], key: SymmetricKey(bytes: personal.bytes), context: [])
        #expect(throws: SealingError.cannotOpen) { try KeyEncryptionKey(personal).unwrap(short, of: person) }
    }

    @Test("look-ups of equal values are equal, and of another value, key or purpose are not")
    func lookups() {
        let key = SymmetricKey.random()
        let mail = LookupKey(key, purpose: "mail")
        #expect(mail.lookup("anna@example.org") == LookupKey(key, purpose: "mail").lookup(Array("anna@example.org".utf8)))
        #expect(mail.lookup("anna@example.org").count == LookupKey.length)
        #expect(mail.lookup("anna@example.org") != mail.lookup("Anna@example.org"))
        #expect(mail.lookup("x") != LookupKey(key, purpose: "token").lookup("x"))
        #expect(mail.lookup("x") != LookupKey(.random(), purpose: "mail").lookup("x"))
    }
}
