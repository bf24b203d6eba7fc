// Texts that come in: from Kannel or the signed gateway, to the dispatcher.

import Bus
import Contracts
import Foundation
import Outbound
import Sealing
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Notifier

@Suite("Texts that come in")
struct InboundStories {
    private static let sender = HTTPSender.anywhere()

    @Test("A text is handed to the dispatcher with its number as E.164, and what it meant is texted back; strangers are not heard")
    func kannel() async throws {
        try await Stage.playStarted { stage, notifier in
            let dispatcher = try stage.runtime(.sosDispatcher)
            let asked = Mutex<[AcknowledgeByCode]>([])
            var methods = Methods()
            methods.on(AcknowledgeByCode.self) { request, _ in
                asked.withLock { $0.append(request) }
                if request.text.hasPrefix("perhaps") { return AcknowledgeByCode.Reply(result: "not-understood") }
                return AcknowledgeByCode.Reply(result: request.text.contains("7K3M9Q") ? "accepted" : nil)
            }
            try await dispatcher.answer(methods)
            let keys = KeyFiles(folder: stage.folder.appendingPathComponent("keys"))
            let token = try keys.readSecret(keys.file("inbound.secret", of: .notifier))
            func come(_ query: String) async throws -> (status: Int, text: String) {
                let answer = try await Self.sender.send(
                    OutboundRequest(url: "http://127.0.0.1:\(notifier.port)/notify/v1/inbound/sms?\(query)"))
                return (answer.status, String(decoding: answer.body, as: UTF8.self))
            }
            #expect(try await come("token=\(token)&from=%2B39021234567&text=OK+7K3M9Q") == (200, "TrackMe: accepted"))
            #expect(try await come("token=\(token)&from=0039021234567&text=hello") == (200, ""))
            #expect(try await come("token=\(token)&from=39021234567&text=") == (200, ""))
            #expect(try await come("token=\(token)&from=TrackMe&text=OK+7K3M9Q") == (200, ""), "no number, nobody")
            #expect(asked.withLock { $0.map(\.number) } == ["+39021234567", "+39021234567", "+39021234567"])
            let unclear = try await come("token=\(token)&from=%2B39021234567&text=perhaps+7K3M9Q")
            #expect(
                unclear == (200, "TrackMe: not understood, nothing is accepted. Text OK and the code, or NO and the code."),
                "whoever meant to accept must not believe that it did")
            #expect(try await come("token=\(token.reversed().map(String.init).joined())x&from=1&text=a").status >= 400)
            #expect(try await come("token=\(String(repeating: "0", count: 64))&from=%2B39021234567&text=OK").status == 404)

            let secret = try WebhookSecret(keys.readSecret(keys.file("gateway.secret", of: .notifier)))
            func post(_ body: String, _ secret: WebhookSecret) async throws -> Int {
                let bytes = Array(body.utf8)
                let signature = try WebhookSignature.sign(id: "in-1", at: .now, body: bytes, secrets: [secret])
                var request = OutboundRequest.post(
                    "http://127.0.0.1:\(notifier.port)/notify/v1/inbound/sms", bytes, contentType: "application/json")
                request.headers += [
                    (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
                    (WebhookSignature.signatureHeader, signature.signatures),
                ]
                return try await Self.sender.send(request).status
            }
            let body = #"{"from":"+39021234567","text":"NO 7K3M9Q"}"#
            #expect(try await post(body, .random()) == 401)
            #expect(try await post(body, secret) == 204)
            #expect(asked.withLock { $0.last?.text } == "NO 7K3M9Q")
            await dispatcher.bus.shutdown()
        }
    }

    @Test("SOS-28: while the first dispatcher is down, the second is told; what neither knows, the provider is to bring again")
    func deputy() async throws {
        try await Stage.playStarted { stage, notifier in
            let deputy = try stage.runtime(.sosDeputy)
            let asked = Mutex<[String]>([])
            var methods = Methods()
            methods.on(AcknowledgeByCode.self) { request, _ in
                asked.withLock { $0.append(request.text) }
                return AcknowledgeByCode.Reply(result: request.text.contains("7K3M9Q") ? "accepted" : nil)
            }
            try await deputy.answer(methods)
            let keys = KeyFiles(folder: stage.folder.appendingPathComponent("keys"))
            let token = try keys.readSecret(keys.file("inbound.secret", of: .notifier))
            func come(_ text: String) async throws -> (status: Int, text: String) {
                let answer = try await Self.sender.send(
                    OutboundRequest(
                        url: "http://127.0.0.1:\(notifier.port)/notify/v1/inbound/sms?token=\(token)&from=%2B39021234567&text=\(text)"))
                return (answer.status, String(decoding: answer.body, as: UTF8.self))
            }
            #expect(try await come("OK+7K3M9Q") == (200, "TrackMe: accepted"))
            #expect(try await come("hello").status == 503)
            #expect(asked.withLock { Set($0) } == ["OK+7K3M9Q", "hello"])
        }
    }
}
