// One signed dispatch as it goes over the wire, kept for programs in other languages to check (Tests/Interop).

import Contracts
import Foundation
import Sealing
import Testing

@testable import SOSDispatcher

@Suite("Signed dispatch")
struct SignedDispatchTests {
    private struct Signed: Codable, Equatable {
        var secret: String
        var publicKey: String
        var id: String
        var timestamp: String
        var signatures: String
    }

    @Test("The signatures of the golden alert are the golden ones, so that the format never changes unseen")
    func golden() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../Golden")
        let body = try Data(contentsOf: folder.appendingPathComponent("dispatch-1-alert.json"))
        let message = try JSONDecoder().decode(DispatchMessage.self, from: body)
        let secret = try WebhookSecret("whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString())
        let key = try SigningKey(seed: (32..<64).map { UInt8($0) })
        let sent = try #require(Timestamp(rfc3339: message.sent))
        let signature = try WebhookSignature.sign(id: message.messageId, at: sent, body: body, secrets: [secret], keys: [key])
        let signed = Signed(
            secret: secret.text, publicKey: key.publicKey.webhookText, id: signature.id, timestamp: signature.timestamp,
            signatures: signature.signatures)
        let file = folder.appendingPathComponent("dispatch-1-signed.json")
        guard let golden = FileManager.default.contents(atPath: file.path) else {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            try encoder.encode(signed).write(to: file)
            Issue.record("\(file.lastPathComponent) was absent and has been written: check it in")
            return
        }
        #expect(try JSONDecoder().decode(Signed.self, from: golden) == signed)
    }
}
