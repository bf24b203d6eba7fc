// The server of one service: Hummingbird's sockets and HTTP/1.1, our own routes on top.

import Contracts
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// Serves routes until it is told to stop: then it takes no more connections, finishes what runs, and ends after `HTTPLimits.drain`
/// at the latest. `/health/live`, `/health/ready`, `/metrics` and `/<prefix>/openapi.json` are added to the routes.
package struct HTTPServer: Service {
    /// What the OpenAPI document says of the service.
    package struct Description: Sendable {
        package var title: String
        package var version: String
        package var summary: String
        /// First segment of the service's paths: `ingest`.
        package var prefix: String

        package init(title: String, version: String, summary: String, prefix: String) {
            (self.title, self.version, self.summary, self.prefix) = (title, version, summary, prefix)
        }
    }

    /// All routes, those of HTTPKit included.
    package let routes: [Route]
    private let host: String
    private let port: Int
    private let limits: HTTPLimits
    private let logger: Logger
    private let responder: Responder
    private let listening = ListeningPort()

    /// - Parameters:
    ///   - port: 0 lets the kernel choose; see `boundPort`.
    ///   - authenticate: asked for routes that not just anyone may use.
    package init(
        _ description: Description, routes: [Route], host: String = "127.0.0.1", port: Int, limits: HTTPLimits = HTTPLimits(),
        health: Health, authenticate: @escaping Authenticate, logger: Logger
    ) {
        let load = ServerLoad()
        let inner = routes + health.routes(isDraining: { load.isDraining })
        self.routes = inner + [OpenAPIDocument.route(description, describing: inner)]
        (self.host, self.port, self.limits, self.logger) = (host, port, limits, logger)
        responder = Responder(
            table: RouteTable(self.routes), limits: limits, authenticate: authenticate, load: load, logger: logger)
    }

    /// The port that is listened on; waits until it is.
    package var boundPort: Int {
        get async { await listening.value }
    }

    package func run() async throws {
        let server = try makeServer()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            group.addTask {
                // Ends early, by cancellation, when the server has ended by itself.
                try? await gracefulShutdown()
                guard !Task.isCancelled else { return }
                responder.load.startDraining()
                try? await Task.sleep(for: limits.drain)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func makeServer() throws -> any Service {
        let headers = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: limits.headerBytes, maxHeaderListSize: limits.headerBytes, maxHeaderFieldCount: limits.headerFields)
        let channel = HTTP1Channel.Configuration(
            idleTimeout: .init(limits.idle), httpDecoderConfiguration: headers)
        return try HTTPServerBuilder.http1(configuration: channel).buildServer(
            configuration: ServerConfiguration(
                address: .hostname(host, port: port), serverName: nil, backlog: limits.backlog,
                availableConnectionsDelegate: MaximumAvailableConnections(limits.connections, logger: logger)),
            eventLoopGroup: EventLoopGroupProvider.singleton.eventLoopGroup, logger: logger,
            responder: { try await responder.respond($0, $1, $2) },
            onServerRunning: { channel in listening.set(channel.localAddress?.port ?? port) })
    }
}

/// A port that becomes known once.
private final class ListeningPort: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Int, Never>])
        case known(Int)
    }

    private let state = Mutex(State.waiting([]))

    func set(_ port: Int) {
        let waiting = state.withLock { state -> [CheckedContinuation<Int, Never>] in
            guard case .waiting(let all) = state else { return [] }
            state = .known(port)
            return all
        }
        for continuation in waiting { continuation.resume(returning: port) }
    }

    var value: Int {
        get async {
            await withCheckedContinuation { continuation in
                let known = state.withLock { state -> Int? in
                    switch state {
                    case .known(let port): return port
                    case .waiting(let all):
                        state = .waiting(all + [continuation])
                        return nil
                    }
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }
}
