// A handler's API as a real server on loopback: keeps what it was asked, answers by what each path was told.

import Contracts
import Foundation
import HTTPKit
import Logging
import NIOCore
import Outbound
import Synchronization
import TestKit

@testable import ThirdPartyGateway

final class HandlerServer: Sendable {
    struct Asked: Sendable {
        var line: String
        var body: String
        var key: String?
        var authorization: String?
    }

    struct Reply: Sendable {
        var status = 200
        var body: String
    }

    private struct State {
        var asked: [Asked] = []
        /// By `METHOD /path`: answers in order, the last one again and again.
        var replies: [String: [Reply]] = [:]
    }

    private let state = Mutex(State())
    private let door = Mutex<(running: Running, port: Int)?>(nil)

    /// - Parameter paths: templates of every path that is asked for, with the header that holds the idempotency key.
    static func play(_ paths: [(Route.Method, String)], keyHeader: String, _ body: (HandlerServer) async throws -> Void) async throws {
        let server = HandlerServer()
        await server.open(paths, keyHeader)
        try await withHarness(server, body) { await $0.close() }
    }

    var url: String { "http://127.0.0.1:\(door.withLock { $0?.port ?? 0 })" }
    var asked: [Asked] { state.withLock { $0.asked } }
    var lines: [String] { asked.map(\.line) }

    func answer(_ line: String, _ replies: Reply...) {
        state.withLock { $0.replies[line] = replies }
    }

    func forget() {
        state.withLock { $0.asked = [] }
    }

    private func open(_ paths: [(Route.Method, String)], _ keyHeader: String) async {
        let server = HTTPServer(
            .init(title: "Handler", version: "1", summary: "For tests.", prefix: "handler"),
            routes: paths.map { route($0.0, $0.1, keyHeader) }, port: 0, health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { _, _ in throw Problem.unauthorised }, logger: PaymentHarness.quiet)
        let running = Running([server])
        let port = await server.boundPort
        door.withLock { $0 = (running, port) }
    }

    private func close() async {
        await door.withLock { $0 }?.running.stop()
    }

    private func route(_ method: Route.Method, _ path: String, _ keyHeader: String) -> Route {
        let shape =
            method == .get
            ? nil : BodyShape([.init(MediaType.json, .anything), .init(MediaType.form, .anything)])
        let names = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
        return Route(
            method, path, access: .anyone, summary: "Asked by the gateway",
            parameters: names.map { .path($0, .string(), "A part.") }, body: shape, answers: [Answer(200, "Told")]
        ) { [self] exchange in
            let body = shape == nil ? "" : String(buffer: try await exchange.body())
            let real = names.reduce(path) { $0.replacing("{\($1)}", with: exchange.path($1)) }
            let asked = Asked(
                line: "\(method.rawValue) \(real)", body: body, key: exchange.header(keyHeader),
                authorization: exchange.header("Authorization"))
            let reply = state.withLock { state -> Reply in
                state.asked.append(asked)
                guard var replies = state.replies[asked.line], let first = replies.first else {
                    return Reply(status: 404, body: #"{"error":{"code":"resource_missing"}}"#)
                }
                if replies.count > 1 {
                    replies.removeFirst()
                    state.replies[asked.line] = replies
                }
                return first
            }
            return .text(reply.body, contentType: MediaType.json, status: reply.status)
        }
    }

    func calls() -> HandlerCalls {
        HandlerCalls(http: .anywhere(), timeout: .seconds(20))
    }
}

extension PayPalProvider {
    /// The provider under test before a PayPal that gives it its token.
    static func play(
        _ paths: [(Route.Method, String)], _ body: (HandlerServer, PayPalProvider) async throws -> Void
    ) async throws {
        try await HandlerServer.play(paths, keyHeader: "PayPal-Request-Id") { server in
            server.answer("POST /v1/oauth2/token", .init(body: #"{"access_token":"A21AA","token_type":"Bearer","expires_in":31668}"#))
            let provider = PayPalProvider(
                url: server.url, credentials: "client:secret", returnURL: "https://suite.example/back", calls: server.calls(),
                clock: { PaymentHarness.start })
            try await body(server, provider)
        }
    }
}

/// A job as the service makes it.
func job(
    _ kind: PaymentJob.Kind, _ method: PaymentMethod = .card, reference: String? = nil, charge: String? = nil, token: String? = nil
) -> PaymentJob {
    PaymentJob(
        key: "0123456789abcdef", kind: kind, payment: PaymentID(bits: 9), attempt: 2, provider: "any", method: method,
        amount: Amount(minor: 622, currency: "EUR"), reference: reference, charge: charge, token: token)
}
