// Requests whose end or addressee is not certain, byte by byte on connections of their own.

import Foundation
import TestKit
import Testing

@testable import HTTPKit

@Suite("Ambiguous requests")
struct FramingTests {
    /// What is sent after `POST /test/v1/measure HTTP/1.1`.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let rest: String

        var testDescription: String { name }

        init(_ name: String, _ rest: String) {
            (self.name, self.rest) = (name, rest)
        }
    }

    private static let smuggled = "GET /test/v1/smuggled HTTP/1.1\r\nHost: t\r\n\r\n"
    private static let json = "Content-Type: application/json\r\n"

    private static let ambiguous = [
        Case("no Host", "\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("two Hosts", "\r\nHost: t\r\nHost: u\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("an empty Host", "\r\nHost: \r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("two names in one Host", "\r\nHost: t, u\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("somebody's name in the Host", "\r\nHost: me@t\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("a path in the Host", "\r\nHost: t/x\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("another coding before chunks", "\r\nHost: t\r\n\(json)Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        Case("another coding alone", "\r\nHost: t\r\n\(json)Transfer-Encoding: gzip\r\n\r\n\(smuggled)"),
        Case("a coding of nobody's", "\r\nHost: t\r\n\(json)Transfer-Encoding: xchunked\r\n\r\n\(smuggled)"),
        Case("no coding in Transfer-Encoding", "\r\nHost: t\r\n\(json)Transfer-Encoding: \r\n\r\n\(smuggled)"),
        Case("no coding and a tab", "\r\nHost: t\r\n\(json)Transfer-Encoding:\t\r\n\r\n\(smuggled)"),
        Case("chunks twice", "\r\nHost: t\r\n\(json)Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        Case(
            "chunks twice, in two fields", "\r\nHost: t\r\n\(json)Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        Case("chunks in quotes", "\r\nHost: t\r\n\(json)Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
        Case("chunks and a length", "\r\nHost: t\r\n\(json)Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        Case("a length and chunks", "\r\nHost: t\r\n\(json)Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Case("two lengths", "\r\nHost: t\r\n\(json)Content-Length: 1\r\nContent-Length: 2\r\n\r\n12"),
        Case("one length twice", "\r\nHost: t\r\n\(json)Content-Length: 1\r\nContent-Length: 1\r\n\r\n1"),
        Case("two lengths in one field", "\r\nHost: t\r\n\(json)Content-Length: 1, 1\r\n\r\n1"),
        Case("a length with a sign", "\r\nHost: t\r\n\(json)Content-Length: +1\r\n\r\n1"),
        Case("a negative length", "\r\nHost: t\r\n\(json)Content-Length: -1\r\n\r\n1"),
        Case("a length in hexadecimal", "\r\nHost: t\r\n\(json)Content-Length: 0x1\r\n\r\n1"),
        Case("a length with a space", "\r\nHost: t\r\n\(json)Content-Length: 1 1\r\n\r\n1"),
        Case("a length beyond all numbers", "\r\nHost: t\r\n\(json)Content-Length: 99999999999999999999\r\n\r\n1"),
        Case("an empty length", "\r\nHost: t\r\n\(json)Content-Length: \r\n\r\n1"),
        Case("a folded line", "\r\nHost: t\r\nX-Folded: a\r\n b\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("a folded length", "\r\nHost: t\r\n\(json)Content-Length:\r\n 1\r\n\r\n1"),
        Case("a space before the colon", "\r\nHost: t\r\n\(json)Content-Length : 1\r\n\r\n1"),
        Case("a NUL in a name", "\r\nHost: t\r\nX-\0A: b\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("a NUL in a value", "\r\nHost: t\r\nX-A: b\0c\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("a CR in a name", "\r\nHost: t\r\nX-\rA: b\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("a CR in a value", "\r\nHost: t\r\nX-A: b\rContent-Length: 9\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("a control character in a value", "\r\nHost: t\r\nX-A: b\u{1}c\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("a line without a colon", "\r\nHost: t\r\nnonsense\r\n\(json)Content-Length: 1\r\n\r\n1"),
        Case("an empty name", "\r\nHost: t\r\n: b\r\n\(json)Content-Length: 1\r\n\r\n1"),
    ]

    @Test(
        "X18: A head that two readers could read differently is 400, and the connection is closed with all that follows",
        arguments: ambiguous
    )
    func refused(_ given: Case) async throws {
        let smuggled = Tally()
        var limits = HTTPLimits()
        limits.linger = .milliseconds(50)
        try await withServer(measure(), Self.second(smuggled), limits: limits) { port in
            let connection = try RawConnection(port: port)
            await connection.send("POST /test/v1/measure HTTP/1.1" + given.rest + Self.smuggled)
            let bytes = await connection.receiveAll()
            let answer = try #require(RawAnswer(bytes), "\(given.name): closed without a word")
            #expect(answer.status == 400, "\(given.name)")
            #expect(answer.problem == "malformed-request", "\(given.name)")
            #expect(answer.headers["connection"] == "close", "\(given.name)")
            #expect(String(decoding: bytes, as: UTF8.self).components(separatedBy: "HTTP/1.1 ").count == 2, "one answer, no second one")
            #expect(smuggled.count == 0, "\(given.name): what followed was taken for a request")
        }
    }

    private static func second(_ tally: Tally) -> Route {
        Route(.get, "/test/v1/smuggled", access: .anyone, summary: "Counts", answers: []) { _ in
            tally.add(1)
            return .empty()
        }
    }

    private static let badChunks = [
        Case("a size that is none", "xyz\r\nabc\r\n0\r\n\r\n"), Case("a negative size", "-1\r\nabc\r\n0\r\n\r\n"),
        Case("a size with a prefix", "0x3\r\nabc\r\n0\r\n\r\n"), Case("a size beyond all numbers", "fffffffffffffffff\r\nabc\r\n0\r\n\r\n"),
        Case("more than the size", "2\r\nabc\r\n0\r\n\r\n"), Case("an empty size", "\r\nabc\r\n0\r\n\r\n"),
    ]

    @Test(
        "X18: A chunk whose size cannot be read ends the request and the connection, and what follows is no request", arguments: badChunks)
    func chunks(_ given: Case) async throws {
        let smuggled = Tally()
        var limits = HTTPLimits()
        limits.linger = .milliseconds(50)
        try await withServer(measure(), Self.second(smuggled), limits: limits) { port in
            let connection = try RawConnection(port: port)
            await connection.send(
                "POST /test/v1/measure HTTP/1.1\r\nHost: t\r\n\(Self.json)Transfer-Encoding: chunked\r\n\r\n" + given.rest + Self.smuggled)
            let answer = RawAnswer(await connection.receiveAll())
            #expect(answer?.status == 400 && answer?.headers["connection"] == "close", "\(given.name)")
            #expect(smuggled.count == 0, "\(given.name)")
        }
    }

    @Test(
        "X18: What browsers, programs and the edge write is understood",
        arguments: ["t", "t:80", "localhost:8443", "127.0.0.1", "[::1]:8101", "[fe80::1%25eth0]", "xn--bcher-kva.example", "a_b.example"])
    func understood(host: String) async throws {
        try await withServer(measure()) { port in
            let connection = try RawConnection(port: port)
            for chunked in [false, true] {
                await connection.send(
                    "POST /test/v1/measure HTTP/1.1\r\nhOST: \(host)\r\n\(Self.json)"
                        + (chunked ? "Transfer-Encoding: CHUNKED\r\n\r\n1\r\n1\r\n0\r\n\r\n" : "Content-Length: 1\r\n\r\n1"))
                #expect(await connection.receiveAnswer()?.text == #"{"length":1}"#)
            }
            let old = try RawConnection(port: port)
            await old.send("POST /test/v1/measure HTTP/1.0\r\n\(Self.json)Content-Length: 1\r\n\r\n1")
            #expect(RawAnswer(await old.receiveAll())?.status == 200)
        }
    }
}
