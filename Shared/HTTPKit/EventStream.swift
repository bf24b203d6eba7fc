// Events that a browser receives as they happen: server-sent events (WHATWG HTML §9.2), with a sign of life in between.

package import Contracts
import NIOCore
import Synchronization

/// One event. Its data may have several lines.
package struct ServerEvent: Hashable, Sendable {
    /// What `Last-Event-ID` says after a break; without line ends.
    package var id: String?
    /// What scripts listen for; nil is `message`. Line ends are left out.
    package var event: String?
    /// Each of its lines travels as one `data:` line.
    package var data: String

    package init(id: String? = nil, event: String? = nil, data: String) {
        (self.id, self.event, self.data) = (id, event, data)
    }

    /// As it travels.
    var text: String {
        var text = ""
        if let event { text += "event: \(Self.line(event))\n" }
        if let id { text += "id: \(Self.line(id))\n" }
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) { text += "data: \(line)\n" }
        return text + "\n"
    }

    private static func line(_ text: String) -> String {
        text.filter { !$0.isNewline && $0 != "\0" }
    }
}

/// Where the events of one stream come from, and for how long its caller may hear them.
package struct EventSource: Sendable {
    let stillAdmitted: (@Sendable () async -> Bool)?
    let next: @Sendable () async throws -> ServerEvent?

    /// - Parameters:
    ///   - stillAdmitted: asked each second, for what the server's `SessionStanding` does not know: a right that was withdrawn, a link that is over.
    ///   - next: gives one event after the other, nil at the end. It is asked for the following event when the one before has been taken,
    ///     so that a slow caller fills no memory here; it must end when it is cancelled.
    package init(
        whileAdmitted stillAdmitted: (@Sendable () async -> Bool)? = nil, next: @escaping @Sendable () async throws -> ServerEvent?
    ) {
        (self.stillAdmitted, self.next) = (stillAdmitted, next)
    }
}

/// Whether a caller who was proved at that time may go on hearing, by what the service knows of sessions and people: in memory, at once.
/// An access token that has expired meanwhile is no reason to end a stream; the end of its session is.
package typealias SessionStanding = @Sendable (_ caller: Caller, _ provedAt: Timestamp) -> Bool

extension Route {
    /// A route of server-sent events: the one way to have them. A stream counts against its caller's budget, and ends within a second of the
    /// end of its caller's session (log-out, password change, expiry), of the caller's erasure and of `EventSource`'s own reason; then the
    /// browser comes again and is told why.
    /// - Parameters:
    ///   - events: CommonMark, what is sent.
    ///   - refusals: the service's own, before the stream begins.
    package static func events(
        _ path: String, access: Access, scopes: [String] = [], summary: String, description: String = "", parameters: [Parameter] = [],
        events: String,
        refusals: [Answer] = [], isRateLimited: Bool = false, yields: Yielding = .last,
        source: @escaping @Sendable (Exchange) async throws -> EventSource
    ) -> Route {
        Route(
            .get, path, as: OperationName.ofEvents(path), access: access, scopes: scopes, summary: summary, description: description,
            parameters: parameters,
            answers: [.events(events), .problem(429, "too-many-streams")] + refusals, isRateLimited: isRateLimited, yields: yields
        ) { exchange in
            try exchange.stream(await source(exchange))
        }
    }
}

extension Problem {
    /// - Parameter most: that one caller may have open; also for a service that bounds some of its streams more narrowly.
    package static func tooManyStreams(_ most: Int) -> Problem {
        Problem(
            "too-many-streams", status: 429, title: "Too many event streams are open",
            italianTitle: "Troppi flussi di eventi sono aperti",
            detail: "Close one of the \(most) streams that are open for this caller.",
            italianDetail: "Chiuda uno dei \(most) flussi che sono aperti per chi chiede.")
    }
}

extension Exchange {
    /// Where a browser that lost an event stream wants to go on: `Last-Event-ID`, or `after` of the query; at most 512 characters.
    package var lastEventID: String? {
        let sent = header("Last-Event-ID") ?? (try? query("after")).flatMap { $0 }
        return sent.flatMap { $0.utf8.count <= PageLimits.cursor ? $0 : nil }
    }

    /// - Throws: 429 where the caller has as many streams open as they may, 503 where the server has.
    fileprivate func stream(_ source: EventSource) throws -> HTTPAnswer {
        try permit?.beginStream()
        return .stream(contentType: MediaType.events) { [self] writer in
            try await server.streams.run(source, of: self, to: writer)
        }
    }
}

