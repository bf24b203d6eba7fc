// Fuzz target: the signature headers and keys of Standard Webhooks. Rubbish never verifies.
// decoders: Shared/Sealing/*.swift -IShared/COpenSSL -lcrypto

import Contracts

private let secret = WebhookSecret.random()
private let now = Timestamp(milliseconds: 1_800_000_000_000)

@_cdecl("fuzzWebhookSignatures")
package func fuzzWebhookSignatures(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    let signature = WebhookSignature(id: "msg_1", timestamp: "1800000000", signatures: text)
    precondition((try? signature.verify(body: [], secrets: [secret], now: now)) == nil, "rubbish verifies")
    let headers = WebhookSignature(id: text, timestamp: text, signatures: text)
    precondition((try? headers.verify(body: [], secrets: [secret], now: now)) == nil, "rubbish verifies")
    if let read = try? WebhookSecret(text) { precondition((try? WebhookSecret(read.text))?.text == read.text) }
    _ = try? SigningKey(webhookText: text)
    _ = try? VerifyingKey(webhookText: text)
    return 0
}
