// CAP 1.2: what is sent in that form, and which answers in it count.

import Contracts
import Documents
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("CAP documents")
struct CAPDocumentTests {
    /// The texts of all leaves, in order.
    private final class Leaves: XMLHandler {
        private(set) var found: [(name: String, text: String)] = []
        private(set) var order: [String] = []

        func opened(_ tag: XMLTag) { order.append(tag.name) }
        func closed(_ name: String, text: String) { found.append((name, text)) }
        func texts(_ name: String) -> [String] { found.filter { $0.name == name }.map(\.text) }
    }

    private func message(_ kind: DispatchMessage.Kind, position: Bool = true) throws -> OutboxMessage {
        var facts = DispatchMessageTests.facts(kind: kind, position: position)
        facts.code = "7K3M9Q"
        return OutboxMessage(
            id: facts.id, kind: kind, body: try DispatchMessage(facts, under: DispatchMessageTests.letterhead).encoded(),
            createdAt: facts.sent)
    }

    @Test("An alert and its cancel are, byte for byte, the golden ones", arguments: [DispatchMessage.Kind.alert, .cancel])
    func golden(kind: DispatchMessage.Kind) throws {
        let earlier = kind == .alert ? [] : [try message(.alert)]
        let bytes = try CAPDocument.render(message(kind), earlier: earlier, to: "milan")
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden/cap-1-\(kind.rawValue).xml")
        // Written once where it is absent, then only compared.
        guard let golden = FileManager.default.contents(atPath: file.path) else {
            try Data(bytes).write(to: file)
            Issue.record("\(file.lastPathComponent) was absent and has been written: check it in")
            return
        }
        #expect(String(decoding: golden, as: UTF8.self) == String(decoding: bytes, as: UTF8.self))
    }

    @Test("SOS-16, SOS-17: a CAP alert has everything that the standard demands, times as it wants them, and the place as a circle")
    func alert() throws {
        let leaves = Leaves()
        try XMLReading.read(CAPDocument.render(message(.alert), earlier: [], to: "milan"), into: leaves)
        #expect(leaves.texts("identifier") == ["\(DispatchMessageTests.emergency)-0"])
        #expect(leaves.texts("sent") == ["2026-01-10T00:00:05+00:00"])
        #expect(leaves.texts("status") == ["Actual"] && leaves.texts("msgType") == ["Alert"] && leaves.texts("scope") == ["Private"])
        #expect(leaves.texts("addresses") == ["milan"] && leaves.texts("incidents") == ["\(DispatchMessageTests.emergency)"])
        #expect(leaves.texts("category") == ["Health"] && leaves.texts("responseType") == ["Assess"])
        #expect(leaves.texts("urgency") == ["Immediate"] && leaves.texts("certainty") == ["Observed"])
        #expect(leaves.texts("circle") == ["45.5,9.375 0.012"])
        #expect(leaves.texts("references").isEmpty)
        #expect(leaves.texts("identifier").allSatisfy { !$0.contains { " ,<&".contains($0) } })
    }

    @Test("SOS-20: without a place the area says so, with the home address where the profile has one, and draws no circle")
    func noPlace() throws {
        var facts = DispatchMessageTests.facts(position: false)
        facts.subscriber.card = EmergencyCard(
            name: "Ada Rossi", telephone: "+393331234567", language: "it", birthYear: 1980, sex: nil,
            address: "Via Roma 1 & 2, Milano", medicalNotes: nil)
        let body = try DispatchMessage(facts, under: DispatchMessageTests.letterhead).encoded()
        let leaves = Leaves()
        try XMLReading.read(
            CAPDocument.render(
                OutboxMessage(id: facts.id, kind: .alert, body: body, createdAt: facts.sent), earlier: [], to: "milan"), into: leaves)
        #expect(leaves.texts("areaDesc") == ["No position is known. Home address from the profile: Via Roma 1 & 2, Milano"])
        #expect(leaves.texts("circle").isEmpty && leaves.texts("contact") == ["+393331234567"])
    }

    @Test("A cancel refers to the alert by sender, identifier and time")
    func cancel() throws {
        let leaves = Leaves()
        try XMLReading.read(CAPDocument.render(message(.cancel), earlier: [message(.alert)], to: "milan"), into: leaves)
        #expect(leaves.texts("references") == ["sos@localhost,\(DispatchMessageTests.emergency)-0,2026-01-10T00:00:05+00:00"])
        #expect(leaves.texts("msgType") == ["Cancel"] && leaves.texts("urgency") == ["Past"])
    }

    private func answer(_ kind: String, references: String, note: String = "", identifier: String = "ack-1") -> [UInt8] {
        Array(
            """
            <?xml version="1.0" encoding="UTF-8"?>
            <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>\(identifier)</identifier><sender>desk@example.org</sender>
            <sent>2026-01-10T00:00:06+00:00</sent><status>Actual</status><msgType>\(kind)</msgType><scope>Private</scope>
            <addresses>trackme</addresses>\(note.isEmpty ? "" : "<note>\(note)</note>")<references>\(references)</references></alert>
            """.utf8)
    }

    @Test("A CAP Ack accepts and a CAP Error rejects with its note")
    func answers() {
        let accepted = CAPDocument.acknowledgement(answer("Ack", references: "sos@localhost,emg_x-0,2026-01-10T00:00:05+00:00"))
        #expect(accepted == Acknowledgement(messageId: "emg_x-0", result: .accepted, ackId: "ack-1", reason: nil))
        let rejected = CAPDocument.acknowledgement(answer("Error", references: "s,emg_x-0,t", note: "not our area"))
        #expect(rejected == Acknowledgement(messageId: "emg_x-0", result: .rejected, ackId: "ack-1", reason: "not our area"))
        let unexplained = CAPDocument.acknowledgement(answer("Error", references: "s,emg_x-0,t"))
        #expect(unexplained?.result == .rejected, "SOS-39: it was none, and nobody else was called")
    }

    @Test("Other documents, entities and half documents are no acknowledgement")
    func noAnswers() {
        let good = String(decoding: answer("Ack", references: "s,emg_x-0,t"), as: UTF8.self)
        for text in [
            "", "<", good.dropLast(8) + "", good.replacing("cap:1.2", with: "cap:9.9"), good.replacing("Ack<", with: "Alert<"),
            good.replacing("s,emg_x-0,t", with: "emg_x-0"), good.replacing("ack-1", with: "with space"),
            good.replacing("<alert ", with: "<!DOCTYPE alert [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><alert ").replacing(
                "ack-1", with: "&e;"),
        ] {
            #expect(CAPDocument.acknowledgement(Array(text.utf8)) == nil)
        }
    }
}
