// Requests answered on the connection's own thread.

import Contracts
import Foundation
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Brief requests")
struct BriefTests {
    private static let shape = BodyShape([.init(MediaType.json, .anything)], limit: 1000, inflatedLimit: 2000)

    /// Says which way it went, and how long the body was; a body "refuse" is refused.
    private static let route = Route(
        .post, "/brief", access: .device, summary: "Brief", body: shape, answers: [],
        brief: { exchange, answer in
            guard let body = try exchange.briefBody() else { return false }
            if String(buffer: body) == "refuse" { throw Problem.invalidBody([.init(pointer: "/", .wrongFormat)]) }
            // From another thread, as a store answers.
            Thread.detachNewThread { answer { .text("brief \(body.readableBytes)") } }
            return true
        }
    ) { exchange in
        .text("long \(try await exchange.body().readableBytes)")
    }

    private static func server(limits: HTTPLimits = HTTPLimits(), recognises: Bool = true) -> HTTPServer {
        let recognise: @Sendable (Credentials, Access) throws -> Caller = { credentials, _ in
            guard credentials.bearer == "good" else { throw Problem.unauthorised }
            return .device(testDevice, testPerson)
        }
        return HTTPServer(
            description, routes: [route], port: 0, limits: limits, health: Health(missing: { [] }, metrics: { "" }),
            authenticate: recognise, recognise: recognises ? recognise : nil, logger: quietLogger())
    }

    private static let known = ["Content-Type": "application/json", "Authorization": "Bearer good"]

    @Test("A small body that is there goes the brief way; packed, long and late ones go the other, to the same answer for the caller")
    func ways() async throws {
        try await withServer(Self.server()) { port in
            #expect(try await ask(port, "POST", "/brief", headers: Self.known, body: Array("12345".utf8)).text == "brief 5")
            #expect(try await ask(port, "POST", "/brief", headers: Self.known, body: []).text == "brief 0")
            let packed = Self.known.merging(["Content-Encoding": "gzip"]) { $1 }
            #expect(try await ask(port, "POST", "/brief", headers: packed, body: pack(Array("1234567".utf8))).text == "long 7")
            let late = try RawConnection(port: port)
            await late.send(
                """
                POST /brief HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nAuthorization: Bearer good\r\nExpect: \
                100-continue\r\nContent-Length: 3\r\n\r\n
                """
            )
            #expect(RawAnswer(await late.receive())?.status == 100)
            await late.send("abc")
            #expect(await late.receiveAnswer()?.text == "long 3")
        }
    }

    @Test("Without a way to recognise callers at once, every request goes the long way")
    func unrecognised() async throws {
        try await withServer(Self.server(recognises: false)) { port in
            let answer = try await ask(port, "POST", "/brief", headers: Self.known, body: [1])
            #expect(answer.text == "long 1")
        }
    }

    @Test("ACC-14, UI-14: strangers, wrong types, too large bodies and what the handler refuses are refused as on the long way")
    func refusals() async throws {
        try await withServer(Self.server()) { port in
            let stranger = ["Content-Type": "application/json", "Authorization": "Bearer bad"]
            #expect(try await ask(port, "POST", "/brief", headers: stranger, body: [1]).problem == "unauthorised")
            #expect(try await ask(port, "POST", "/brief", headers: asJSON, body: [1]).status == 401)
            let csv = Self.known.merging(["Content-Type": "text/csv"]) { $1 }
            #expect(try await ask(port, "POST", "/brief", headers: csv, body: [1]).problem == "unsupported-media-type")
            let large = try await ask(port, "POST", "/brief", headers: Self.known, body: Array(repeating: 1, count: 1001))
            #expect(large.problem == "body-too-large")
            let refused = try await ask(port, "POST", "/brief", headers: Self.known, body: Array("refuse".utf8))
            #expect(refused.problem == "invalid-body")
            #expect(refused.json["requestId"] as? String == refused.headers["x-request-id"])
        }
    }

    @Test("Pipelined brief requests are answered in their order, refused ones included")
    func pipelined() async throws {
        try await withServer(Self.server()) { port in
            let connection = try RawConnection(port: port)
            var requests = ""
            for number in 0..<200 {
                let body = number % 5 == 0 ? "refuse" : String(repeating: "x", count: number)
                requests +=
                    """
                    POST /brief HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nAuthorization: Bearer \
                    good\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
                    """
            }
            await connection.send(requests + "GET /health/live HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
            let text = String(decoding: await connection.receiveAll(), as: UTF8.self)
            let bodies = text.components(separatedBy: "\r\n\r\n").dropFirst().map { $0.components(separatedBy: "HTTP/1.1")[0] }
            #expect(bodies.count == 201)
            for (number, body) in bodies.dropLast().enumerated() {
                #expect(number % 5 == 0 ? body.contains("invalid-body") : body == "brief \(number)")
            }
        }
    }

    @Test("One request too many at once is 503 here as well")
    func tooMany() async throws {
        var limits = HTTPLimits()
        limits.concurrentRequests = 0
        try await withServer(Self.server(limits: limits)) { port in
            let answer = try await ask(port, "POST", "/brief", headers: Self.known, body: [1])
            #expect(answer.status == 503)
            #expect(answer.headers["retry-after"] == "1")
        }
    }
}
