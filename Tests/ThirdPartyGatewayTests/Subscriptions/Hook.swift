// A third party's own server for webhooks, and its ear for server-sent events.

import Contracts
import Foundation
import HTTPKit
import Logging
import NIOCore
import Sealing
import ServiceKit
import Synchronization
import TestKit

@testable import ThirdPartyGateway

final class Hook: Sendable {
    struct Received: Sendable {
        let id: String
        let timestamp: String
        let signatures: String
        let body: [UInt8]

        var message: PlayedReceiver.Message? { try? JSONDecoder().decode(PlayedReceiver.Message.self, from: Data(body)) }

        func verify(secret: String) throws {
            try WebhookSignature(id: id, timestamp: timestamp, signatures: signatures)
                .verify(body: body, secrets: [WebhookSecret(secret)], now: .now)
        }

        func verify(key: String) throws {
            try WebhookSignature(id: id, timestamp: timestamp, signatures: signatures)
                .verify(body: body, keys: [VerifyingKey(webhookText: key)], now: .now)
        }
    }

    private final class Book: Sendable {
        let received = Mutex<[Received]>([])
        let status = Mutex(200)
        let echoes = Mutex(true)
    }

    let server: HTTPServer
    private let repository: Book

    init(_ logger: Logger) {
        let repository = Book()
        let route = Route(
            .post, "/receiver/v1/hook", access: .anyone, summary: "Takes messages",
            body: BodyShape([.init(MediaType.json, .anything)]), answers: [Answer(200, "Taken")]
        ) { exchange in
            let body = Array(try await exchange.body().readableBytesView)
            let received = Received(
                id: exchange.header("webhook-id") ?? "", timestamp: exchange.header("webhook-timestamp") ?? "",
                signatures: exchange.header("webhook-signature") ?? "", body: body)
            repository.received.withLock { $0.append(received) }
            WebhookForm.check(body)
            struct Challenge: Decodable {
                struct Content: Decodable { var challenge: String }
                var type: String
                var data: Content
            }
            if let asked = try? JSONDecoder().decode(Challenge.self, from: Data(body)), asked.type == WebhookEvent.verification.rawValue {
                return .text(repository.echoes.withLock { $0 } ? asked.data.challenge : "no")
            }
            return .empty(status: repository.status.withLock { $0 })
        }
        server = HTTPServer(
            .init(title: "Receiver", version: "1.0.0", summary: "Under test.", prefix: "receiver"), routes: [route], port: 0,
            health: Health(missing: { [] }, metrics: { "" }), authenticate: { _, _ in throw Problem.unauthorised }, logger: logger)
        self.repository = repository
    }

    var url: String {
        get async { "http://127.0.0.1:\(await server.boundPort)/receiver/v1/hook" }
    }

    var received: [Received] { repository.received.withLock { $0 } }

    func received(_ type: String) -> [Received] { received.filter { $0.message?.type == type } }

    /// Of the items in the order in which they came, whatever the subscription.
    var numbers: [Int64] {
        received("subscription.items").flatMap { $0.message?.data.batches ?? [] }.flatMap(\.items).map(\.number)
    }

    func set(status: Int = 200, echoes: Bool = true) {
        repository.status.withLock { $0 = status }
        repository.echoes.withLock { $0 = echoes }
    }
}

extension EventListener {
    /// Of the items that were heard.
    var ids: [String] { events.filter { $0.name == "item" }.compactMap(\.id) }
}
