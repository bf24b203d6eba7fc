// SHA-256, HMAC and Ed25519 against the published vectors.

import Contracts
import Testing

@testable import Sealing

@Suite("Digests and signatures")
struct DigestTests {
    @Test("SHA-256 gives the digests of FIPS 180-4's examples")
    func sha256() {
        #expect(Hex.encode(Digest.sha256([UInt8]())) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(Hex.encode(Digest.sha256(Array("abc".utf8))) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            Hex.encode(Digest.sha256(Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)))
                == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    }

    struct MACVector: Sendable {
        let (key, message, mac): ([UInt8], [UInt8], String)
    }

    static let macs = [
        MACVector(
            key: [UInt8](repeating: 0x0b, count: 20), message: Array("Hi There".utf8),
            mac: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        MACVector(
            key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8),
            mac: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        MACVector(
            key: [UInt8](repeating: 0xaa, count: 20), message: [UInt8](repeating: 0xdd, count: 50),
            mac: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        MACVector(
            key: Array(1...25), message: [UInt8](repeating: 0xcd, count: 50),
            mac: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        MACVector(
            key: [UInt8](repeating: 0xaa, count: 131), message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            mac: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        MACVector(
            key: [UInt8](repeating: 0xaa, count: 131),
            message: Array(
                "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm."
                    .utf8),
            mac: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
    ]

    @Test("HMAC-SHA-256 gives the codes of RFC 4231", arguments: macs)
    func hmac(vector: MACVector) {
        #expect(Hex.encode(Digest.hmacSHA256(vector.message, keyBytes: vector.key)) == vector.mac)
    }

    @Test("HMAC of nothing with no key is defined")
    func emptyMAC() {
        #expect(
            Hex.encode(Digest.hmacSHA256([UInt8](), keyBytes: [UInt8]()))
                == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    @Test("comparison in constant time knows equal from unequal")
    func comparison() {
        #expect(Digest.constantTimeEqual([UInt8](), [UInt8]()))
        #expect(Digest.constantTimeEqual([1, 2] as [UInt8], [1, 2] as [UInt8]))
        #expect(!Digest.constantTimeEqual([1, 2] as [UInt8], [1, 3] as [UInt8]))
        #expect(!Digest.constantTimeEqual([1, 2] as [UInt8], [1] as [UInt8]))
    }

    struct SignatureVector: Sendable {
        let (seed, publicKey, message, signature): (String, String, String, String)
    }

    static let signatures = [
        SignatureVector(
            seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            message: "",
            signature:
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        SignatureVector(
            seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            message: "72",
            signature:
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        SignatureVector(
            seed: "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            message: "af82",
            signature:
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    @Test("Ed25519 gives the keys and signatures of RFC 8032", arguments: signatures)
    func ed25519(vector: SignatureVector) throws {
        let key = try SigningKey(seed: hex(vector.seed))
        #expect(key.publicKey.bytes == hex(vector.publicKey))
        #expect(try key.sign(hex(vector.message)) == hex(vector.signature))
        #expect(key.publicKey.verify(hex(vector.signature), of: hex(vector.message)))
        #expect(try key.seed() == hex(vector.seed))
    }

    @Test("a signature of another message, by another key, or changed in any byte is refused")
    func forgery() throws {
        let key = try SigningKey.random()
        let message = Array("dispatch".utf8)
        let signature = try key.sign(message)
        #expect(try !SigningKey.random().publicKey.verify(signature, of: message))
        #expect(!key.publicKey.verify(signature, of: message + [0]))
        #expect(!key.publicKey.verify(signature.dropLast(), of: message))
        #expect(!key.publicKey.verify([UInt8](), of: message))
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.publicKey.verify(changed, of: message))
        }
    }

    @Test("keys of other lengths are refused")
    func keyLengths() {
        #expect(throws: SealingError.self) { try SigningKey(seed: Random.bytes(31)) }
        #expect(throws: SealingError.self) { try VerifyingKey(bytes: Random.bytes(33)) }
    }
}
