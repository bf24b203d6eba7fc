// Compact JWS: what is signed opens with its key, type and algorithm, and with nothing else.

import Testing

@testable import Sealing

@Suite("Compact JWS")
struct CompactJWSTests {
    private let key: SigningKey
    private let token: String
    private static let payload = Array(#"{"sub":"per_0"}"#.utf8)

    init() throws {
        key = try SigningKey(seed: 0..<32)
        token = try CompactJWS.sign(payload: Self.payload, typ: "at+jwt", keyID: "k1", with: key)
    }

    private func open(_ text: String, typ: String = "at+jwt") throws(CompactJWS.Refusal) -> [UInt8] {
        try CompactJWS.open(text, typ: typ) { $0 == "k1" ? key.publicKey : nil }
    }

    /// A token with another header, signed by the right key all the same.
    private func signed(header: String, payload: [UInt8] = payload) throws -> String {
        let text = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(payload)
        return text + "." + Base64URL.encode(try key.sign(Array(text.utf8)))
    }

    @Test("what was signed opens to the same bytes, and the header says EdDSA, key and type")
    func roundTrip() throws {
        #expect(try open(token) == Self.payload)
        let header = try #require(Base64URL.decode(token.prefix { $0 != "." }))
        #expect(String(decoding: header, as: UTF8.self) == #"{"alg":"EdDSA","kid":"k1","typ":"at+jwt"}"#)
        #expect(try open(try CompactJWS.sign(payload: [], typ: "at+jwt", keyID: "k1", with: key)) == [])
    }

    @Test(
        "any other algorithm is refused, `none` and HMAC with the public key included",
        arguments: [
            "none", "None", "HS256", "ES256", "RS256", "Ed25519", "eddsa", "",
        ])
    func algorithms(algorithm: String) throws {
        let header = #"{"alg":"\#(algorithm)","kid":"k1","typ":"at+jwt"}"#
        #expect(throws: CompactJWS.Refusal.otherAlgorithm) { try open(try signed(header: header)) }
        let unsigned = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Self.payload)
        #expect(throws: CompactJWS.Refusal.self) { try open(unsigned + ".") }
        let mac = Base64URL.encode(Digest.hmacSHA256(Array(unsigned.utf8), keyBytes: key.publicKey.bytes))
        #expect(throws: CompactJWS.Refusal.otherAlgorithm) { try open(unsigned + "." + mac) }
    }

    @Test("a token of another type, or of none, is refused")
    func types() throws {
        #expect(throws: CompactJWS.Refusal.otherType) { try open(token, typ: "consent-receipt+jws") }
        #expect(throws: CompactJWS.Refusal.otherType) { try open(try signed(header: #"{"alg":"EdDSA","kid":"k1"}"#)) }
    }

    @Test("an unknown key, a missing key id and one that is no plain text are refused")
    func keys() throws {
        let other = try CompactJWS.sign(payload: Self.payload, typ: "at+jwt", keyID: "k2", with: key)
        #expect(throws: CompactJWS.Refusal.unknownKey) { try open(other) }
        #expect(throws: CompactJWS.Refusal.unknownKey) { try open(try signed(header: #"{"alg":"EdDSA","typ":"at+jwt"}"#)) }
        #expect(throws: SealingError.self) { try CompactJWS.sign(payload: [], typ: "at+jwt", keyID: #"a"b"#, with: key) }
        let strange = try CompactJWS.sign(payload: Self.payload, typ: "at+jwt", keyID: "k1", with: .random())
        #expect(throws: CompactJWS.Refusal.wrongSignature) { try open(strange) }
    }

    @Test(
        "a header that brings or points to a key, or asks to be understood further, is refused",
        arguments: [
            #""jwk":{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#, #""jku":"https://evil.example/keys""#, #""x5u":"https://evil.example/x""#,
            #""x5c":["AAAA"]"#, #""crit":["exp"]"#, #""b64":false"#, #""cty":"JWT""#,
        ])
    func embeddedKeys(member: String) throws {
        let header = #"{"alg":"EdDSA","kid":"k1","typ":"at+jwt",\#(member)}"#
        #expect(throws: CompactJWS.Refusal.malformed) { try open(try signed(header: header)) }
    }

    @Test(
        "a malformed token is refused and crashes nothing",
        arguments: [
            "", ".", "..", "...", "a.b", "a.b.c", "e30.e30.e30", "e30.e30.e30.e30", "=.=.=", "e30=.e30.e30", "\u{0}.\u{0}.\u{0}",
        ])
    func malformed(text: String) {
        #expect(throws: CompactJWS.Refusal.self) { try open(text) }
    }

    @Test("changing any one character of a token makes it worthless")
    func changed() throws {
        let characters = Array(token.utf8)
        for index in characters.indices {
            var other = characters
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: CompactJWS.Refusal.self) { try open(String(decoding: other, as: UTF8.self)) }
        }
        #expect(throws: CompactJWS.Refusal.malformed) { try open(token + "=") }
        #expect(throws: CompactJWS.Refusal.malformed) { try open(token + String(repeating: "A", count: CompactJWS.longest)) }
    }
}
