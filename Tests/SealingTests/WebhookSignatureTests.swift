// Signatures that any library of Standard Webhooks verifies, and refusals of all others.

import Contracts
import Testing

@testable import Sealing

@Suite("Webhook signatures")
struct WebhookSignatureTests {
    private let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private let at = Timestamp(milliseconds: 1_614_265_330_000)
    private let body = Array(#"{"test": 2432232314}"#.utf8)

    private func secret() throws -> WebhookSecret {
        try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    }

    @Test("the standard's published example is signed as published")
    func published() throws {
        let signed = try WebhookSignature.sign(id: id, at: at, body: body, secrets: [secret()])
        #expect(signed.signatures == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        #expect(signed.timestamp == "1614265330")
        #expect(signed.id == id)
        try signed.verify(body: body, secrets: [secret()], now: at)
    }

    @Test("both kinds of signature are present and each verifies by itself")
    func bothKinds() throws {
        let key = try SigningKey.random()
        let signed = try WebhookSignature.sign(
            id: "emg_1.0", at: at + .milliseconds(999), body: body, secrets: [.random(), secret()], keys: [key])
        #expect(signed.signatures.split(separator: " ").map { $0.prefix(while: { $0 != "," }) } == ["v1", "v1", "v1a"])
        #expect(signed.timestamp == "1614265330")
        try signed.verify(body: body, secrets: [secret()], now: at)
        try signed.verify(body: body, keys: [key.publicKey], now: at)
        #expect(throws: SealingError.wrongSignature) { try signed.verify(body: body, now: at) }
        #expect(throws: SealingError.wrongSignature) {
            try signed.verify(body: body, secrets: [.random()], keys: [SigningKey.random().publicKey], now: at)
        }
    }

    @Test("another body, id or time is refused")
    func changed() throws {
        let key = try SigningKey.random()
        let signed = try WebhookSignature.sign(id: id, at: at, body: body, secrets: [secret()], keys: [key])
        func expectRefusal(_ signature: WebhookSignature, body: [UInt8]) {
            #expect(throws: SealingError.wrongSignature) {
                try signature.verify(body: body, secrets: [secret()], keys: [key.publicKey], now: at)
            }
        }
        expectRefusal(signed, body: body + [32])
        expectRefusal(WebhookSignature(id: id + "a", timestamp: signed.timestamp, signatures: signed.signatures), body: body)
        expectRefusal(WebhookSignature(id: id, timestamp: "1614265331", signatures: signed.signatures), body: body)
    }

    @Test("five minutes early or late are taken, a second more is not")
    func tolerance() throws {
        let signed = try WebhookSignature.sign(id: id, at: at, body: body, secrets: [secret()])
        for offset in [-300, 300] { try signed.verify(body: body, secrets: [secret()], now: at + .seconds(offset)) }
        for offset in [-301, 301] {
            #expect(throws: SealingError.staleSignature) {
                try signed.verify(body: body, secrets: [secret()], now: at + .seconds(offset))
            }
        }
    }

    @Test("signatures of unknown versions and unreadable ones are passed over")
    func unknown() throws {
        let signed = try WebhookSignature.sign(id: id, at: at, body: body, secrets: [secret()])
        func with(_ signatures: String) -> WebhookSignature {
            WebhookSignature(id: id, timestamp: signed.timestamp, signatures: signatures)
        }
        try with("v2,abc= v1a v1,? ,, \(signed.signatures)").verify(body: body, secrets: [secret()], now: at)
        let value = signed.signatures.dropFirst(3)
        for signatures in ["", " ", "v1", "v1," + value.dropLast(), "v1a," + value, "v2," + value, String(value), "V1," + value] {
            #expect(throws: SealingError.wrongSignature) {
                try with(String(signatures)).verify(body: body, secrets: [secret()], keys: [SigningKey.random().publicKey], now: at)
            }
        }
    }

    @Test(
        "headers that cannot be read are refused",
        arguments: [
            ("", "1614265330"), ("a b", "1614265330"), ("ok", ""), ("ok", "-5"), ("ok", "+1614265330"), ("ok", "1614265330.0"),
            ("ok", "01614265330"), ("ok", "9223372036854775807"), ("ok", "99999999999999999999"), ("é", "1614265330"),
        ])
    func unreadable(id: String, timestamp: String) {
        #expect(throws: SealingError.badSignatureHeader) {
            try WebhookSignature(id: id, timestamp: timestamp, signatures: "v1,AAAA").verify(body: [], now: at)
        }
    }

    @Test("an id that is no header value is not signed")
    func badID() {
        #expect(throws: SealingError.badSignatureHeader) { try WebhookSignature.sign(id: "a\nb", at: at, body: [], secrets: []) }
    }

    @Test("the standard's example keys are read, and keys come back from their text")
    func keys() throws {
        let private64 = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
        let key = try SigningKey(webhookText: private64)
        #expect(key.publicKey.webhookText == "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
        #expect(try key.webhookText() == private64)
        #expect(try VerifyingKey(webhookText: key.publicKey.webhookText) == key.publicKey)
        let seedAlone = try SigningKey(webhookText: "whsk_" + Base64.encode(key.seed()))
        #expect(seedAlone.publicKey == key.publicKey)
        #expect(try WebhookSecret(WebhookSecret.random().text).bytes.count == 32)
    }

    @Test(
        "keys of another prefix, length or spelling are refused",
        arguments: [
            "", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsk_AAAA", "whpk_AAAA", "whsec_%%%%", "whsk_%", "whpk_%",
        ])
    func badKeys(text: String) {
        #expect(throws: SealingError.self) { try WebhookSecret(text) }
        #expect(throws: SealingError.self) { try SigningKey(webhookText: text) }
        #expect(throws: SealingError.self) { try VerifyingKey(webhookText: text) }
    }

    @Test("a private key whose second half is another's public key is refused")
    func mixedKey() throws {
        let (one, other) = (try SigningKey.random(), try SigningKey.random())
        let mixed = "whsk_" + Base64.encode(try one.seed() + other.publicKey.bytes)
        #expect(throws: SealingError.self) { try SigningKey(webhookText: mixed) }
    }
}
