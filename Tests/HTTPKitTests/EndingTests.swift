// How requests end that somebody breaks off: the caller, or the service that stops.

import Contracts
import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Callers who leave")
struct LeavingTests {
    @Test("A stream's task ends when its caller goes away, also while there is nothing to write")
    func streamIsCancelled() async throws {
        let hasEnded = Mutex(false)
        let endless = Route(.get, "/endless", access: .anyone, summary: "Endless", answers: []) { _ in
            .stream(contentType: MediaType.ndjson) { writer in
                defer { hasEnded.withLock { $0 = true } }
                try await writer.write("1\n".utf8)
                // Stands for waiting for news until it is cancelled.
                try await Task.sleep(for: .seconds(3600))
            }
        }
        try await withServer(endless) { port in
            do {
                let connection = try RawConnection(port: port)
                await connection.send("GET /endless HTTP/1.1\r\nHost: t\r\n\r\n")
                #expect(RawAnswer(await connection.receive())?.status == 200)
                connection.breakOffAtEnd()
            }
            try await eventually("the task has ended") { hasEnded.withLock { $0 } }
        }
    }

    @Test("What stores goes on to its end when its caller goes away")
    func workGoesOn() async throws {
        let gate = Gate()
        let entered = Mutex(false)
        let ended = Mutex(Bool?.none)
        let storing = Route(.get, "/stores", access: .anyone, summary: "Stores", answers: []) { _ in
            entered.withLock { $0 = true }
            await gate.wait()
            ended.withLock { $0 = Task.isCancelled }
            return .empty()
        }
        try await withServer(storing) { port in
            do {
                let connection = try RawConnection(port: port)
                await connection.send("GET /stores HTTP/1.1\r\nHost: t\r\n\r\n")
                try await eventually("the handler runs") { entered.withLock { $0 } }
                connection.breakOffAtEnd()
            }
            gate.open()
            try await eventually("the handler has ended") { ended.withLock { $0 != nil } }
            #expect(ended.withLock { $0 } == false)
        }
    }
}

@Suite("Stopping")
struct DrainTests {
    private func group(_ server: HTTPServer) -> ServiceGroup {
        ServiceGroup(services: [server], logger: quietLogger())
    }

    @Test("A graceful stop takes no more connections and finishes what runs")
    func drain() async throws {
        let gate = Gate()
        let entered = Mutex(false)
        let waiting = Route(.get, "/waits", access: .anyone, summary: "Waits", answers: []) { _ in
            entered.withLock { $0 = true }
            await gate.wait()
            return .text("done")
        }
        var limits = HTTPLimits()
        limits.drain = .seconds(60)
        let server = makeServer([waiting], limits: limits)
        let group = group(server)
        let running = Task { try await group.run() }
        let port = await server.boundPort
        async let answer = ask(port, "GET", "/waits")
        try await eventually("the request runs") { entered.withLock { $0 } }
        await group.triggerGracefulShutdown()
        try await eventually("no more connections") { (try? RawConnection(port: port)) == nil }
        gate.open()
        #expect(try await answer.text == "done")
        try await running.value
    }

    @Test("Events end at once when the service stops, other streams may finish")
    func streamsAtTheEnd() async throws {
        let gate = Gate()
        func stream(_ path: String, _ type: String) -> Route {
            Route(.get, path, access: .anyone, summary: path, answers: []) { _ in
                .stream(contentType: type) { writer in
                    try await writer.write("1".utf8)
                    if type == MediaType.events {
                        // Stands for waiting for the next event.
                        try await Task.sleep(for: .seconds(3600))
                    }
                    await gate.wait()
                    try await writer.write("2".utf8)
                }
            }
        }
        var limits = HTTPLimits()
        limits.drain = .seconds(60)
        let server = makeServer([stream("/events", MediaType.events), stream("/lines", MediaType.ndjson)], limits: limits)
        let group = group(server)
        let running = Task { try await group.run() }
        let port = await server.boundPort
        let (events, lines) = (try RawConnection(port: port), try RawConnection(port: port))
        await events.send("GET /events HTTP/1.1\r\nHost: t\r\n\r\n")
        await lines.send("GET /lines HTTP/1.1\r\nHost: t\r\n\r\n")
        var began = await lines.receive()
        _ = await events.receive(most: 10)
        await group.triggerGracefulShutdown()
        _ = await events.receiveAll()
        gate.open()
        began += await lines.receiveAll()
        #expect(RawAnswer(began)?.text.contains("2") == true)
        try await running.value
    }

