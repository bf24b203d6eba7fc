// A third party's own server for webhooks, and its ear for server-sent events.

import Contracts
import Foundation
import FoundationNetworking
import HTTPKit
import Logging
import NIOCore
import Sealing
import ServiceKit
import Synchronization

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

/// Collects server-sent events until it is stopped.
final class FeedListener: NSObject, URLSessionDataDelegate {
    struct Event: Hashable {
        var id: String?
        var name: String?
        var data: String
    }

    private let bytes = Mutex<[UInt8]>([])
    private let session = Mutex<URLSession?>(nil)
    private let ended = Mutex(false)

    init(_ request: URLRequest) {
        super.init()
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        self.session.withLock { $0 = session }
        session.dataTask(with: request).resume()
    }

    func stop() {
        session.withLock { session in
            session?.invalidateAndCancel()
            session = nil
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bytes.withLock { $0.append(contentsOf: data) }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ended.withLock { $0 = true }
    }

    /// The other side has ended the stream.
    var isOver: Bool { ended.withLock { $0 } }

    var events: [Event] {
        let text = bytes.withLock { String(decoding: $0, as: UTF8.self) }
        return text.components(separatedBy: "\n\n").dropLast().compactMap { block in
            let lines = block.components(separatedBy: "\n")
            func field(_ name: String) -> String? {
                lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
            }
            return field("data").map { Event(id: field("id"), name: field("event"), data: $0) }
        }
    }

    var ids: [String] { events.filter { $0.name == "item" }.compactMap(\.id) }
}
