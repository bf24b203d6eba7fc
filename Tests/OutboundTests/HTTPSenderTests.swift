// Sending to a real server that behaves well and badly.

import Foundation
import Logging
import Synchronization
import TestKit
import Testing

@testable import Outbound

private func sender(_ policy: AddressPolicy = .anywhere, _ change: (inout OutboundSettings) -> Void = { _ in }) -> HTTPSender {
    var settings = OutboundSettings()
    settings.policy = policy
    change(&settings)
    return HTTPSender(settings, logger: Running.quiet)
}

/// Why it failed; nil where it did not.
private func failure(_ sender: HTTPSender, _ request: OutboundRequest) async -> OutboundError? {
    do {
        _ = try await sender.send(request)
        return nil
    } catch {
        return error
    }
}

@Suite("HTTP sender")
struct HTTPSenderTests {
    @Test("A POST arrives as it was meant, and its answer comes back")
    func post() async throws {
        let server = RudeServer.echo()
        var request = OutboundRequest.post(server.url + "/hook?a=1", Array(#"{"a":"è"}"#.utf8), contentType: "application/json")
        request.headers += [("X-Empty", ""), ("webhook-id", "msg_1")]
        let response = try await sender().send(request)
        #expect(response.status == 200)
        let echoed = String(decoding: response.body, as: UTF8.self)
        #expect(echoed.hasPrefix("POST /hook?a=1 HTTP/1.1\r\n"))
        #expect(echoed.contains("Content-Type: application/json\r\n"))
        #expect(echoed.contains("webhook-id: msg_1\r\n"))
        #expect(echoed.contains("X-Empty:\r\n"))
        #expect(!echoed.contains("Expect"))
        #expect(echoed.hasSuffix("\r\n\r\n" + #"{"a":"è"}"#))
    }

    @Test("Other methods, with and without a body, keep their name", arguments: ["GET", "PUT", "DELETE", "PATCH", "POST"], [0, 3])
    func methods(method: String, length: Int) async throws {
        let server = RudeServer.echo()
        let response = try await sender().send(
            OutboundRequest(url: server.url + "/", method: method, body: Array(repeating: 65, count: length)))
        let echoed = String(decoding: response.body, as: UTF8.self)
        #expect(echoed.hasPrefix("\(method) / HTTP/1.1"))
        #expect(echoed.hasSuffix("\r\n\r\n" + String(repeating: "A", count: length)))
    }

    @Test("Headers are found in any case, and those of an interim answer are forgotten")
    func headers() async throws {
        let server = RudeServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 103 Early Hints\r\nRetry-After: 99\r\n\r\n")
            connection.answer(503, "busy", headers: "RETRY-after:  7 \r\n")
        }
        let response = try await sender().send(OutboundRequest(url: server.url))
        #expect(response.status == 503)
        #expect(!response.isSuccess)
        #expect(response.header("Retry-After")?.trimmingCharacters(in: .whitespaces) == "7")
        #expect(response.header("absent") == nil)
    }

    @Test("Connections stay warm: one hundred requests in a row use one")
    func warm() async throws {
        let server = RudeServer.echo()
        let sender = sender()
        for _ in 0..<100 { #expect(try await sender.send(OutboundRequest(url: server.url)).status == 200) }
        #expect(server.connections == 1)
    }

    @Test("A redirect is returned and not followed")
    func redirect() async throws {
        let server = RudeServer { connection in
            while connection.readRequest() != nil { connection.answer(302, headers: "Location: http://127.0.0.1:1/\r\n") }
        }
        let response = try await sender().send(OutboundRequest(url: server.url))
        #expect(response.status == 302)
        #expect(response.header("location") == "http://127.0.0.1:1/")
        #expect(server.connections == 1)
    }

    @Test("A server that never answers is a timeout, which may be retried")
    func slow() async {
        let server = RudeServer { connection in
            _ = connection.readRequest()
            _ = connection.readRequest()
        }
        let error = await failure(sender(), OutboundRequest(url: server.url, timeout: .milliseconds(80)))
        #expect(error == .timeout)
        #expect(error?.isRetriable == true)
    }

    @Test("An answer that trickles past the timeout is one as well")
    func trickling() async {
        let server = RudeServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")
            _ = connection.readRequest()
        }
        #expect(await failure(sender(), OutboundRequest(url: server.url, timeout: .milliseconds(80))) == .timeout)
    }

    @Test("An answer of exactly the limit is taken, one byte more is too large, with and without a length")
    func oversized() async throws {
        let server = RudeServer { connection in
            while let request = connection.readRequest() {
                let length = request.hasPrefix("GET /fits") ? 1000 : 1001
                let body = String(repeating: "x", count: length)
                if request.hasPrefix("GET /endless") {
                    connection.write("HTTP/1.1 200 OK\r\n\r\n" + body)
                    return
                }
                connection.answer(200, body)
            }
        }
        let sender = sender()
        func ask(_ path: String) -> OutboundRequest { OutboundRequest(url: server.url + path, maxResponseBytes: 1000) }
        #expect(try await sender.send(ask("/fits")).body.count == 1000)
        #expect(await failure(sender, ask("/more")) == .tooLarge)
        #expect(await failure(sender, ask("/endless")) == .tooLarge)
    }

    @Test("Endless headers are too large")
    func endlessHeaders() async {
        let server = RudeServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n")
            for _ in 0..<2000 { connection.write("X-Filler: \(String(repeating: "a", count: 60))\r\n") }
        }
        #expect(await failure(sender(), OutboundRequest(url: server.url)) == .tooLarge)
    }

