// The server as its callers see it.

import Contracts
import Foundation
import HTTPTypes
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Routing and answers")
struct ServerTests {
    private static let hello = Route(.get, "/test/v1/hello", access: .anyone, summary: "Hello", answers: []) { exchange in
        try .json(["hello": exchange.query("name") ?? "nobody"])
    }

    @Test("A route answers with JSON, its request id and the security headers, and no Server banner")
    func answer() async throws {
        try await withServer(Self.hello) { port in
            let answer = try await ask(port, "GET", "/test/v1/hello?name=a%20b+c", headers: ["X-Request-Id": "mine-1"])
            #expect(answer.status == 200)
            #expect(answer.text == #"{"hello":"a b+c"}"#)
            #expect(answer.headers["content-type"] == "application/json")
            #expect(answer.headers["x-request-id"] == "mine-1")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["cache-control"] == "no-store")
            #expect(answer.headers["date"]?.hasSuffix("GMT") == true)
            #expect(answer.headers["server"] == nil)
        }
    }

    @Test("An unsafe or overlong request id is replaced", arguments: ["a b", "é", String(repeating: "x", count: 65), "a;b", "<script>"])
    func unsafeRequestID(id: String) async throws {
        try await withServer(Self.hello) { port in
            let answer = try await ask(port, "GET", "/test/v1/hello", headers: ["X-Request-Id": id])
            #expect(answer.headers["x-request-id"]?.count == 26)
        }
    }

    @Test("UI-14: A path that does not exist is a 404 problem that says what can be done")
    func notFound() async throws {
        try await withServer(Self.hello) { port in
            for path in ["/nothing", "/test/v1/hello/", "/test/v1", "//", "/test/v1/hello/x"] {
                let answer = try await ask(port, "GET", path)
                #expect(answer.status == 404)
                #expect(answer.headers["content-type"] == "application/problem+json")
                #expect(answer.problem == "not-found")
                #expect(answer.json["detail"] is String)
                #expect(answer.json["requestId"] as? String == answer.headers["x-request-id"])
            }
        }
    }

    @Test("Another method is 405 and names those that the path takes")
    func methodNotAllowed() async throws {
        try await withServer(Self.hello, measure()) { port in
            let answer = try await ask(port, "DELETE", "/test/v1/hello")
            #expect(answer.status == 405)
            #expect(answer.headers["allow"] == "GET, HEAD")
            #expect(answer.problem == "method-not-allowed")
            #expect(try await ask(port, "GET", "/test/v1/measure").headers["allow"] == "POST")
            #expect(try await ask(port, "PROPFIND", "/test/v1/measure").status == 405)
        }
    }

    @Test("HEAD is GET without the body")
    func head() async throws {
        try await withServer(Self.hello) { port in
            let answer = try await ask(port, "HEAD", "/test/v1/hello")
            #expect(answer.status == 200)
            #expect(answer.headers["content-length"] == "18")
            #expect(answer.body.isEmpty)
        }
    }

    @Test("An unforeseen error is 500 without internals, and its text is not logged either")
    func internalError() async throws {
        struct Secret: Error, CustomStringConvertible { let description = "value 73.28125 of a person" }
        let failing = Route(.get, "/fails", access: .anyone, summary: "Fails", answers: []) { _ in throw Secret() }
        let recorder = RecordingLog()
        try await withServer(makeServer([failing], logger: recorder.logger)) { port in
            let answer = try await ask(port, "GET", "/fails")
            #expect(answer.status == 500)
            #expect(answer.problem == "internal")
            #expect(!answer.text.contains("73.28125"))
            #expect(recorder.text.contains("Secret"))
            #expect(!recorder.text.contains("73.28125"))
        }
    }

