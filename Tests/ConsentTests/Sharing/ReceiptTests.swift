// Signed receipts as either side can prove and read them.

import Contracts
import Foundation
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import Consent

/// A receipt as a stranger reads it: signature first, then plain JSON.
struct ReceiptReading {
    let whole: [String: Any]

    init(_ text: String, _ harness: SharingHarness) throws {
        let key = harness.parts.receipts.service.publicKey
        let keyID = harness.parts.receipts.service.keyID
        let payload = try CompactJWS.open(text, typ: "consent-receipt+jws") { $0 == keyID ? key : nil }
        whole = try JSONSerialization.jsonObject(with: Data(payload)) as? [String: Any] ?? [:]
    }

    var event: [String: Any] { whole["event"] as? [String: Any] ?? [:] }
    var processing: [String: Any] { whole["pii_processing"] as? [String: Any] ?? [:] }
    var purpose: [String: Any] { (processing["purposes"] as? [[String: Any]])?.first ?? [:] }
    var information: [[String: Any]] { purpose["pii_information"] as? [[String: Any]] ?? [] }
    var parties: [[String: Any]] { whole["party_identification"] as? [[String: Any]] ?? [] }
}

@Suite("Consent receipts")
struct ReceiptTests {
    private static let code = "RSSMRA80A01H501U"

    @Test("ACC-32: every transition leaves a signed receipt with the fields of ISO/IEC TS 27560, the same for both sides")
    func everyTransition() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let form = harness.form(Self.code, by: .random(), types: [.heartRate, .position])
            let granted = try await harness.grant(form, to: person.person)
            let grant = try #require(granted.grant)
            _ = try await harness.parts.service.withdraw(grant.id, of: person.person, types: [.position], trace: "")
            _ = try await harness.parts.service.withdraw(grant.id, of: person.person, trace: "")
            let refused = try await harness.open(harness.form(Self.code, by: .random()))
            _ = try await harness.answer(refused, of: person.person, accept: false)
            _ = try await harness.open(harness.form(Self.code, by: .random()))
            harness.world.pass(.seconds(86_400))
            try await harness.parts.expiry.expireDue()
            let ended = try await harness.grant(harness.form(Self.code, by: form.organisation), to: person.person)
            _ = try await harness.parts.service.end(EndRequest(organisation: form.organisation, request: ended.id), harness.context())

            let told = try await harness.requestFacts().compactMap(\.receipt)
            let kept = try await harness.parts.receipts.page(of: person.person, before: nil, limit: 100)
            #expect(kept.next == nil && kept.items.map(\.signed) == told.reversed())
            let events = try told.map { try ReceiptReading($0, harness).event["event_state"] as? String }
            #expect(
                events == [
                    "requested", "given", "withdrawn", "withdrawn", "requested", "refused", "requested", "expired", "requested", "given",
                    "terminated",
                ])
            #expect(Set(kept.items.map(\.receipt)).count == told.count)
        }
    }

    @Test(
        "a receipt names the parties, purpose, types with their window and whether they are allowed, and the person by no more than the request's id"
    )
    func fields() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let form = harness.form(Self.code, by: .random(), types: [.heartRate, .position])
            let granted = try await harness.grant(form, to: person.person)
            let grant = try #require(granted.grant)
            _ = try await harness.parts.service.withdraw(grant.id, of: person.person, types: [.position], trace: "")
            let text = try #require(try await harness.requestFacts().last?.receipt)
            let receipt = try ReceiptReading(text, harness)
            #expect(receipt.whole["schema_version"] as? String == "ISO/IEC TS 27560:2023")
            #expect(receipt.whole["record_id"] as? String == "\(granted.id)")
            #expect(receipt.whole["pii_principal_id"] as? String == "\(granted.id)")
            #expect(receipt.whole["language"] as? String == "it")
            #expect(receipt.purpose["purpose"] as? String == form.purpose)
            #expect(receipt.purpose["lawful_basis"] as? String == "explicit consent")
            #expect(receipt.information.map { $0["pii_type"] as? String } == ["heart-rate", "position"])
            #expect(receipt.information.map { $0["status"] as? String } == ["allowed", "not allowed"])
            #expect(receipt.information.allSatisfy { $0["from"] as? String == form.from.rfc3339 && $0["to"] as? String == form.to.rfc3339 })
            #expect(receipt.parties.map { $0["party_name"] as? String } == ["TrackMe", form.organisationName])
            #expect(receipt.event["event_time"] as? String == harness.world.now.rfc3339)
            #expect(!text.contains("\(person.person)"))
            let json = String(decoding: try JSONSerialization.data(withJSONObject: receipt.whole), as: UTF8.self)
            for secret in ["\(person.person)", Self.code, "Ada", "example.org"] { #expect(!json.contains(secret)) }
        }
    }

    @Test("a receipt that was changed, or signed for another purpose or by another key, proves nothing")
    func forgeries() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            _ = try await harness.grant(harness.form(Self.code, by: .random()), to: person.person)
            let text = try #require(try await harness.requestFacts().last?.receipt)
            let service = harness.parts.receipts.service
            let other = try SigningKey.random()
            #expect(throws: CompactJWS.Refusal.wrongSignature) {
                try CompactJWS.open(text, typ: ReceiptService.type) { _ in other.publicKey }
            }
            #expect(throws: CompactJWS.Refusal.otherType) { try CompactJWS.open(text, typ: "at+jwt") { _ in service.publicKey } }
            var parts = text.split(separator: ".").map(String.init)
            parts[1] = Base64URL.encode(Array(#"{"event":{}}"#.utf8))
            #expect(throws: CompactJWS.Refusal.wrongSignature) {
                try CompactJWS.open(parts.joined(separator: "."), typ: ReceiptService.type) { _ in service.publicKey }
            }
        }
    }

    @Test("the key that proves receipts stays the same through restarts")
    func keyStays() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            let first = try await SharingHarness.run(in: folder, world: world) { $0.parts.receipts.service.keyID }
            let second = try await SharingHarness.run(in: folder, world: world) { $0.parts.receipts.service.keyID }
            #expect(first == second)
        }
    }
}
