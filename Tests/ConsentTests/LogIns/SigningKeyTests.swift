// Signing keys in the store, on the stream and as a key set; tokens that are not quite ours.

import Bus
import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Signing keys")
struct SigningKeyTests {
    private struct KeySet: Decodable {
        struct Key: Decodable {
            var kid: String
            var x: String
            var kty: String
            var crv: String
            var alg: String
        }
        var keys: [Key]
    }

    private func keySet(_ harness: LogInHarness) async throws -> KeySet {
        try await harness.request("GET", "/consent/v1/keys").expect(status: 200).decoded()
    }

    @Test("NFR-15: the public keys stand at one address for whoever checks tokens, under their RFC 7638 names")
    func published() async throws {
        try await LogInHarness.run { harness in
            let set = try await keySet(harness)
            #expect(set.keys.count == 1)
            let key = try #require(set.keys.first)
            #expect((key.kty, key.crv, key.alg) == ("OKP", "Ed25519", "EdDSA"))
            let bytes = try #require(Base64URL.decode(key.x))
            #expect(try SigningKeys.thumbprint(of: VerifyingKey(bytes: bytes)) == key.kid)
        }
    }

    @Test("NFR-15: RFC 8037's own key has RFC 8037's own thumbprint")
    func thumbprint() throws {
        let bytes = try #require(Base64URL.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"))
        #expect(try SigningKeys.thumbprint(of: VerifyingKey(bytes: bytes)) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
    }