    @Test("R18: a refusal of the store was logged by the name of its type alone: the line has the code")
    func errorOfTheStore() async throws {
        struct Refused: ErrorForLogs { let wordsForLogs = "SQLite 787: FOREIGN KEY constraint failed" }
        let failing = Route(.get, "/fails", access: .anyone, summary: "Fails", answers: []) { _ in throw Refused() }
        let recorder = RecordingLog()
        try await withServer(makeServer([failing], logger: recorder.logger)) { port in
            let answer = try await ask(port, "GET", "/fails")
            #expect(answer.status == 500 && !answer.text.contains("787"))
            #expect(recorder.text.contains("SQLite 787"))
        }
    }

    @Test("A thrown problem keeps its fields and pointers; Retry-After is in whole seconds, rounded up")
    func thrownProblem() async throws {
        let refusing = Route(.get, "/refuses", access: .anyone, summary: "Refuses", answers: []) { _ in
            throw Refusal(
                Problem(
                    "too-hot", status: 429, title: "Too hot", detail: "Cool it.",
                    errors: [.init(pointer: "/a/0", FieldFault("hot", english: "is hot", italian: "scotta"))]),
                retryAfter: .milliseconds(1200))
        }
        try await withServer(refusing) { port in
            let answer = try await ask(port, "GET", "/refuses")
            #expect(answer.status == 429)
            #expect(answer.headers["retry-after"] == "2")
            #expect(answer.problem == "too-hot")
            #expect((answer.json["errors"] as? [[String: String]]) == [["pointer": "/a/0", "code": "hot", "detail": "is hot"]])
        }
    }

    @Test("Path parameters are decoded, typed, and 404 where they are no id")
    func pathParameters() async throws {
        let route = Route(.get, "/test/v1/devices/{device}/names/{name}", access: .anyone, summary: "Device", answers: []) { exchange in
            try .json([exchange.identifier("device", of: Device.self).description, exchange.path("name")])
        }
        try await withServer(route) { port in
            let answer = try await ask(port, "GET", "/test/v1/devices/\(testDevice)/names/a%2Fb%20c")
            #expect(answer.text == #"["\#(testDevice)","a/b c"]"#)
            #expect(try await ask(port, "GET", "/test/v1/devices/per_1/names/a").problem == "not-found")
            #expect(try await ask(port, "GET", "/test/v1/devices//names/a").problem == "not-found")
        }
    }

    @Test(
        "Query parameters that cannot be read are 400 with a pointer",
        arguments: [
            ("limit=0", "query:limit"), ("limit=1001", "query:limit"), ("limit=x", "query:limit"), ("from=yesterday", "query:from"),
            ("flag=maybe", "query:flag"), ("from=%zz", "query:from"), ("flag=%ff", "query:flag"),
        ])
    func queryParameters(query: String, pointer: String) async throws {
        let route = Route(.get, "/list", access: .anyone, summary: "List", answers: []) { exchange in
            _ = try (exchange.pageLimit, exchange.queryTime("from"), exchange.queryFlag("flag"))
            return .empty()
        }
        try await withServer(route) { port in
            let answer = try await ask(port, "GET", "/list?\(query)")
            #expect(answer.status == 400)
            #expect(answer.problem == "invalid-parameter")
            #expect((answer.json["errors"] as? [[String: String]])?.first?["pointer"] == pointer)
            #expect(try await ask(port, "GET", "/list?limit=1000&flag=true&from=2026-01-10T00:31:00%2B01:00").status == 204)
        }
    }

    @Test("A handler reads any header by its name in any case")
    func headers() async throws {
        let route = Route(.get, "/headers", access: .anyone, summary: "Headers", answers: []) { exchange in
            .text((exchange.header("Webhook-ID") ?? "none") + " " + (exchange.header("absent") ?? "none"))
        }
        try await withServer(route) { port in
            let answer = try await ask(port, "GET", "/headers", headers: ["webhook-id": "msg_1"])
            #expect(answer.text == "msg_1 none")
        }
    }

