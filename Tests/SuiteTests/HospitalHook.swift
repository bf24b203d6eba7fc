// A third party's own server for webhooks, as stories need one.

import Contracts
import Foundation
import HTTPKit
import Logging
import Synchronization
import TestKit

/// The hospital's own server for webhooks.
final class HospitalHook: Sendable {
    private struct Message: Decodable, Sendable {
        struct Content: Decodable, Sendable {
            struct Batch: Decodable, Sendable {
                struct Item: Decodable, Sendable { var value: Double? }
                var items: [Item]
            }

            var challenge: String?
            var batches: [Batch]?
        }

        var type: String
        var data: Content
    }

    private final class Book: Sendable {
        let messages = Mutex<[Message]>([])
    }

    private let book: Book
    private let server: HTTPServer

    private init() {
        let book = Book()
        let route = Route(
            .post, "/hook/v1/messages", access: .anyone, summary: "Takes messages",
            body: BodyShape([.init(MediaType.json, .anything)]), answers: [Answer(200, "Taken")]
        ) { exchange in
            let message: Message = try await exchange.json()
            book.messages.withLock { $0.append(message) }
            return .text(message.data.challenge ?? "taken")
        }
        server = HTTPServer(
            .init(title: "Hook", version: "1.0.0", summary: "Under test.", prefix: "hook"), routes: [route], port: 0,
            health: Health(missing: { [] }, metrics: { "" }), authenticate: { _, _ in throw Problem.unauthorised }, logger: Running.quiet)
        self.book = book
    }

    static func with(_ body: (HospitalHook) async throws -> Void) async throws {
        let hook = HospitalHook()
        let running = Task { try await hook.server.run() }
        defer { running.cancel() }
        try await body(hook)
    }

    var url: String {
        get async { "http://127.0.0.1:\(await server.boundPort)/hook/v1/messages" }
    }

    var types: [String] { book.messages.withLock { $0.map(\.type) } }

    var values: [Double] {
        book.messages.withLock { $0.flatMap { $0.data.batches ?? [] }.flatMap(\.items).compactMap(\.value) }
    }
}
