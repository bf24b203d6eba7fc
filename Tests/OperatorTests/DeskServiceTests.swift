// The desk with real signatures and a real log.

import Contracts
import Foundation
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import Operator

@Suite("DeskService")
struct DeskServiceTests {
    private let secret = WebhookSecret.random()
    private let suiteKey: SigningKey

    init() throws {
        suiteKey = try SigningKey.random()
    }

    private let body = Array(
        #"{"schema":"dispatch/1","msgType":"alert","trigger":{"threshold":{"metric":"heart-rate","value":171.28125,"unit":"/min"}}}"#.utf8)

    private func withDesk(
        _ mode: DeskMode, callBack: @escaping @Sendable (String, DeskResponse) async -> Void = { _, _ in },
        _ test: (DeskService, URL) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let file = folder.appendingPathComponent("ledger.jsonl")
            let desk = DeskService(
                mode: mode, keys: DeskKeys(secret: secret, suiteKey: suiteKey.publicKey), log: try DeskLog(file), show: { _ in },
                callBack: callBack)
            try await test(desk, file)
        }
    }

    private func message(
        _ id: String = "emg_1-0", key: SigningKey? = nil, secret: WebhookSecret? = nil, body: [UInt8]? = nil
    ) throws -> DeskMessage {
        let signature = try WebhookSignature.sign(
            id: id, at: .now, body: self.body, secrets: [secret ?? self.secret], keys: [key ?? suiteKey])
        return DeskMessage(id: id, timestamp: signature.timestamp, signatures: signature.signatures, body: body ?? self.body)
    }

    @Test("a genuine message is acknowledged under the desk's signature, a repeat as duplicate, and both are in the log")
    func accepts() async throws {
        try await withDesk(.accept) { desk, file in
            let first = try await desk.receive(message())
            let second = try await desk.receive(message())

            for (response, result) in [(first, AcknowledgementResult.accepted), (second, .duplicate)] {
                #expect(response.status == 200)
                let signature = try #require(response.signature)
                try signature.verify(body: response.body, secrets: [secret], now: .now)
                let acknowledgement = try JSONDecoder().decode(Acknowledgement.self, from: Data(response.body)).ack
                #expect(acknowledgement.messageId == "emg_1-0" && acknowledgement.result == result && acknowledgement.ackId == signature.id)
            }
            let entries = try DeskLog.read(file)
            #expect(entries.map(\.answer) == ["accepted", "duplicate"] && entries.map(\.repeated) == [0, 1])
            #expect(entries.allSatisfy { $0.verified && $0.v1 == true && $0.v1a == true && $0.kind == "alert" })
            #expect(entries[0].sha256 == Hex.encode(Digest.sha256(body)))
        }
    }

    @Test("a forged, changed or unsigned message is refused and written down")
    func refusesForgeries() async throws {
        try await withDesk(.accept) { desk, file in
            var unsigned = try message()
            unsigned.signatures = ""
            let forgeries = [
                try message(key: SigningKey.random()), try message(secret: .random()), try message(body: body + [0x20]), unsigned,
                DeskMessage(id: "", timestamp: "", signatures: "", body: []),
            ]
            for forgery in forgeries {
                let status = try await desk.receive(forgery).status
                #expect(status == 401)
            }

            let entries = try DeskLog.read(file)
            #expect(entries.count == 5 && entries.allSatisfy { !$0.verified && $0.answer == "401" })
        }
    }

    @Test("the log holds neither vital signs nor places")
    func logIsDiscreet() async throws {
        try await withDesk(.accept) { desk, file in
            _ = try await desk.receive(message())

            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(!text.contains("171.28125") && !text.contains("heart-rate"))
        }
    }

    @Test("a message came again with other bytes, and nothing said what was different: the log names the members, without what they say")
    func namesDifferences() async throws {
        try await withDesk(.accept) { desk, file in
            let other = Array(String(decoding: body, as: UTF8.self).replacing("171.28125", with: "172.5").utf8)
            for bytes in [body, body, other, Array("<alert/>".utf8)] {
                let signature = try WebhookSignature.sign(id: "emg_1-0", at: .now, body: bytes, secrets: [secret], keys: [suiteKey])
                _ = try await desk.receive(
                    DeskMessage(id: "emg_1-0", timestamp: signature.timestamp, signatures: signature.signatures, body: bytes))
            }
            let entries = try DeskLog.read(file)
            #expect(entries.map(\.differs) == [nil, nil, ["trigger"], ["msgType", "schema", MessageMembers.whole, "trigger"]])
            #expect(try !String(contentsOf: file, encoding: .utf8).contains("172.5"))
        }
    }

    @Test("a lying desk's acknowledgement does not verify")
    func lies() async throws {
        try await withDesk(.lie) { desk, _ in
            let bare = try await desk.receive(message())
            #expect(bare.status == 200 && bare.body.isEmpty)
            let forged = try await desk.receive(message())
            let signature = try #require(forged.signature)
            #expect(throws: SealingError.self) { try signature.verify(body: forged.body, secrets: [secret], now: .now) }
        }
    }

    @Test("a delayed acknowledgement follows by call-back, once")
    func delays() async throws {
        let (calls, called) = AsyncStream<String>.makeStream()
        try await withDesk(.delay(.milliseconds(1)), callBack: { id, _ in called.yield(id) }) { desk, _ in
            for _ in 0..<2 {
                let status = try await desk.receive(message()).status
                #expect(status == 202)
            }
            var iterator = calls.makeAsyncIterator()
            #expect(await iterator.next() == "emg_1-0")
        }
    }

    @Test("a line of the log that a crash tore is skipped")
    func tornLog() async throws {
        try await withDesk(.accept) { desk, file in
            _ = try await desk.receive(message())
            let bytes = try Data(contentsOf: file)
            try (bytes + bytes.prefix(40)).write(to: file)

            #expect(try DeskLog.read(file).count == 1)
        }
    }
}