    @Test("A stream is written piece by piece; one that fails cuts the connection instead of ending well")
    func streams() async throws {
        struct Halfway: Error {}
        let good = Route(.get, "/good", access: .anyone, summary: "Good", answers: []) { _ in
            .stream(contentType: MediaType.ndjson) { writer in
                for number in 1...3 { try await writer.write("\(number)\n".utf8) }
            }
        }
        let bad = Route(.get, "/bad", access: .anyone, summary: "Bad", answers: []) { _ in
            .stream(contentType: MediaType.ndjson) { writer in
                try await writer.write("1\n".utf8)
                throw Halfway()
            }
        }
        try await withServer(good, bad) { port in
            let answer = try await ask(port, "GET", "/good")
            #expect(answer.text == "1\n2\n3\n")
            #expect(answer.headers["transfer-encoding"] == "chunked")
            let connection = try RawConnection(port: port)
            await connection.send("GET /bad HTTP/1.1\r\nHost: t\r\n\r\n")
            let raw = String(decoding: await connection.receiveAll(), as: UTF8.self)
            #expect(!raw.hasSuffix("0\r\n\r\n"))
        }
    }

    @Test("UI-14: Malformed HTTP is a 400 problem, too large a head a 431 problem; both end the connection and no other")
    func malformed() async throws {
        var limits = HTTPLimits()
        limits.linger = .milliseconds(50)
        try await withServer(Self.hello, limits: limits) { port in
            let long = "GET /test/v1/hello HTTP/1.1\r\nHost: t\r\nX-Long: \(String(repeating: "a", count: 20_000))\r\n\r\n"
            let many = "GET /test/v1/hello HTTP/1.1\r\nHost: t\r\n" + String(repeating: "X-A: b\r\n", count: 200) + "\r\n"
            let twoLengths = "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            for (request, status, problem) in [
                ("nonsense\r\n\r\n", 400, "malformed-request"), (twoLengths, 400, "malformed-request"), (long, 431, "head-too-large"),
                (many, 431, "head-too-large"),
            ] {
                let connection = try RawConnection(port: port)
                await connection.send(request)
                let answer = RawAnswer(await connection.receiveAll())
                #expect(answer?.status == status)
                #expect(answer?.problem == problem)
                #expect(answer?.headers["connection"] == "close")
            }
            #expect(try await ask(port, "GET", "/test/v1/hello").status == 200)
        }
    }

    @Test("Requests that are sent before their predecessor was answered are answered in their order")
    func pipelined() async throws {
        try await withServer(Self.hello, measure()) { port in
            let connection = try RawConnection(port: port)
            var requests = ""
            for number in 0..<50 {
                requests += "GET /test/v1/hello?name=\(number) HTTP/1.1\r\nHost: t\r\n\r\n"
                requests +=
                    "POST /test/v1/measure HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: \(number)\r\n\r\n"
                requests += String(repeating: "x", count: number)
            }
            requests += "GET /last HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n"
            await connection.send(requests)
            let text = String(decoding: await connection.receiveAll(), as: UTF8.self)
            let bodies = text.components(separatedBy: "\r\n\r\n").dropFirst().map { $0.components(separatedBy: "HTTP/1.1")[0] }
            #expect(bodies.dropLast() == (0..<50).flatMap { [#"{"hello":"\#($0)"}"#, #"{"length":\#($0)}"#] }[...])
            #expect(bodies.last?.contains("not-found") == true)
        }
    }

    @Test("Many pipelined requests make their sender wait, not the memory grow, and all are answered")
    func manyPipelined() async throws {
        try await withServer(Self.hello) { port in
            let connection = try RawConnection(port: port)
            let request = Array("GET /test/v1/hello HTTP/1.1\r\nHost: t\r\n\r\n".utf8)
            async let sending = connection.send(Array(repeatElement(request, count: 5000).joined()))
            var received: [UInt8] = []
            let answer = Array(#"{"hello":"nobody"}"#.utf8)
            var count = 0
            while count < 5000 {
                let more = await connection.receive()
                guard !more.isEmpty else { break }
                received += more
                let text = String(decoding: received, as: UTF8.self)
                count += text.components(separatedBy: String(decoding: answer, as: UTF8.self)).count - 1
                received = Array(text.components(separatedBy: String(decoding: answer, as: UTF8.self)).last?.utf8 ?? "".utf8)
            }
            #expect(count == 5000)
            #expect(await sending)
        }
    }

    @Test("A head that arrives byte by byte is understood, and so is a client of HTTP/1.0, whose connection ends with the answer")
    func slowHeadAndOldClient() async throws {
        try await withServer(Self.hello) { port in
            let slow = try RawConnection(port: port)
            for byte in "GET /test/v1/hello HTTP/1.1\r\nHost: t\r\n\r\n".utf8 { await slow.send([byte]) }
            #expect(await slow.receiveAnswer()?.status == 200)
            let old = try RawConnection(port: port)
            await old.send("GET /test/v1/hello HTTP/1.0\r\n\r\n")
            let answer = RawAnswer(await old.receiveAll())
            #expect(answer?.status == 200)
            #expect(answer?.headers["connection"] == "close")
        }
    }

    @Test("A client that has finished sending still gets its answer")
    func halfClosed() async throws {
        try await withServer(Self.hello) { port in
            let connection = try RawConnection(port: port)
            await connection.send("GET /test/v1/hello HTTP/1.1\r\nHost: t\r\n\r\n")
            connection.finishSending()
            #expect(RawAnswer(await connection.receiveAll())?.status == 200)
        }
    }

    @Test("An idle connection is closed")
    func idle() async throws {
        var limits = HTTPLimits()
        limits.idle = .milliseconds(50)
        try await withServer(Self.hello, limits: limits) { port in
            let connection = try RawConnection(port: port)
            #expect(await connection.receive().isEmpty)
        }
    }

    @Test("One request too many at once is 503 with Retry-After, and health still answers")
    func tooManyAtOnce() async throws {
        let gate = Gate()
        let isTaken = Atomic<Bool>(false)
        let waiting = Route(.get, "/waits", access: .anyone, summary: "Waits", answers: []) { _ in
            isTaken.store(true, ordering: .relaxed)
            await gate.wait()
            return .empty()
        }
        var limits = HTTPLimits()
        limits.concurrentRequests = 1
        try await withServer(waiting, limits: limits) { port in
            async let first = ask(port, "GET", "/waits")
            // Else it might be the one that is refused.
            try await eventually("the first is under way") { isTaken.load(ordering: .relaxed) }
            let refused = try await ask(port, "GET", "/test/openapi.json")
            #expect(refused.status == 503)
            #expect(refused.problem == "unavailable")
            #expect(refused.headers["retry-after"] == "1")
            #expect(try await ask(port, "GET", "/health/live").status == 200)
            gate.open()
            #expect(try await first.status == 204)
        }
    }

    @Test("Many requests at once over many connections all get their own answer")
    func parallel() async throws {
        try await withServer(Self.hello) { port in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let answer = try await ask(port, "GET", "/test/v1/hello?name=\(number)")
                        #expect(answer.text == #"{"hello":"\#(number)"}"#)
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

@Suite("Health")
struct HealthTests {
    @Test("Live, ready and metrics answer on the service's port")
    func ready() async throws {
        try await withServer(makeServer([])) { port in
            #expect(try await ask(port, "GET", "/health/live").json["status"] as? String == "live")
            #expect(try await ask(port, "GET", "/health/ready").status == 200)
            let metrics = try await ask(port, "GET", "/metrics")
            #expect(metrics.text == "figures 1\n")
            #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        }
    }

    @Test("A service that misses something is 503 and says what")
    func notReady() async throws {
        try await withServer(makeServer([], missing: ["catching up"])) { port in
            let answer = try await ask(port, "GET", "/health/ready")
            #expect(answer.status == 503)
            #expect(answer.json["missing"] as? [String] == ["catching up"])
        }
    }
}