    @Test("An open event stream that waits for news ends when the service stops, long before the time to drain is over")
    func eventsAtTheEnd() async throws {
        let (news, _) = AsyncStream.makeStream(of: ServerEvent.self)
        let hasEnded = Mutex(false)
        let events = Route.events("/events", access: .anyone, summary: "Events", events: "News") { _ in
            EventSource {
                defer { hasEnded.withLock { $0 = true } }
                var iterator = news.makeAsyncIterator()
                return await iterator.next()
            }
        }
        var limits = HTTPLimits()
        limits.drain = .seconds(3600)
        let server = makeServer([events], limits: limits)
        let group = group(server)
        let running = Task { try await group.run() }
        let port = await server.boundPort
        let connection = try RawConnection(port: port)
        await connection.send("GET /events HTTP/1.1\r\nHost: t\r\n\r\n")
        var heard = ""
        while !heard.contains(": connected") {
            let more = await connection.receive()
            try #require(!more.isEmpty)
            heard += String(decoding: more, as: UTF8.self)
        }
        await group.triggerGracefulShutdown()
        _ = await connection.receiveAll()
        try await running.value
        try await eventually("its source has ended") { hasEnded.withLock { $0 } }
    }

    @Test("A request that does not end is cancelled when the time to drain is over")
    func boundedDrain() async throws {
        let entered = Mutex(false)
        let stubborn = Route(.get, "/waits", access: .anyone, summary: "Waits", answers: []) { _ in
            entered.withLock { $0 = true }
            // Stands for work that goes on until it is cancelled.
            try await Task.sleep(for: .seconds(3600))
            return .empty()
        }
        var limits = HTTPLimits()
        limits.drain = .milliseconds(50)
        let server = makeServer([stubborn], limits: limits)
        let group = group(server)
        let running = Task { try await group.run() }
        let port = await server.boundPort
        let connection = try RawConnection(port: port)
        await connection.send("GET /waits HTTP/1.1\r\nHost: t\r\n\r\n")
        try await eventually("the request runs") { entered.withLock { $0 } }
        await group.triggerGracefulShutdown()
        try await running.value
    }
}

@Suite("A port that another process listens on")
struct TakenPortTests {
    @Test("SOS-28: a service that found its port taken at its start did without callers for ever: it listens once the port is free")
    func bindsWhenFree() async throws {
        let other = try Loopback.listening()
        let log = RecordingLog()
        let server = makeServer([], port: other.port, logger: log.logger)
        let running = Task { try await server.run() }
        try await eventually("the port is found taken") { log.text.contains("another process listens on the port") }
        close(other.descriptor)
        #expect(await server.boundPort == other.port)
        running.cancel()
        try await running.value
    }

    @Test("a service that waits for its port ends when it is told to")
    func endsWhileTaken() async throws {
        let other = try Loopback.listening()
        defer { close(other.descriptor) }
        let running = Task { try await makeServer([], port: other.port).run() }
        running.cancel()
        try await running.value
    }

    @Test("who waited for the port of a server that never listened waited on when cancelled, and kept its process half alive")
    func waitingForPortIsCancelled() async throws {
        let other = try Loopback.listening()
        defer { close(other.descriptor) }
        let server = makeServer([], port: other.port)
        let hasEnded = Mutex(false)
        let waiting = Task {
            let port = await server.boundPort
            hasEnded.withLock { $0 = true }
            return port
        }
        waiting.cancel()
        try await eventually("the wait ends") { hasEnded.withLock { $0 } }
        #expect(await waiting.value == other.port)
    }
}
