// The edge itself, in front of a service of this test: what it answers before any service is asked.

import Contracts
import Foundation
import HTTPKit
import Logging
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Operator

@Suite("The edge's own answers")
struct EdgeDoorTests {
    private struct Said: Sendable {
        let status: Int
        let text: String

        /// The first header of that name.
        func header(_ name: String) -> String? {
            text.split(separator: "\r\n").first { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
        }
    }

    /// Runs Caddy with the suite's own file until `body` is done.
    /// - Parameter heard: told of each request that came to the service.
    private static func withEdge(
        _ body: (_ https: Int, _ http: Int) async throws -> Void, heard: @escaping @Sendable (Exchange) -> Void = { _ in }
    ) async throws {
        try await withTemporaryFolder { folder in
            let free = try FreePorts.find(2)
            let layout = SuiteLayout(data: folder.path, environment: [:])
            let server = HTTPServer(
                .init(title: "Behind the edge", version: "1", summary: "Reads a body", prefix: "ingest"),
                routes: [
                    Route(
                        .post, "/ingest/v1/body", access: .anyone, summary: "Reads a body",
                        body: BodyShape([.init(MediaType.json, .anything)], limit: 100 << 20, inflatedLimit: 100 << 20), answers: []
                    ) { exchange in
                        heard(exchange)
                        _ = try await exchange.body()
                        return .empty()
                    }
                ], port: 0, edge: EdgeSecret(try layout.keys.edgeSecret()), health: Health(missing: { [] }, metrics: { "" }),
                authenticate: { _, _ in .anyone },
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let running = Task { try await server.run() }
            defer { running.cancel() }
            var ports = SuitePorts()
            (ports.ingestPort, ports.edgePort, ports.edgeHTTPPort) = (await server.boundPort, free[0], free[1])
            (ports.sosPort, ports.sosDeputyPort, ports.consentPort, ports.notifierPort, ports.gatewayPort) = (1, 1, 1, 1, 1)
            let edge = Edge(layout: layout, ports: ports)
            let part = try #require(try edge.part(Readiness()), "caddy is not installed")
            let process = Process()
            process.executableURL = URL(fileURLWithPath: part.command.executable)
            process.arguments = part.command.arguments
            process.environment = part.command.environment
            process.standardError = FileHandle.nullDevice
            try process.run()
            defer {
                process.terminate()
                process.waitUntilExit()
            }
            try await eventually("the edge answers", within: .seconds(40)) { await part.probe?() == .ready }
            try await body(free[0], free[1])
        }
    }

    private static func run(_ program: String, _ arguments: [String], input: String = "") async -> String {
        await offPool {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [program] + arguments
            let (output, entry) = (Pipe(), Pipe())
            (process.standardOutput, process.standardInput, process.standardError) = (output, entry, FileHandle.nullDevice)
            guard (try? process.run()) != nil else { return "" }
            entry.fileHandleForWriting.write(Data(input.utf8))
            try? entry.fileHandleForWriting.close()
            defer { process.waitUntilExit() }
            return String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
    }

    /// Headers and body as curl shows them.
    private static func curl(_ arguments: String..., input: String = "") async -> Said {
        let text = await run("curl", ["-s", "-k", "-i", "--max-time", "20"] + arguments, input: input)
        return Said(status: Int(text.split(separator: " ").dropFirst().first ?? "") ?? 0, text: text)
    }

    @Test(
        "X10, X20: Malformed chunks are 400 and not 503, an unknown host is 421 and not an empty 200, a redirect names the suite and not the caller's host, and only loopback listens"
    )
    func answers() async throws {
        try await Self.withEdge { https, http in
            let url = "https://localhost:\(https)/ingest/v1/body"
            let json = "Content-Type: application/json"
            let known = await Self.curl(url, "-H", json, "-d", "12345")
            #expect(known.status == 204, "\(known.text)")
            #expect(known.header("strict-transport-security") == "max-age=31536000; includeSubDomains")

            let unknown = await Self.curl(url, "-H", json, "-H", "Host: evil.example", "-d", "12345")
            #expect(unknown.status == 421 && unknown.text.contains("misdirected-request"), "\(unknown.text)")

            let redirected = await Self.curl("http://127.0.0.1:\(http)/a?b=c", "-H", "Host: evil.example")
            #expect(redirected.status == 308 && redirected.header("location") == "https://localhost:\(https)/a?b=c", "\(redirected.text)")

            let chunks =
                "POST /ingest/v1/body HTTP/1.1\r\nHost: localhost:\(https)\r\n\(json)\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            let malformed = await Self.run(
                "openssl", ["s_client", "-quiet", "-ign_eof", "-connect", "127.0.0.1:\(https)", "-servername", "localhost"],
                input: chunks + "zz\r\nabc\r\n0\r\n\r\n")
            #expect(malformed.hasPrefix("HTTP/1.1 400") && malformed.contains("malformed-request"), "\(malformed)")

            let unanswered = await Self.curl("https://localhost:\(https)/consent/v1/terms")
            #expect(unanswered.status == 503 && unanswered.header("retry-after") == "1", "\(unanswered.text)")

            let listening = await Self.run("ss", ["-ltnH"])
            for port in [https, http] {
                let lines = listening.split(separator: "\n").filter { $0.contains(":\(port) ") }
                #expect(!lines.isEmpty && lines.allSatisfy { $0.contains("127.0.0.1:\(port) ") }, "\(listening)")
            }
        }
    }

    @Test(
        "X19: a caller's own X-Forwarded-For and edge secret are replaced on the way through the edge, and what the edge says of addresses counts"
    )
    func addresses() async throws {
        let seen = Mutex<[String?]>([])
        try await Self.withEdge { https, _ in
            // From another address of this machine, so that it differs from the edge's own.
            let said = await Self.curl(
                "https://127.0.0.1:\(https)/ingest/v1/body", "--interface", "127.0.0.3", "-H", "Content-Type: application/json", "-H",
                "X-Forwarded-For: 198.51.100.7", "-H", "TrackMe-Edge: \(String(repeating: "f", count: 64))", "-d", "12345")
            #expect(said.status == 204, "\(said.text)")
        } heard: { exchange in
            seen.withLock { $0 += [exchange.remoteAddress, exchange.header("X-Forwarded-For")] }
        }
        #expect(seen.withLock { $0 } == ["127.0.0.3", "127.0.0.3"])
    }

    @Test(
        "NFR-12: without TLS nothing is taken and nothing is given: whoever looks is led to HTTPS, whoever sends or shows a token is refused, old TLS too"
    )
    func unencrypted() async throws {
        try await Self.withEdge { https, http in
            let (plain, json) = ("http://127.0.0.1:\(http)/ingest/v1/body", "Content-Type: application/json")
            for method in ["POST", "PUT", "PATCH", "DELETE"] {
                let refused = await Self.curl(plain, "-X", method, "-H", json, "-d", "12345")
                #expect(refused.status == 403 && refused.text.contains("https-required"), "\(method): \(refused.text)")
                #expect(refused.header("location") == nil)
            }
            for header in ["Authorization: Bearer x", "Cookie: a=b"] {
                let refused = await Self.curl(plain, "-H", header)
                #expect(refused.status == 403 && refused.header("location") == nil, "\(refused.text)")
            }
            let looked = await Self.curl(plain)
            #expect(looked.status == 308 && looked.header("location")?.hasPrefix("https://localhost:\(https)/") == true)
            // What is no TLS at the port of TLS gets no answer of a service, and TLS older than 1.2 no handshake.
            let spoken = await Self.curl("http://127.0.0.1:\(https)/ingest/v1/body", "-H", json, "-d", "12345")
            #expect(spoken.status == 400 || spoken.status == 0, "\(spoken.text)")
            let old = await Self.curl("--tls-max", "1.1", "https://localhost:\(https)/ingest/v1/body", "-H", json, "-d", "12345")
            #expect(old.status == 0, "\(old.text)")
        }
    }

    @Test(
        "X3: The edge takes bodies up to its size and says 413 beyond; what is slow on one of many HTTP/2 streams is ended by the service")
    func bodies() async throws {
        try await Self.withEdge { https, _ in
            let url = "https://localhost:\(https)/ingest/v1/body"
            let large = String(repeating: "1", count: 65 << 20)
            for version in ["--http1.1", "--http2"] {
                let refused = await Self.curl(
                    version, url, "-H", "Content-Type: application/json", "-H", "Expect:", "--data-binary", "@-", input: large)
                #expect(refused.status == 413, "\(version): \(refused.text.prefix(500))")
            }
        }
    }
}