    @Test("NFR-15: after a month another key signs; tokens of the old one are good until they expire; the old secret is gone")
    func rotates() async throws {
        try await LogInHarness.runWithPerson { harness in
            let first = try await keySet(harness).keys.map(\.kid)
            harness.clock.advance(.seconds(29 * 86_400 + 3600))
            try await harness.parts.keys.rotate()
            let both = try await keySet(harness).keys.map(\.kid)
            #expect(both.count == 2 && both.first == first.first, "the next one is known a day before it signs")

            func keyID(_ token: String?) throws -> String? {
                let written = try #require(token)
                let header = try #require(Base64URL.decode(written.prefix { $0 != "." }))
                return try JSONDecoder().decode([String: String].self, from: Data(header))["kid"]
            }
            harness.clock.advance(.seconds(82_800 - 300))
            let before = try await harness.logIn()
            #expect(try keyID(before.accessToken) == both[0])
            harness.clock.advance(.seconds(301))
            try await harness.parts.keys.rotate()
            let after = try await harness.logIn()
            #expect(try keyID(after.accessToken) == both[1])
            for token in [before.accessToken, after.accessToken] { #expect(try await harness.isOpen(token)) }
            let seeds = try await harness.store.read { db in try Int.fetchOne(db, sql: "SELECT count(seed) FROM signing_keys") }
            #expect(seeds == 1, "the secret half of the old one is gone")

            harness.clock.advance(.seconds(7200))
            try await harness.parts.keys.rotate()
            #expect(try await keySet(harness).keys.map(\.kid) == [both[1]])
        }
    }

    @Test("NFR-15: the same key signs after a restart, and its secret half lies sealed")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let first = try await LogInHarness.run(in: folder) { harness in
                let seed = try await harness.store.read { db in try Data.fetchOne(db, sql: "SELECT seed FROM signing_keys") }
                #expect((seed?.count ?? 0) == SigningKey.seedLength + Seal.overhead)
                return try await keySet(harness).keys.map(\.kid)
            }
            try await LogInHarness.run(in: folder) { harness in
                let second = try await keySet(harness).keys.map(\.kid)
                #expect(second == first)
            }
        }
    }

    @Test("NFR-15: the snapshot of the stream holds the keys, so that a newcomer can check tokens at once")
    func snapshot() async throws {
        try await LogInHarness.run { harness in
            let reply = try #require(try await harness.parts.snapshot(SnapshotStream(stream: StreamFamily.signingKeysStream, after: nil)))
            let states = try reply.facts.map { try JSONDecoder().decode(SigningKeyState.self, from: Data($0.payload.utf8)) }
            #expect(states.map(\.keyID) == (try await keySet(harness).keys.map(\.kid)))
        }
    }

    // MARK: Tokens that are not ours

    @Test("NFR-15, ACC-13: tokens of another key, algorithm, type, audience, issuer or time are refused")
    func strangeTokens() async throws {
        try await LogInHarness.runWithPerson { harness in
            let session = try await harness.logIn()
            let token = try #require(session.accessToken)
            let claims = try #require(harness.parts.checker.check(token))
            #expect(claims.iss == LogInHarness.origin && claims.aud == "trackme" && claims.exp - claims.iat == 600)
            #expect(claims.nbf == claims.iat && claims.jti.count >= 20 && claims.sid == session.session)

            func resigned(_ change: (inout AccessTokenClaims) -> Void) throws -> String {
                var changed = claims
                change(&changed)
                return try harness.parts.keys.sign(changed)
            }
            #expect(try await harness.isOpen(try resigned { _ in }), "signed anew it is as good")
            let minute: Int64 = 60
            let wrong: [(String, String)] = [
                ("audience", try resigned { $0.aud = "somebody-else" }), ("issuer", try resigned { $0.iss = "https://evil.example" }),
                ("expired", try resigned { ($0.iat, $0.nbf, $0.exp) = ($0.iat - 20 * minute, $0.iat - 20 * minute, $0.iat - 10 * minute) }),
                ("not yet", try resigned { ($0.iat, $0.nbf) = ($0.iat + 5 * minute, $0.iat + 5 * minute) }),
                ("for ever", try resigned { $0.exp += 1_000_000 }), ("no kind of that name", try resigned { $0.kind = .operator }),
                ("subject", try resigned { $0.sub = "somebody" }),
            ]
            for (name, text) in wrong { #expect(try await harness.isOpen(text) == false, "\(name)") }

            let parts = token.split(separator: ".").map(String.init)
            func header(_ json: String) -> String { Base64URL.encode(Array(json.utf8)) }
            let published = try await keySet(harness).keys
            let (kid, publicKey) = (published[0].kid, published[0].x)
            let stranger = try SigningKey.random()
            let payload = try #require(Base64URL.decode(parts[1]))
            let forged: [(String, String)] = [
                ("none", header("{\"alg\":\"none\",\"kid\":\"\(kid)\",\"typ\":\"at+jwt\"}") + ".\(parts[1])."),
                (
                    "HS256 with the public key",
                    try hmacSigned(header("{\"alg\":\"HS256\",\"kid\":\"\(kid)\",\"typ\":\"at+jwt\"}"), parts[1], publicKey)
                ),
                ("another key of the same name", try CompactJWS.sign(payload: payload, typ: "at+jwt", keyID: kid, with: stranger)),
                ("another key", try CompactJWS.sign(payload: payload, typ: "at+jwt", keyID: "stranger", with: stranger)),
                (
                    "a key that it brings along",
                    header("{\"alg\":\"EdDSA\",\"jwk\":{},\"kid\":\"\(kid)\",\"typ\":\"at+jwt\"}") + ".\(parts[1]).\(parts[2])"
                ),
                ("no signature", "\(parts[0]).\(parts[1])."), ("two parts", "\(parts[0]).\(parts[1])"), ("rubbish", "rubbish"),
                ("one character", "\(parts[0]).\(parts[1].dropLast())\(parts[1].last == "A" ? "B" : "A").\(parts[2])"),
            ]
            for (name, text) in forged { #expect(try await harness.isOpen(text) == false, "\(name)") }
        }
    }

    private func hmacSigned(_ header: String, _ payload: String, _ publicKey: String) throws -> String {
        let signed = "\(header).\(payload)"
        let key = try #require(Base64URL.decode(publicKey))
        return signed + "." + Base64URL.encode(Digest.hmacSHA256(Array(signed.utf8), keyBytes: key))
    }
}
