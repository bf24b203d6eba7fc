// One peer's place on the bus: its key, its sockets, the thread that owns them.

package import Contracts
package import Logging

/// An actor whose executor is the thread that polls the sockets. It lives until `shutdown`, which must be called; every call after
/// that throws `closed`.
package actor BusNode {
    /// As whose key others know this node.
    package nonisolated let peer: Peer
    private nonisolated let thread: SocketThread
    private let keys: CurveKeyPair
    private let rights: StreamRights
    private let logger: Logger
    private var handlers: [any SocketHandler] = []
    private var bound: [BoundSocket] = []
    private var isClosed = false
    private var closing: [CheckedContinuation<Void, Never>] = []
    private var closeAt: ContinuousClock.Instant?

    /// A socket of this node that others connect to.
    private struct BoundSocket {
        let endpoint: String
        let domain: String
        let kind: SocketKind
    }

    /// The polling thread itself: what blocks in this actor holds up every socket of the node.
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        thread.asUnownedSerialExecutor()
    }

    /// Starts the process's ZAP handler, if it does not run yet, and the node's thread.
    package init(peer: Peer, keys: CurveKeyPair, allowed: AllowList, logger: Logger) throws(BusError) {
        try ZAPHandler.shared.start()
        (self.peer, self.keys, self.logger) = (peer, keys, logger)
        rights = StreamRights(allowed: allowed)
        thread = try SocketThread()
        thread.start(name: "bus-" + peer.name) { self.assumeIsolated { $0.turn() } }
    }

    // MARK: Sockets

    /// Binds a publishing socket for one family. `heads` are the last sequences of the log; a stream without one begins at 0.
    /// Peers whose entry in the allow-list does not name the family cannot connect.
    /// - Throws: `invalidEndpoint`, or `bind` where the endpoint is taken.
    package func publisher(
        of family: StreamFamily, at endpoint: String, epoch: String, heads: [String: Int64]
    ) async throws(BusError) -> Publisher {
        try checkOpen()
        let allowed = rights.allowed
        let socket = try bind(.publisher, to: endpoint, domain: "\(peer)/\(family.name)") { key in
            allowed.peer(withKey: key).flatMap { $0.families.contains(family.name) ? $0.peer.name : nil }
        }
        rights.add(family)
        let queue = PublisherQueue(family: family, epoch: epoch, heads: heads, thread: thread, logger: logger)
        handlers.append(PublisherSocket(socket: socket, queue: queue))
        return Publisher(family: family, queue: queue)
    }

    /// Binds an answering socket. Only peers that may ask or hear something can connect; each question is checked again.
    /// - Throws: as `publisher`.
    package func answer(at endpoint: String, _ methods: Methods) async throws(BusError) {
        try checkOpen()
        let allowed = rights.allowed
        let socket = try bind(.server, to: endpoint, domain: "\(peer)/requests") { key in
            allowed.peer(withKey: key).flatMap { $0.mayAskAnything ? $0.peer.name : nil }
        }
        handlers.append(
            ServerSocket(socket: socket, methods: methods, rights: rights, requests: ServerRequests(thread: thread), logger: logger))
    }

    /// Connects to a peer's answering socket; the peer need not be there yet.
    /// - Throws: `invalidEndpoint`, or `invalidKey` where `serverKey` is not 40 characters of Z85.
    package func client(of peer: Peer, at endpoint: String, serverKey: String) async throws(BusError) -> BusClient {
        try checkOpen()
        let socket = try Socket(.client, .trusting(serverKey: serverKey, keys: keys))
        try socket.connect(to: endpoint)
        let requests = ClientRequests(thread: thread)
        handlers.append(ClientSocket(socket: socket, requests: requests))
        return BusClient(peer: peer, requests: requests)
    }

    /// Subscribes to some or all streams of a family and to its heartbeat; the publisher need not be there yet.
    /// - Throws: as `client`.
    package func inbox(
        of family: StreamFamily, streams: [String]?, at endpoint: String, serverKey: String
    ) async throws(BusError) -> StreamInbox {
        try checkOpen()
        let inbox = StreamInbox(family: family, streams: streams ?? family.streams, thread: thread)
        let keys = keys
        let handler = try ConsumerSocket(inbox: inbox, logger: logger) { () throws(BusError) in
            let socket = try Socket(.subscriber, .trusting(serverKey: serverKey, keys: keys))
            for stream in inbox.streams + [family.heartbeatStream] { try socket.subscribe(to: stream) }
            try socket.connect(to: endpoint)
            return socket
        }
        handlers.append(handler)
        return inbox
    }

    // MARK: Start and end

    /// Shows that a stranger's key is refused at each socket that is bound by now (where there is none, at one made for the
    /// purpose), within `BusLimits.selfTest` each.
    /// - Throws: `strangerAdmitted` or `unverified`; the process must not go on then.
    package func selfTest() async throws(BusError) {
        try checkOpen()
        guard bound.isEmpty else { return try await refuseStrangers() }
        let domain = ZAPHandler.shared.makeDomain("\(peer)/self-test") { _ in nil }
        defer { ZAPHandler.shared.forget(domain: domain) }
        let socket = try Socket(.server, .admitting(keys: keys, domain: domain))
        try socket.bind(to: "tcp://127.0.0.1:*")
        try await refusesStranger(at: socket.endpoint ?? "", as: .client)
    }

    /// Refuses new questions, lets those in work end for up to 500 ms, sends what waits, closes all sockets and frees their
    /// endpoints. Consumers return and waiting questions end as `unavailable`. May be called more than once.
    package func shutdown() async {
        guard !isClosed else { return }
        for case let answering as ServerSocket in handlers { answering.isEnding = true }
        if closeAt == nil { closeAt = .now + BusLimits.shutdownGrace }
        await withCheckedContinuation { closing.append($0) }
    }

    private func checkOpen() throws(BusError) {
        guard !isClosed, closeAt == nil else { throw BusError(.closed, "the node of \(peer) is shut down") }
    }

    private func bind(
        _ kind: SocketKind, to endpoint: String, domain name: String, _ admission: @escaping ZAPHandler.Admission
    ) throws(BusError) -> Socket {
        let refusals = RefusalLog(logger: logger)
        let domain = ZAPHandler.shared.makeDomain(name) { key in
            let user = admission(key)
            if user == nil { refusals.refused(key, at: name) }
            return user
        }
        do throws(BusError) {
            let socket = try Socket(kind, .admitting(keys: keys, domain: domain))
            try socket.bind(to: endpoint)
            bound.append(BoundSocket(endpoint: socket.endpoint ?? endpoint, domain: domain, kind: kind))
            return socket
        } catch {
            ZAPHandler.shared.forget(domain: domain)
            throw error
        }
    }

    /// All sockets at the same time: a handshake takes a tenth of a second, and a service that was killed is waited for.
    private func refuseStrangers() async throws(BusError) {
        let places = bound.map { (endpoint: $0.endpoint, kind: $0.kind == .publisher ? SocketKind.subscriber : .client) }
        let serverKey = keys.publicKey
        let outcomes = await withTaskGroup(of: (String, StrangerProbe.Outcome).self) { group in
            for place in places {
                group.addTask { (place.endpoint, await StrangerProbe.knock(at: place.endpoint, as: place.kind, serverKey: serverKey)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for (endpoint, outcome) in outcomes { try require(outcome, at: endpoint) }
    }

    private func refusesStranger(at endpoint: String, as kind: SocketKind) async throws(BusError) {
        try require(await StrangerProbe.knock(at: endpoint, as: kind, serverKey: keys.publicKey), at: endpoint)
    }

    private func require(_ outcome: StrangerProbe.Outcome, at endpoint: String) throws(BusError) {
        switch outcome {
        case .refused: return
        case .admitted: throw BusError(.strangerAdmitted, "\(endpoint) let an unknown key in")
        case .unclear: throw BusError(.unverified, "\(endpoint) did not refuse an unknown key within \(BusLimits.selfTest)")
        }
    }

    // MARK: On the thread

    private func turn() {
        if let closeAt {
            let isIdle = handlers.allSatisfy { ($0 as? ServerSocket)?.isIdle ?? true }
            if isIdle || ContinuousClock.now >= closeAt { return close() }
        }
        pollOnce(handlers, thread: thread, until: closeAt)
    }

    private func close() {
        isClosed = true
        for handler in handlers {
            handler.end()
            handler.socket.releaseEndpoint()
            handler.socket.close()
        }
        for socket in bound { ZAPHandler.shared.forget(domain: socket.domain) }
        (handlers, bound) = ([], [])
        thread.stop()
        for waiter in closing { waiter.resume() }
        closing = []
    }
}
