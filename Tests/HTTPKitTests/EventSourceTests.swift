// Event streams: who may go on hearing, and what happens to those who may not.

import Contracts
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Event streams and their sessions")
struct EventSourceTests {
    /// Numbers for as long as somebody takes them, one whenever it is asked.
    private final class News: Sendable {
        private let state = Mutex<[AsyncStream<ServerEvent>.Continuation]>([])

        func listen() -> AsyncStream<ServerEvent> {
            let (stream, continuation) = AsyncStream.makeStream(of: ServerEvent.self)
            state.withLock { $0.append(continuation) }
            return stream
        }

        func tell(_ text: String) {
            for listener in state.withLock({ $0 }) { listener.yield(ServerEvent(data: text)) }
        }
    }

    private static func route(_ news: News, admitted: (@Sendable () async -> Bool)? = nil) -> Route {
        Route.events("/events", access: .device, summary: "Events", events: "News") { _ in
            let stream = news.listen()
            return EventSource(whileAdmitted: admitted) {
                var iterator = stream.makeAsyncIterator()
                return await iterator.next()
            }
        }
    }

    private static let request = "GET /events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer good\r\nConnection: close\r\n\r\n"

    private static func listen(_ port: Int, until text: String = ": connected") async throws -> RawConnection {
        let connection = try RawConnection(port: port)
        await connection.send(request)
        try await hear(text, on: connection)
        return connection
    }

    private static func hear(_ text: String, on connection: RawConnection) async throws {
        var heard = ""
        while !heard.contains(text) {
            let more = await connection.receive()
            try #require(!more.isEmpty, "\(heard)")
            heard += String(decoding: more, as: UTF8.self)
        }
    }

    @Test("W1: A stream that waits for news ends within a second of its session, ends well, and delivers nothing more")
    func session() async throws {
        let news = News()
        let stands = Mutex(true)
        let server = makeServer([Self.route(news)], standing: { _, _ in stands.withLock { $0 } })
        try await withServer(server) { port in
            let connection = try await Self.listen(port)
            news.tell("before")
            try await Self.hear("before", on: connection)
            stands.withLock { $0 = false }
            let ended = ContinuousClock.now
            let rest = String(decoding: await connection.receiveAll(), as: UTF8.self)
            #expect(.now - ended < .seconds(1))
            #expect(rest.hasSuffix("0\r\n\r\n"), "a browser sees a stream that ends, comes again and is told why")
            news.tell("after")
            #expect(!rest.contains("after"))
        }
    }

    @Test("A client that had hung up kept its place until the next event was written: now the stream ends with it")
    func hungUp() async throws {
        try await withServer(Self.route(News())) { port in
            let connection = try await Self.listen(port)
            connection.finishSending()
            let began = ContinuousClock.now
            _ = await connection.receiveAll()
            #expect(.now - began < .seconds(1))
        }
    }

    @Test("W1: A stream whose caller was lost while it was being opened ends as well")
    func lostWhileOpening() async throws {
        try await withServer(makeServer([Self.route(News())], standing: { _, _ in false })) { port in
            let connection = try RawConnection(port: port)
            await connection.send("GET /events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer good\r\nConnection: close\r\n\r\n")
            let began = ContinuousClock.now
            _ = await connection.receiveAll()
            #expect(.now - began < .seconds(1))
        }
    }

    @Test("W1: A right that only a store knows of is asked for again, and its loss ends the stream")
    func ownReason() async throws {
        let isAdmitted = Mutex(true)
        try await withServer(Self.route(News()) { isAdmitted.withLock { $0 } }) { port in
            let connection = try await Self.listen(port)
            isAdmitted.withLock { $0 = false }
            let ended = ContinuousClock.now
            _ = await connection.receiveAll()
            #expect(.now - ended < .seconds(1))
        }
    }

    @Test("W1: A stream whose reader takes nothing, or whose source does not let go, loses its connection all the same")
    func stubborn() async throws {
        let gate = Gate()
        let stands = Mutex(true)
        let endless = Route.events("/events", access: .device, summary: "Events", events: "Much") { _ in
            EventSource { ServerEvent(data: String(repeating: "x", count: 100_000)) }
        }
        let deaf = Route.events("/deaf", access: .device, summary: "Events", events: "Nothing") { _ in
            EventSource {
                await gate.wait()
                return nil
            }
        }
        try await withServer(makeServer([endless, deaf], standing: { _, _ in stands.withLock { $0 } })) { port in
            for path in ["/events", "/deaf"] {
                stands.withLock { $0 = true }
                let connection = try RawConnection(port: port)
                await connection.send("GET \(path) HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer good\r\n\r\n")
                try await Self.hear(": connected", on: connection)
                stands.withLock { $0 = false }
                // A connection that was cut cannot be written to; nothing is read meanwhile.
                try await eventually("\(path) is cut", within: .seconds(2)) { await !connection.send("x") }
            }
            gate.open()
        }
    }

    @Test("X2: The twenty-first stream of a caller is 429 with its name; one that ends makes room for another")
    func perCaller() async throws {
        var limits = HTTPLimits()
        limits.streamsPerCaller = 3
        try await withServer(Self.route(News()), limits: limits) { port in
            var open: [RawConnection] = []
            for _ in 0..<3 { open.append(try await Self.listen(port)) }
            let refused = try await ask(port, "GET", "/events", headers: ["Authorization": "Bearer good"])
            #expect(refused.status == 429 && refused.problem == "too-many-streams")
            #expect(refused.headers["retry-after"] != nil)
            open.removeLast()
            try await eventually("there is room") {
                let connection = try RawConnection(port: port)
                await connection.send(Self.request)
                return String(decoding: await connection.receive(), as: UTF8.self).hasPrefix("HTTP/1.1 200")
            }
        }
    }
}