/// One event stream that is open.
private final class OpenStream: Sendable {
    /// A stream whose task does not end so long after it was cancelled loses its connection.
    private static let cancellationTimeout = Duration.milliseconds(300)

    private struct State {
        var task: Task<Void, any Error>?
        var endedAt: ContinuousClock.Instant?
        /// Its last byte has been written.
        var isOver = false
        var lastWord = ContinuousClock.now
    }

    let caller: Caller
    let provedAt: Timestamp
    let source: EventSource
    private let connection: Connection
    private let state = Mutex(State())

    init(_ source: EventSource, of exchange: Exchange, on connection: Connection) {
        (caller, provedAt, self.source, self.connection) = (exchange.caller, exchange.receivedAt, source, connection)
    }

    /// Returns at the end of the source, or soon after `end`.
    func run(_ writer: StreamWriter, on executor: MeteredExecutor?) async throws {
        let task = Task(executorPreference: executor) { [self] in try await deliver(writer) }
        let isLate = state.withLock { state in
            state.task = task
            return state.endedAt != nil
        }
        if isLate { task.cancel() }
        defer { state.withLock { $0.isOver = true } }
        do {
            try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError {
            // It was ended: the caller sees a stream that ends well.
        }
    }

    private func deliver(_ writer: StreamWriter) async throws {
        var writer = writer
        // At once, so that the caller knows that it is connected.
        try await writer.write(": connected\n\n".utf8)
        while !Task.isCancelled, let event = try await source.next(), !Task.isCancelled {
            try await writer.write(event.text.utf8)
            state.withLock { $0.lastWord = .now }
        }
    }

    /// Nothing more is sent.
    func end() {
        let task = state.withLock { state in
            if state.endedAt == nil { state.endedAt = .now }
            return state.task
        }
        task?.cancel()
    }

    /// Says that the stream lives where it was quiet, and cuts it where it does not end.
    func look(_ heartbeat: Duration, at now: ContinuousClock.Instant) {
        state.withLock { state in
            guard !state.isOver else { return }
            if let endedAt = state.endedAt {
                if now - endedAt >= Self.cancellationTimeout { connection.cut() }
            } else if now - state.lastWord >= heartbeat {
                state.lastWord = now
                connection.onLoop { $0.sayAlive() }
            }
        }
    }
}

/// All event streams of one server, and what ends them.
final class OpenStreams: Sendable {
    private struct State {
        var next = 0
        var open: [Int: OpenStream] = [:]
        /// Those with reasons of their own are being asked, or have just been.
        var isAsking = false
        var askAgainAt = ContinuousClock.now
    }

    /// Each asking may read a store once for each stream.
    private static let askEach = Duration.milliseconds(500)

    private let limits: HTTPLimits
    private let standing: SessionStanding
    private let state = Mutex(State())

    init(_ limits: HTTPLimits, standing: @escaping SessionStanding) {
        (self.limits, self.standing) = (limits, standing)
    }

    /// How many are open.
    var count: Int { state.withLock { $0.open.count } }

    fileprivate func run(_ source: EventSource, of exchange: Exchange, to writer: StreamWriter) async throws {
        let stream = OpenStream(source, of: exchange, on: writer.connection)
        let number = state.withLock { state in
            state.next += 1
            state.open[state.next] = stream
            return state.next
        }
        defer { state.withLock { $0.open[number] = nil } }
        // Whoever lost the session while the stream was being opened is not in time for the first sweep.
        if !standing(stream.caller, stream.provedAt) { stream.end() }
        try await stream.run(writer, on: exchange.executor)
    }

    /// Ends the streams of callers who may not go on, and keeps the others alive.
    func sweep(at now: ContinuousClock.Instant = .now) {
        let (open, mayAsk) = state.withLock { state in
            let mayAsk = !state.isAsking && now >= state.askAgainAt && state.open.values.contains { $0.source.stillAdmitted != nil }
            if mayAsk { (state.isAsking, state.askAgainAt) = (true, now + Self.askEach) }
            return (Array(state.open.values), mayAsk)
        }
        for stream in open {
            if !standing(stream.caller, stream.provedAt) { stream.end() }
            stream.look(limits.eventHeartbeat, at: now)
        }
        // Beside the sweep: it may wait for a store, and facts about sessions do not wait for that.
        if mayAsk { Task { await ask(open) } }
    }

    private func ask(_ open: [OpenStream]) async {
        for stream in open {
            if let stillAdmitted = stream.source.stillAdmitted, await !stillAdmitted() { stream.end() }
        }
        state.withLock { $0.isAsking = false }
    }
}
