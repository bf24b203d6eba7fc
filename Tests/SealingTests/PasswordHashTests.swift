// Password hashes: other people's vectors, what verifies, and what never does.

import Testing

@testable import Sealing

@Suite("Password hashes")
struct PasswordHashTests {
    private static let cheap = PasswordHash.Cost(n: 1 << 4, r: 8, p: 1)

    @Test("scrypt gives what RFC 7914 §12 prints")
    func vector() {
        let hash = PasswordHash.derive(
            Array("pleaseletmein".utf8), salt: Array("SodiumChloride".utf8), cost: PasswordHash.Cost(n: 16384, r: 8, p: 1), length: 64)
        #expect(
            hash.map { Hex.encode($0) } == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887")
        #expect(
            PasswordHash.derive([], salt: [], cost: PasswordHash.Cost(n: 16, r: 1, p: 1), length: 64).map { Hex.encode($0).prefix(16) }
                == "77d6576238657b20")
    }

    @Test("ACC-08: a hash that Python made at the usual cost verifies, and only with its password")
    func foreign() {
        let text = "$scrypt$ln=15,r=8,p=3$AAECAwQFBgcICQoLDA0ODw$ANYWwrwG9exM4wRn3uDhnkTuLMG27uj4k9dz5KrBPkg"
        #expect(PasswordHash.verify("correct horse", against: text))
        #expect(!PasswordHash.verify("correct Horse", against: text))
        #expect(!PasswordHash.needsRehash(text))
        #expect(PasswordHash.needsRehash(text, cost: Self.cheap))
    }

    @Test("ACC-08: two hashes of one password differ, say their cost, hold no password and verify")
    func salted() throws {
        let (one, other) = (try PasswordHash.make("sesame-4711", cost: Self.cheap), try PasswordHash.make("sesame-4711", cost: Self.cheap))
        #expect(one != other)
        #expect(one.hasPrefix("$scrypt$ln=4,r=8,p=1$"))
        #expect(!one.contains("sesame"))
        #expect(PasswordHash.verify("sesame-4711", against: one) && PasswordHash.verify("sesame-4711", against: other))
        #expect(PasswordHash.needsRehash(one))
    }

    @Test("a letter spelt as one character or as two is the same letter; an empty password is hashed like any other")
    func spelling() throws {
        let composed = try PasswordHash.make("caff\u{e9}", cost: Self.cheap)
        #expect(PasswordHash.verify("caffe\u{301}", against: composed))
        let empty = try PasswordHash.make("", cost: Self.cheap)
        #expect(PasswordHash.verify("", against: empty) && !PasswordHash.verify(" ", against: empty))
    }

    @Test(
        "a text that is no hash of ours never verifies, whatever it asks of memory, and is to be made anew",
        arguments: [
            "", "secret", "$scrypt$", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$aGFzaA",
            "$scrypt$ln=31,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
            "$scrypt$ln=04,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
            "$scrypt$r=8,ln=4,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
            "$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw==$AAECAwQFBgcICQoLDA0ODw", "$scrypt$ln=4,r=8,p=1$$",
            "$scrypt$ln=4,r=8,p=99$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw",
            "$scrypt$ln=4,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$AAECAwQFBgcICQoLDA0ODw$x",
        ])
    func rubbish(text: String) {
        #expect(!PasswordHash.verify("", against: text))
        #expect(PasswordHash.needsRehash(text))
    }

    @Test("a book is no password")
    func tooLong() throws {
        let book = String(repeating: "a", count: PasswordHash.longestPassword + 1)
        #expect(throws: SealingError.self) { try PasswordHash.make(book, cost: Self.cheap) }
        let page = try PasswordHash.make(String(book.dropLast()), cost: Self.cheap)
        #expect(!PasswordHash.verify(book, against: page))
        #expect(PasswordHash.verify(String(book.dropLast()), against: page))
    }
}