    @Test("A closed port is a failure to connect, a broken or foreign answer another failure; all may be retried")
    func broken() async {
        let sender = sender()
        #expect(await failure(sender, OutboundRequest(url: "http://127.0.0.1:\(RudeServer.closedPort())")) == .connect)
        let hangsUp = RudeServer { connection in _ = connection.readRequest() }
        let cut = RudeServer { connection in
            _ = connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        }
        let foreign = RudeServer { connection in
            _ = connection.readRequest()
            connection.write("SSH-2.0-OpenSSH_9.2\r\n")
        }
        for server in [hangsUp, cut, foreign] {
            let error = await failure(sender, OutboundRequest(url: server.url))
            guard case .other = error else {
                Issue.record("expected .other, got \(String(describing: error))")
                continue
            }
            #expect(error?.isRetriable == true)
        }
    }

    @Test("A server without TLS behind https is a failure of TLS")
    func noTLS() async {
        let server = RudeServer { connection in connection.write("HTTP/1.1 400 Bad Request\r\n\r\n") }
        #expect(await failure(sender(), OutboundRequest(url: "https://127.0.0.1:\(server.port)")) == .tls)
    }

    @Test(
        "A private address is refused before anything is sent, by number and by name",
        arguments: ["127.0.0.1", "localhost", "0.0.0.0", "[::1]"])
    func privateAddress(host: String) async {
        let server = RudeServer.echo()
        let error = await failure(sender(.publicOnly), OutboundRequest(url: "http://\(host):\(server.port)/"))
        #expect(error == .refusedAddress)
        #expect(error?.isRetriable == false)
        #expect(server.connections == 0)
    }

    @Test(
        "What could smuggle or lead elsewhere is malformed",
        arguments: [
            OutboundRequest(url: "ftp://127.0.0.1/"), OutboundRequest(url: "file:///etc/passwd"),
            OutboundRequest(url: "gopher://127.0.0.1/"),
            OutboundRequest(url: ""), OutboundRequest(url: "http://127.0.0.1/ HTTP/1.1\r\nX: y"),
            OutboundRequest(url: "http://user:pass@127.0.0.1/"),
            OutboundRequest(url: "http://127.0.0.1/", method: "GET /other"), OutboundRequest(url: "http://127.0.0.1/", method: ""),
            OutboundRequest(url: "http://127.0.0.1/", headers: [("X-A", "b\r\nX-C: d")]),
            OutboundRequest(url: "http://127.0.0.1/", headers: [("X A", "b")]),
        ])
    func malformed(request: OutboundRequest) async {
        #expect(await failure(sender(), request) == .malformed)
    }

