// Where stories play: the real notifier in a temporary folder, a consent that asks and hears, people who are logged in.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import NIOCore
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit

@testable import Notifier

/// The suite around the notifier, on ipc.
final class Stage: Sendable {
    static let origin = "https://suite.example"

    private let harness: Harness
    private let ask: BusClient
    private let tokens: TokenIssuer

    private init(_ folder: URL) async throws {
        harness = Harness(folder)
        tokens = try TokenIssuer(Stage.origin)
        try harness.introducePeers()
        ask = try await harness.runtime(.consent, under: [:]).client(of: .notifier)
    }

    var folder: URL { harness.folder }

    static func play(_ body: (Stage) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await withHarness(Stage(folder), body) { await $0.harness.stop() }
        }
    }

    /// As `play`, with a notifier that runs.
    static func playStarted(_ body: (Stage, Notifier) async throws -> Void) async throws {
        try await play { stage in try await body(stage, stage.start()) }
    }

    /// The notifier, running until the story ends or stops it.
    struct Notifier: Sendable {
        let parts: NotifierModule
        let runtime: Runtime
        let running: Running
        let port: Int

        func stop() async {
            await running.stop()
            await runtime.bus.shutdown()
        }
    }

    /// Quick paces, so that stories do not wait; whatever a story needs otherwise is its own.
    @discardableResult
    func start(_ settings: [String: String] = [:], clock: DeadlineClock = DeadlineClock()) async throws -> Notifier {
        let environment = [
            "TRACKME_NOTIFY_SMTP_TLS": "false", "TRACKME_NOTIFY_FROM": "trackme@suite.example", "TRACKME_NOTIFY_RETRY_S": "0.05",
            "TRACKME_NOTIFY_RETRY_MOST_S": "0.2", "TRACKME_NOTIFY_UNKNOWN_S": "0.1", "TRACKME_NOTIFY_PUSH_ANYWHERE": "true",
            "TRACKME_HTTP_PUBLIC_ORIGIN": Stage.origin,
        ].merging(settings) { $1 }
        var reader = SettingsReader(environment: environment)
        let runtime = try harness.runtime(.notifier, under: environment)
        let parts = try await NotifierModule(NotifierAssembly.settings(&reader), on: runtime, clock: clock)
        let running = harness.start(parts.services)
        parts.checker.learn(.key(tokens.state))
        return Notifier(parts: parts, runtime: runtime, running: running, port: await parts.server.boundPort)
    }

    /// A further peer, with a folder of its own for its store.
    func runtime(_ peer: Peer) throws -> Runtime {
        try harness.runtime(peer, under: [:])
    }

    /// A file of the key folder, readable by its owner alone.
    func secret(_ text: String, named name: String) throws -> String {
        let keys = harness.keys
        let file = keys.file(name, of: .notifier)
        try keys.write(text, to: file)
        return file.path
    }

    /// A provider, until the story ends or closes it.
    func provider() async -> ProviderPeer {
        let peer = await ProviderPeer().open()
        harness.atEnd { await peer.close() }
        return peer
    }

    // MARK: What consent does

    func send(_ message: SendMessage) async throws {
        _ = try await ask.ask(message, deadline: .seconds(5))
    }

    func states(_ message: SendMessage) async throws -> [Contracts.Channel: DeliveryState] {
        try await ask.ask(ReadMessage(message: message.message), deadline: .seconds(5)).states
    }

    /// Everything said on `notify.deliveries` so far.
    func facts() async throws -> [MessageSettled] {
        let probe = ReplayStream(stream: "notify.deliveries", epoch: "", from: 1, through: .max)
        let epoch = try await ask.replay(probe).epoch
        let replayed = try await ask.replay(ReplayStream(stream: "notify.deliveries", epoch: epoch, from: 1, through: .max))
        return try replayed.facts.filter { $0.header.type == MessageSettled.type }.map {
            try JSONDecoder().decode(MessageSettled.self, from: Data($0.payload.utf8))
        }
    }

    // MARK: What people do

    /// - Parameter proved: when the person last showed who they are.
    func token(
        _ person: PersonID, kind: AccountKind = .person, session: SessionID = .random(), proved: Timestamp = .now
    ) throws -> String {
        try tokens.token(kind, kind == .person ? "\(person)" : nil, session: session, proved: proved)
    }

    func call(
        _ notifier: Notifier, _ path: String, by method: String = "GET", as token: String?, _ body: String = ""
    ) async throws -> OutboundResponse {
        var request = OutboundRequest(url: "http://127.0.0.1:\(notifier.port)\(path)", method: method, body: Array(body.utf8))
        if let token { request.headers.append(("Authorization", "Bearer \(token)")) }
        if !body.isEmpty { request.headers.append(("Content-Type", "application/json")) }
        return try await HTTPSender.anywhere().send(request)
    }
}

/// A provider that takes what is posted to it and answers as it is told.
final class ProviderPeer: Sendable {
    struct Post: Sendable {
        var path: String
        var headers: [String: String]
        var body: String
    }

    private struct State {
        var posts: [Post] = []
        var status = 202
    }

    private static let watched = [
        "X-Kannel-To", "X-Kannel-Username", "X-Kannel-Password", "X-Kannel-DLR-Url", "X-Kannel-DLR-Mask", "X-Kannel-From",
        "X-Kannel-Coding", "Title", "Priority", "Click",
        WebhookSignature.idHeader, WebhookSignature.timestampHeader, WebhookSignature.signatureHeader,
    ]

    private let state = Mutex(State())
    private let opened = Mutex<(running: Running, port: Int)?>(nil)

    var posts: [Post] { state.withLock { $0.posts } }
    var port: Int { opened.withLock { $0?.port ?? 0 } }

    func answer(_ status: Int) {
        state.withLock { $0.status = status }
    }

    func open(port: Int = 0) async -> ProviderPeer {
        let server = HTTPServer(
            .init(title: "Provider", version: "1", summary: "For tests.", prefix: "provider"),
            routes: [route("/cgi-bin/sendsms", "text/plain"), route("/gateway", "application/json"), route("/topic", "text/plain")],
            port: port, health: Health(missing: { [] }, metrics: { "" }), authenticate: { _, _ in throw Problem.unauthorised },
            logger: Running.quiet)
        let running = Running([server])
        let bound = await server.boundPort
        opened.withLock { $0 = (running, bound) }
        return self
    }

    func close() async {
        await opened.withLock { $0 }?.running.stop()
    }

    private func route(_ path: String, _ type: String) -> Route {
        Route(
            .post, path, access: .anyone, summary: "Takes it", body: BodyShape([.init(type, .anything)]), answers: [Answer(202, "Taken")]
        ) { [self] exchange in
            let buffer = try await exchange.body()
            let headers = Dictionary(uniqueKeysWithValues: Self.watched.compactMap { name in exchange.header(name).map { (name, $0) } })
            let status = state.withLock { state in
                state.posts.append(Post(path: path, headers: headers, body: String(buffer: buffer)))
                return state.status
            }
            return .text("ok", status: status)
        }
    }
}
