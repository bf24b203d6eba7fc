// The server of one service: its sockets, its routes, its beginning and its end.

import Contracts
import Glibc
package import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Serves routes until it is told to stop: then it takes no more connections, finishes what runs, and ends after `HTTPLimits.drain`
/// at the latest. `/health/live`, `/health/ready`, `/metrics` and `/<prefix>/openapi.json` are added to the routes.
package struct HTTPServer: Service {
    /// What the OpenAPI document says of the service.
    package struct Description: Sendable {
        package var title: String
        /// Of the API, not of the program: `1.0.0`.
        package var version: String
        package var summary: String
        /// First segment of the service's paths: `ingest`.
        package var prefix: String
        /// Where programs exchange their secret for a token, if they do here.
        package var clientCredentials: ClientCredentials?

        /// OAuth 2 with the grant of RFC 6749 §4.4.
        package struct ClientCredentials: Sendable {
            let tokenPath: String
            /// What each opens, for people.
            let scopes: [(name: String, description: String)]

            package init(tokenPath: String, scopes: [(name: String, description: String)]) {
                (self.tokenPath, self.scopes) = (tokenPath, scopes)
            }
        }

        package init(
            title: String, version: String, summary: String, prefix: String, clientCredentials: ClientCredentials? = nil
        ) {
            (self.title, self.version, self.summary, self.prefix) = (title, version, summary, prefix)
            self.clientCredentials = clientCredentials
        }
    }

    /// All routes, those of HTTPKit included.
    package let routes: [Route]
    private let host: String
    private let port: Int
    private let logger: Logger
    private let responder: Responder
    private let connections: OpenConnections
    private let listening = ListeningPort()

    /// - Parameters:
    ///   - port: 0 lets the kernel choose; see `boundPort`.
    ///   - webhooks: what the service posts to others' addresses, for the OpenAPI document alone.
    ///   - publicOrigin: `https://host:port` of the edge; without it no cookie is taken for an unsafe method.
    ///   - edge: by which the edge is told from whoever else reaches this port; without it every caller counts under the address of its
    ///     connection.
    ///   - authenticate: asked for routes that not just anyone may use.
    ///   - recognise: the same without waiting, for brief handlers, and for short bodies that no handler need refuse; without it neither is
    ///     done for anybody but strangers.
    ///   - standing: asked several times each second for each event stream that is open.
    package init(
        _ description: Description, routes: [Route], webhooks: [WebhookDescription] = [], host: String = "127.0.0.1", port: Int,
        limits: HTTPLimits = HTTPLimits(), publicOrigin: String? = nil, edge: EdgeSecret? = nil, health: Health,
        authenticate: @escaping Authenticate, recognise: Recognise? = nil, standing: @escaping SessionStanding = { _, _ in true },
        logger: Logger
    ) {
        let state = ServerState(limits, publicOrigin: publicOrigin, edge: edge, standing: standing)
        let inner = routes + health.routes(isDraining: { state.load.isDraining })
        self.routes = inner + [OpenAPIDocument.route(description, describing: inner, webhooks)]
        (self.host, self.port, self.logger) = (host, port, logger)
        connections = OpenConnections(limits)
        responder = Responder(
            table: RouteTable(self.routes), state: state, authenticate: authenticate, logger: logger, recognise: recognise)
    }

    /// What is counted while it runs.
    var state: ServerState { responder.state }

    /// The port that is listened on; waits until it is. A task that is cancelled first gets the port that was asked for.
    package var boundPort: Int {
        get async { await listening.value ?? port }
    }

    /// Returns after a graceful stop, when the last connection has ended.
    package func run() async throws {
        guard let listener = try await listenWhenFree() else { return }
        listening.set(listener.localAddress?.port ?? port)
        logger.info("listening", metadata: ["host": "\(host)", "port": "\(listener.localAddress?.port ?? port)"])
        let sweeper = Task { [responder, connections] in await responder.state.sweep(connections) }
        // Ends by a graceful stop or by cancellation.
        try? await gracefulShutdown()
        responder.load.startDraining()
        try? await listener.close().get()
        await connections.drain(within: Task.isCancelled ? .zero : responder.limits.drain)
        sweeper.cancel()
    }

    /// Threads that read and write sockets: as many as half of the cores, at least one. The store's writer, the bus and the edge
    /// need the others; on two cores one thread spends a tenth less of the processor on an upload than two that share their objects.
    private static let loops = MultiThreadedEventLoopGroup(numberOfThreads: max(1, System.coreCount / 2))

    /// How long a port may be taken before the service ends and is started again.
    private static let portTimeout = Duration.seconds(60)
    private static let portPollInterval = Duration.milliseconds(100)

    /// A port that is taken is often another's for a moment, such as of a process that is being replaced. The service's other modules work
    /// meanwhile: a dispatcher calls without callers of its own.
    /// - Returns: nil where the service is to stop.
    private func listenWhenFree() async throws -> (any NIOCore.Channel)? {
        let end = ContinuousClock.now + Self.portTimeout
        var isReported = false
        while true {
            do {
                return try await listen()
            } catch let error as IOError where error.errnoCode == EADDRINUSE && ContinuousClock.now < end {
                if !isReported {
                    logger.error("another process listens on the port; binding again until it is free", metadata: ["port": "\(port)"])
                    isReported = true
                }
            }
            // The kernel tells nobody when a port is free.
            try? await Task.sleep(for: Self.portPollInterval)
            if Task.isCancelled || Task.isShuttingDownGracefully { return nil }
        }
    }

    private func listen() async throws -> any NIOCore.Channel {
        let (responder, connections, limits) = (responder, connections, responder.limits)
        return try await ServerBootstrap(group: Self.loops)
            .serverChannelOption(.backlog, value: Int32(limits.backlog))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptGate(most: limits.connections, isFull: connections.relieve))
                }
            }
            // Who has finished sending may still be waiting for the answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // An answer is written in one piece; waiting for more to send with it would only delay it.
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let decoder = HTTPRequestDecoder(limitConfiguration: limits.ofHeads)
                    try channel.pipeline.syncOperations.addHandlers([
                        ByteToMessageHandler(decoder), ConnectionHandler(responder: responder, connections: connections),
                    ])
                }
            }
            .bind(host: host, port: port).get()
    }
}

extension HTTPLimits {
    fileprivate var ofHeads: NIOHTTPDecoderLimitConfiguration {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = headerBytes
        limits.maxHeaderListSize = headerBytes
        limits.maxHeaderFieldCount = headerFields
        return limits
    }
}

/// A port that becomes known once.
private final class ListeningPort: Sendable {
    private struct State {
        var port: Int?
        var last = 0
        var waiting: [Int: CheckedContinuation<Int?, Never>] = [:]
    }

    private let state = Mutex(State())

    func set(_ port: Int) {
        let waiting = state.withLock { state in
            state.port = port
            defer { state.waiting = [:] }
            return state.waiting
        }
        for continuation in waiting.values { continuation.resume(returning: port) }
    }

    /// Nil where the task is cancelled while it waits: the port may never be bound.
    var value: Int? {
        get async {
            let number = state.withLock { state in
                state.last += 1
                return state.last
            }
            return await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let (port, waits) = state.withLock { state -> (Int?, Bool) in
                        guard state.port == nil, !Task.isCancelled else { return (state.port, false) }
                        state.waiting[number] = continuation
                        return (nil, true)
                    }
                    if !waits { continuation.resume(returning: port) }
                }
            } onCancel: {
                let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
                continuation?.resume(returning: nil)
            }
        }
    }
}