    @Test("A cancelled task ends at once and its connection is dropped")
    func cancelled() async throws {
        let dropped = Mutex(false)
        let server = RudeServer { connection in
            _ = connection.readRequest()
            if connection.readRequest() == nil { dropped.withLock { $0 = true } }
        }
        let sender = sender()
        let task = Task { await failure(sender, OutboundRequest(url: server.url, timeout: .seconds(600))) }
        try await eventually("the connection") { server.connections == 1 }
        task.cancel()
        #expect(await task.value == .cancelled)
        try await eventually("it is dropped") { dropped.withLock { $0 } }
    }

    @Test("A task that is cancelled before it sends gets no answer either")
    func cancelledBefore() async {
        let sender = sender()
        let server = RudeServer { connection in _ = connection.readRequest() }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure(sender, OutboundRequest(url: server.url, timeout: .seconds(600)))
        }
        #expect(await task.value == .cancelled)
    }

    @Test("Five hundred transfers run at once")
    func parallel() async throws {
        let server = RudeServer { connection in
            while let request = connection.readRequest() { connection.answer(200, request) }
        }
        let sender = sender()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<500 {
                group.addTask { try await sender.send(.post(server.url, Array("\(number)".utf8), contentType: "text/plain")).status }
            }
            for try await status in group { #expect(status == 200) }
        }
    }

    @Test("Requests beyond the places wait; one that waits too long is a timeout, one too many is queueFull")
    func queue() async throws {
        let server = RudeServer { connection in
            _ = connection.readRequest()
            _ = connection.readRequest()
        }
        let sender = sender { ($0.parallel, $0.waiting) = (1, 1) }
        let first = Task { await failure(sender, OutboundRequest(url: server.url, timeout: .seconds(600))) }
        try await eventually("the first runs") { server.connections == 1 }
        let outcomes = await withTaskGroup(of: OutboundError?.self) { group in
            for _ in 0..<50 {
                group.addTask { await failure(sender, OutboundRequest(url: server.url, timeout: .milliseconds(500))) }
            }
            return await group.reduce(into: Set<OutboundError?>()) { $0.insert($1) }
        }
        #expect(outcomes == [.timeout, .queueFull])
        first.cancel()
        #expect(await first.value == .cancelled)
        #expect(server.connections == 1)
    }

    @Test("After a shutdown everything is cancelled, and so is everything later")
    func shutdown() async throws {
        let server = RudeServer { connection in
            _ = connection.readRequest()
            _ = connection.readRequest()
        }
        let sender = sender()
        let task = Task { await failure(sender, OutboundRequest(url: server.url, timeout: .seconds(600))) }
        try await eventually("the connection") { server.connections == 1 }
        sender.shutdown()
        #expect(await task.value == .cancelled)
        #expect(await failure(sender, OutboundRequest(url: server.url)) == .cancelled)
    }

    @Test("A name that leads nowhere fails, and holds up nobody else")
    func unresolved() async throws {
        let server = RudeServer.echo()
        let sender = sender()
        let lost = Task { await failure(sender, OutboundRequest(url: "http://no-such-host.invalid/", timeout: .milliseconds(500))) }
        #expect(try await sender.send(OutboundRequest(url: server.url)).status == 200)
        let error = await lost.value
        #expect(error == .unresolved || error == .timeout)
        #expect(try await sender.send(OutboundRequest(url: server.url)).status == 200)
    }

    @Test("A proxy of the environment is not used")
    func proxy() async throws {
        let proxy = RudeServer.echo()
        setenv("http_proxy", proxy.url, 1)
        defer { unsetenv("http_proxy") }
        let server = RudeServer.echo()
        #expect(try await sender().send(OutboundRequest(url: server.url)).status == 200)
        #expect(proxy.connections == 0)
    }
}
