// Bodies: bounded, inflated, in time.

import Contracts
import Foundation
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Bodies")
struct BodyTests {
    @Test("A body of exactly the limit is taken, one byte more is 413 body-too-large")
    func limitBeforeInflating() async throws {
        try await withServer(measure(limit: 1000)) { port in
            let most = try await ask(port, "POST", "/test/v1/measure", headers: asJSON, body: Array(repeating: 32, count: 1000))
            #expect(most.status == 200)
            #expect(most.json["length"] as? Int == 1000)
            let more = try await ask(port, "POST", "/test/v1/measure", headers: asJSON, body: Array(repeating: 32, count: 1001))
            #expect(more.status == 413)
            #expect(more.problem == "body-too-large")
            #expect((more.json["detail"] as? String)?.contains("1000 bytes as sent") == true)
        }
    }

    @Test("A body without a length that grows past the limit is 413 as well")
    func limitOfChunkedBody() async throws {
        try await withServer(measure(limit: 10)) { port in
            let connection = try RawConnection(port: port)
            await connection.send(
                "POST /test/v1/measure HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            await connection.send("6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n")
            #expect(RawAnswer(await connection.receiveAll())?.problem == "body-too-large")
        }
    }

    @Test("A packed body may inflate to exactly the limit; one byte more is 413", arguments: [true, false])
    func limitAfterInflating(gzip: Bool) async throws {
        try await withServer(measure(inflatedLimit: 2000)) { port in
            let headers = ["Content-Type": "application/json", "Content-Encoding": gzip ? "gzip" : "deflate"]
            let most = try await ask(
                port, "POST", "/test/v1/measure", headers: headers, body: pack(Array(repeating: 32, count: 2000), gzip: gzip))
            #expect(most.json["length"] as? Int == 2000)
            let more = try await ask(
                port, "POST", "/test/v1/measure", headers: headers, body: pack(Array(repeating: 32, count: 2001), gzip: gzip))
            #expect(more.status == 413)
            #expect((more.json["detail"] as? String)?.contains("2000 bytes after inflating") == true)
        }
    }

    @Test("A body that would inflate to 64 MiB stops at the limit")
    func bomb() async throws {
        try await withServer(measure(limit: 1 << 20, inflatedLimit: 1 << 20)) { port in
            let bomb = pack(Array(repeating: 0, count: 64 << 20))
            #expect(bomb.count < 1 << 20)
            let answer = try await ask(port, "POST", "/test/v1/measure", headers: asGzip, body: bomb)
            #expect(answer.status == 413)
            #expect(answer.problem == "body-too-large")
        }
    }

    @Test("Damaged, cut-off and foreign bytes are 400 bad-encoding")
    func brokenGzip() async throws {
        try await withServer(measure()) { port in
            let whole = pack(Array("hello, hello, hello".utf8))
            var damaged = whole
            damaged[whole.count - 6] ^= 0xFF
            let broken = [Array(whole.dropLast()), Array(whole.prefix(10)), damaged, whole + [1, 2, 3], Array("plain".utf8), [UInt8]()]
            for body in broken {
                let answer = try await ask(port, "POST", "/test/v1/measure", headers: asGzip, body: body)
                #expect(answer.status == 400)
                #expect(answer.problem == "bad-encoding")
            }
        }
    }

    @Test("Two gzip members one after the other are one body")
    func members() async throws {
        try await withServer(measure()) { port in
            let answer = try await ask(
                port, "POST", "/test/v1/measure", headers: asGzip, body: pack(Array("ab".utf8)) + pack(Array("cde".utf8)))
            #expect(answer.json["length"] as? Int == 5)
        }
    }

    @Test("Unknown encodings and content types, and none at all, are 415")
    func unsupported() async throws {
        try await withServer(measure()) { port in
            let brotli = try await ask(
                port, "POST", "/test/v1/measure", headers: ["Content-Type": "application/json", "Content-Encoding": "br"], body: [1])
            #expect(brotli.status == 415)
            #expect(brotli.problem == "unsupported-encoding")
            for headers in [["Content-Type": "text/csv"], [:]] {
                let answer = try await ask(port, "POST", "/test/v1/measure", headers: headers, body: [1])
                #expect(answer.status == 415)
                #expect(answer.problem == "unsupported-media-type")
            }
            let spelled = try await ask(
                port, "POST", "/test/v1/measure", headers: ["Content-Type": "Application/JSON ; charset=utf-8"], body: [1])
            #expect(spelled.status == 200)
        }
    }

    @Test("A body that trickles in past its time is 408")
    func slowBody() async throws {
        var limits = HTTPLimits()
        (limits.bodyArrival, limits.bodyLongest) = (.milliseconds(200), .milliseconds(200))
        try await withServer(measure(limit: 1 << 30), limits: limits) { port in
            let connection = try RawConnection(port: port)
            await connection.send(
                "POST /test/v1/measure HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            let trickling = Task { while !Task.isCancelled, await connection.send("1\r\na\r\n") {} }
            let answer = await connection.receiveAnswer()
            trickling.cancel()
            #expect(answer?.problem == "request-timeout")
            await trickling.value
        }
    }

    @Test(
        "A sender that falls silent in the middle of a body is answered with 408 in time and gives its place to the next",
        arguments: ["/test/v1/measure", "/lines"])
    func silentSender(path: String) async throws {
        var limits = HTTPLimits()
        (limits.bodyArrival, limits.bodyPause, limits.linger) = (.milliseconds(200), .milliseconds(200), .milliseconds(20))
        // Nothing else would end the wait, and there is one place.
        (limits.idle, limits.concurrentRequests) = (.seconds(3600), 1)
        try await withServer(measure(), BodyChunksTests.lines(Tally()), limits: limits) { port in
            for sent in ["", "abc"] {
                let silent = try RawConnection(port: port)
                await silent.send(
                    "POST \(path) HTTP/1.1\r\nHost: t\r\nContent-Type: \(path == "/lines" ? "application/x-ndjson" : "application/json")\r\n"
                        + "Content-Length: 100\r\n\r\n\(sent)")
                let answer = RawAnswer(await silent.receiveAll())
                #expect(answer?.status == 408 && answer?.problem == "request-timeout")
                #expect(answer?.headers["connection"] == "close")
                try await eventually("the place is free") {
                    try await ask(port, "POST", "/test/v1/measure", headers: asJSON, body: [1]).status == 200
                }
            }
        }
    }

    @Test("A connection that breaks in the middle of a body harms nobody else")
    func brokenConnection() async throws {
        try await withServer(measure()) { port in
            do {
                let connection = try RawConnection(port: port)
                await connection.send(
                    "POST /test/v1/measure HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\nabc")
            }
            #expect(try await ask(port, "POST", "/test/v1/measure", headers: asJSON, body: [1]).status == 200)
        }
    }

    @Test("A large body that nobody wants is answered at once and its connection closed")
    func unwanted() async throws {
        var limits = HTTPLimits()
        limits.linger = .milliseconds(50)
        try await withServer(measure(), limits: limits) { port in
            let connection = try RawConnection(port: port)
            await connection.send(
                "POST /test/v1/measure HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n")
            let answer = RawAnswer(await connection.receiveAll())
            #expect(answer?.status == 413)
            #expect(answer?.headers["connection"] == "close")
        }
    }

    @Test("An unread small body does not cost the connection")
    func unreadSmallBody() async throws {
        let deaf = Route(.post, "/deaf", access: .anyone, summary: "Reads nothing", answers: []) { _ in .empty() }
        try await withServer(deaf) { port in
            let connection = try RawConnection(port: port)
            for _ in 0..<2 {
                await connection.send("POST /deaf HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\n\r\nabc")
                #expect(await connection.receiveAnswer()?.status == 204)
            }
        }
    }

    @Test("Expect: 100-continue is answered before the body comes")
    func expectContinue() async throws {
        try await withServer(measure()) { port in
            let connection = try RawConnection(port: port)
            await connection.send(
                "POST /test/v1/measure HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: 2\r\n\r\n"
            )
            #expect(RawAnswer(await connection.receive())?.status == 100)
            await connection.send("{}")
            #expect(RawAnswer(await connection.receiveAll())?.json["length"] as? Int == 2)
        }
    }
}

@Suite("Bodies in pieces")
struct BodyChunksTests {
    static func lines(_ seen: Tally, gate: Gate? = nil, inflatedLimit: Int = .max) -> Route {
        let shape = BodyShape([.init(MediaType.ndjson, .anything)])
        return Route(.post, "/lines", access: .anyone, summary: "Bytes", body: shape, answers: []) { exchange in
            var bytes = 0
            var largest = 0
            for try await piece in try exchange.bodyChunks(inflatedLimit: inflatedLimit) {
                bytes += piece.readableBytes
                largest = max(largest, piece.readableBytes)
                seen.add(piece.readableBytes)
                await gate?.wait()
            }
            return try .json(["bytes": bytes, "largest": largest])
        }
    }

    private static let asLines = ["Content-Type": "application/x-ndjson"]

    @Test("Every byte arrives, in pieces of at most 64 KiB", arguments: [true, false])
    func pieces(packed: Bool) async throws {
        let body = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try await withServer(Self.lines(Tally())) { port in
            var headers = Self.asLines
            if packed { headers["Content-Encoding"] = "gzip" }
            let answer = try await ask(port, "POST", "/lines", headers: headers, body: packed ? pack(body) : body)
            #expect(answer.json["bytes"] as? Int == body.count)
            #expect((answer.json["largest"] as? Int ?? .max) <= 64 << 10)
        }
    }

    @Test("A slow reader makes the sender wait instead of filling memory")
    func backPressure() async throws {
        let seen = Tally()
        let gate = Gate()
        let total = 64 << 20
        try await withServer(Self.lines(seen, gate: gate)) { port in
            let connection = try RawConnection(port: port)
            await connection.send(
                "POST /lines HTTP/1.1\r\nHost: t\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\nContent-Length: \(total)\r\n\r\n"
            )
            let sent = Tally()
            let sending = Task {
                let piece = [UInt8](repeating: 10, count: 1 << 20)
                for _ in 0..<64 {
                    guard await connection.send(piece) else { return }
                    sent.add(piece.count)
                }
            }
            try await eventually("the first piece") { seen.count > 0 }
            // The reader stands still. Sockets and the server's own buffers fill up, and the sender stays far from its end.
            try await eventually("a standstill") {
                let before = sent.count
                // Two looks apart: a sender that goes on has sent more in between.
                try await Task.sleep(for: .milliseconds(100))
                return before == sent.count
            }
            #expect(sent.count < total / 2)
            gate.open()
            await sending.value
            #expect(RawAnswer(await connection.receiveAll())?.json["bytes"] as? Int == total)
        }
    }

    @Test("A sender that trickles uses its patience up; one that is fast enough may take as long as it takes, silences apart")
    func pace() {
        var limits = HTTPLimits()
        (limits.bodyPause, limits.slowestBody) = (.seconds(20), 512)
        var trickling = BodyPace(limits)
        #expect(trickling.left == .seconds(20))
        for _ in 0..<3 { trickling.note(1, after: .seconds(9)) }
        #expect(trickling.left < .zero)
        var steady = BodyPace(limits)
        for _ in 0..<10_000 { steady.note(1024, after: .seconds(1)) }
        #expect(steady.left == .seconds(20), "what was gained buys no longer silence")
        steady.note(0, after: .seconds(9990))
        #expect(steady.left == .seconds(20))
        steady.note(0, after: .seconds(20))
        #expect(steady.left == .seconds(10))
    }

    @Test("A packed stream that is cut off or too long after inflating is refused")
    func refusals() async throws {
        try await withServer(Self.lines(Tally(), inflatedLimit: 100_000)) { port in
            var headers = Self.asLines
            headers["Content-Encoding"] = "gzip"
            let cut = try await ask(port, "POST", "/lines", headers: headers, body: pack(Array(repeating: 1, count: 1000)).dropLast(3))
            #expect(cut.problem == "bad-encoding")
            let bomb = try await ask(port, "POST", "/lines", headers: headers, body: pack(Array(repeating: 1, count: 10 << 20)))
            #expect(bomb.problem == "body-too-large")
        }
    }
}

/// Counts across tasks.
final class Tally: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    func add(_ amount: Int) {
        state.withLock { $0 += amount }
    }
}

/// Holds whoever waits until it is opened.
final class Gate: Sendable {
    private let state = Mutex<(open: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

    func wait() async {
        await withCheckedContinuation { continuation in
            let open = state.withLock { state in
                if !state.open { state.waiting.append(continuation) }
                return state.open
            }
            if open { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.open = true
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
