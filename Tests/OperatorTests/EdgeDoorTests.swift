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
    /// - Parameters:
    ///   - limits: of the service behind it.
    ///   - heard: told of each request that came to the service.
    ///   - broken: told of each body that the service would read no further, and how long after its request had come.
    private static func withEdge(
        limits: HTTPLimits = HTTPLimits(), _ body: (_ https: Int, _ http: Int) async throws -> Void,
        heard: @escaping @Sendable (Exchange) -> Void = { _ in },
        broken: @escaping @Sendable (any Error, Duration) -> Void = { _, _ in }
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
                        let begun = ContinuousClock.now
                        do {
                            _ = try await exchange.body()
                        } catch {
                            broken(error, .now - begun)
                            throw error
                        }
                        return .empty()
                    }
                ], port: 0, limits: limits, edge: EdgeSecret(try layout.keys.edgeSecret()),
                health: Health(missing: { [] }, metrics: { "" }), authenticate: { _, _ in .anyone }, logger: Running.quiet)
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

    @Test("The edge's own 503, for a service that is hung or killed, did not say that the same may be sent again")
    func serviceDown() async throws {
        try await Self.withEdge { https, _ in
            let said = await Self.curl("https://localhost:\(https)/consent/v1/terms")
            #expect(said.status == 503 && said.header("retry-after") == "1", "\(said.text)")
            #expect(said.header("content-type") == "application/problem+json")
            let body = said.text.components(separatedBy: "\r\n\r\n").last ?? ""
            let problem = try JSONDecoder().decode(Problem.self, from: Data(body.utf8))
            #expect(problem.type == "urn:trackme:problem:unavailable" && problem.status == 503)
            let detail = try #require(problem.detail)
            for words in ["not certain", "Send the same request again", "same Idempotency-Key", "same entries"] {
                #expect(detail.contains(words), "\(detail)")
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
        "X3: The edge takes a body up to its size and says 413 beyond; whoever offers HTTP/2 is answered by HTTP/1.1, since it bounds no streams"
    )
    func bodies() async throws {
        try await Self.withEdge { https, _ in
            let url = "https://localhost:\(https)/ingest/v1/body"
            func send(_ bytes: Int, _ version: String) async -> Said {
                await Self.curl(
                    version, url, "-H", "Content-Type: application/json", "-H", "Expect:", "--data-binary", "@-",
                    input: String(repeating: "1", count: bytes))
            }
            let taken = await send(60 << 20, "--http1.1")
            #expect(taken.status == 204, "\(taken.text.prefix(500))")
            for version in ["--http1.1", "--http2"] {
                let refused = await send(65 << 20, version)
                #expect(refused.status == 413 && refused.text.hasPrefix("HTTP/1.1 "), "\(version): \(refused.text.prefix(500))")
            }
        }
    }

    /// Sends a body of `length` bytes, ten of them a second, for five seconds; gives what was answered.
    private static func trickle(_ https: Int, length: Int) async -> String {
        let head =
            "POST /ingest/v1/body HTTP/1.1\r\nHost: localhost:\(https)\r\nContent-Type: application/json\r\nContent-Length: \(length)\r\n\r\n"
        // By a shell: its writer ends by itself where the other side takes nothing more. The sleep is the sender's pace.
        return await run(
            "bash",
            [
                "-c",
                "{ printf %s \"$0\"; while sleep 0.1 && printf 1; do :; done; } | timeout 5 openssl s_client -quiet -connect \"$1\" -servername localhost",
                head, "127.0.0.1:\(https)",
            ])
    }

    @Test(
        "X3: a body that comes a byte now and then on one of many connections through the edge is ended by the service once its time is over; others are answered meanwhile"
    )
    func slowBodies() async throws {
        var limits = HTTPLimits()
        limits.bodyArrival = .seconds(1)
        let slow = 8
        let heard = Mutex(0)
        let ended = Mutex<[(status: Int?, took: Duration)]>([])
        let pace = MachinePace()
        defer { pace.end() }
        try await Self.withEdge(limits: limits) { https, _ in
            async let long = Self.trickle(https, length: 1_000_000)
            async let short: Void = withDiscardingTaskGroup { group in
                for _ in 1..<slow { group.addTask { _ = await Self.trickle(https, length: 1000) } }
            }
            try await eventually("all are under way") { heard.withLock { $0 } >= slow }
            let quick = await Self.curl("https://localhost:\(https)/ingest/v1/body", "-H", "Content-Type: application/json", "-d", "12345")
            #expect(quick.status == 204, "\(quick.text)")
            try await eventually("all are ended") { ended.withLock { $0.count } == slow }
            // Of a body under 256 KiB the edge reads away what is left before it answers: its sender sees the end later than the service.
            let answer = await long
            #expect(answer.hasPrefix("HTTP/1.1 408") && answer.contains("request-timeout"), "\(answer)")
            await short
        } heard: { _ in
            heard.withLock { $0 += 1 }
        } broken: { error, took in
            ended.withLock { $0.append(((error as? Problem)?.status, took)) }
        }
        // A second of grace; the twenty bytes that came by then bought some hundredths more. Whole they were there after 100 s.
        let bound = pace.allowed(.seconds(2), waiting: .seconds(1))
        for (status, took) in ended.withLock({ $0 }) {
            #expect(status == 408 && took > .milliseconds(500) && took < bound, "\(String(describing: status)) after \(took) of \(bound)")
        }
    }
}
