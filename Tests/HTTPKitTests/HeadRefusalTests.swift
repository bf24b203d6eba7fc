// Requests that their head alone refuses: answered without a thread that work is waiting for, and counted as all others.

import Contracts
import Dispatch
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Refusals by the head alone", .serialized)
struct HeadRefusalTests {
    /// Keeps threads that handlers run on until they are let go, ten seconds at most.
    private final class Blockade: Sendable {
        private let begun = Atomic<Int>(0)
        private let over = Atomic<Int>(0)
        private let gate = DispatchSemaphore(value: 0)

        /// As many as there are; see `MeteredExecutor`.
        static var threads: Int { System.coreCount }

        var isComplete: Bool { begun.load(ordering: .sequentiallyConsistent) == Self.threads }
        var stands: Bool { isComplete && over.load(ordering: .sequentiallyConsistent) == 0 }

        func hold() {
            begun.wrappingAdd(1, ordering: .sequentiallyConsistent)
            _ = gate.wait(timeout: .now() + 10)
            over.wrappingAdd(1, ordering: .sequentiallyConsistent)
        }

        func end() {
            for _ in 0..<Self.threads { gate.signal() }
        }

        var route: Route {
            Route(.get, "/held", access: .anyone, summary: "Keeps a thread", answers: []) { [self] _ in
                hold()
                return .empty()
            }
        }

        /// Opens the connections that take all threads.
        func begin(_ port: Int) async throws -> [RawConnection] {
            var connections: [RawConnection] = []
            for _ in 0..<Self.threads {
                let connection = try RawConnection(port: port)
                await connection.send("GET /held HTTP/1.1\r\nHost: t\r\n\r\n")
                connections.append(connection)
            }
            try await eventually("every thread is taken") { [self] in isComplete }
            return connections
        }
    }

    private static let mine = Route(.post, "/mine", access: .device, summary: "Mine", answers: []) { _ in .empty() }
    private static let theirs = Route(.post, "/theirs", access: .account, summary: "Theirs", answers: []) { _ in .empty() }

    /// What its head alone refuses, and how; the error is what a task that runs on another thread would have answered with.
    private static let refused: [(line: String, fields: String, status: Int, problem: String, error: any Error)] = [
        ("POST /nowhere", "", 404, "not-found", Problem.notFound),
        ("DELETE /test/v1/measure", "", 405, "method-not-allowed", measureTakesPost),
        ("POST /mine", "", 401, "unauthorised", Problem.unauthorised),
        ("POST /mine", "Authorization: Basic good\r\n", 401, "unauthorised", Problem.unauthorised),
        ("POST /theirs", "Cookie: __Host-trackme=good\r\nOrigin: https://evil.example\r\n", 403, "wrong-origin", Problem.wrongOrigin),
        ("POST /test/v1/measure", "Content-Type: text/csv\r\n", 415, "unsupported-media-type", noJSON),
        ("POST /test/v1/measure", "", 415, "unsupported-media-type", noJSON),
        // The path before the method before who asks before the type.
        ("DELETE /nowhere", "Authorization: Basic good\r\nContent-Type: text/csv\r\n", 404, "not-found", Problem.notFound),
        ("DELETE /typed", "Content-Type: text/csv\r\n", 405, "method-not-allowed", measureTakesPost),
        ("POST /typed", "Content-Type: text/csv\r\n", 401, "unauthorised", Problem.unauthorised),
    ]
    private static let noJSON = Problem.unsupportedMediaType([MediaType.json])

    private static var measureTakesPost: Refusal {
        var refusal = Refusal(.methodNotAllowed)
        refusal.allow = "POST"
        return refusal
    }

    private static let typed = Route(
        .post, "/typed", access: .device, summary: "Mine, of one type", body: BodyShape([.init(MediaType.json, .anything)]), answers: []
    ) { _ in .empty() }

    /// A task answers with the error of `refused` that its path names.
    private static let thrown = Route(.post, "/thrown/{number}", access: .anyone, summary: "Refuses", answers: []) { exchange in
        throw HeadRefusalTests.refused[Int(exchange.path("number")) ?? 0].error
    }

    /// The bytes of one answer. The request's body comes with its head, or behind the answer: nobody reads it.
    private static func answer(
        to line: String, _ fields: String, _ body: String = "{1}", isLate: Bool, on connection: RawConnection
    ) async -> [UInt8] {
        let head = "\(line) HTTP/1.1\r\nHost: t\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n"
        await connection.send(isLate ? head : head + body)
        var bytes: [UInt8] = []
        while true {
            if let answer = RawAnswer(bytes), answer.body.count >= Int(answer.headers["content-length"] ?? "0") ?? 0 { break }
            let more = await connection.receive()
            if more.isEmpty { break }
            bytes += more
        }
        if isLate { await connection.send(body) }
        return bytes
    }

    /// All of it but the time.
    private static func lines(_ answer: [UInt8]) -> [Substring] {
        String(decoding: answer, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
            .filter { !$0.hasPrefix("Date: ") }
    }

    @Test("X2: what the head alone refuses waited for the threads of handlers: it is answered while they are taken, as by a task")
    func whileThreadsAreTaken() async throws {
        let blockade = Blockade()
        try await withServer(blockade.route, Self.mine, Self.theirs, Self.typed, Self.thrown, measure()) { port in
            let connection = try RawConnection(port: port)
            var ofTasks: [[Substring]] = []
            for number in Self.refused.indices {
                for isLate in [false, true] {
                    let fields = "X-Request-Id: r-\(number)\r\n"
                    ofTasks.append(Self.lines(await Self.answer(to: "POST /thrown/\(number)", fields, isLate: isLate, on: connection)))
                }
            }
            let holding = try await blockade.begin(port)
            defer { blockade.end() }
            for (number, (line, fields, status, problem, _)) in Self.refused.enumerated() {
                // At once with its head, and behind it: nobody reads the body, and the connection goes on.
                for isLate in [false, true] {
                    let bytes = await Self.answer(to: line, "X-Request-Id: r-\(number)\r\n\(fields)", isLate: isLate, on: connection)
                    let answer = RawAnswer(bytes)
                    #expect(answer?.status == status && answer?.problem == problem, "\(line): \(answer?.text ?? "no answer")")
                    #expect(answer?.headers["x-request-id"] == "r-\(number)" && answer?.json["requestId"] as? String == "r-\(number)")
                    #expect(answer?.headers["connection"] == nil && answer?.headers["cache-control"] == "no-store")
                    #expect(answer?.headers["www-authenticate"] == (status == 401 ? "Bearer" : nil))
                    #expect(answer?.headers["allow"] == (status == 405 ? "POST" : nil))
                    #expect(Self.lines(bytes) == ofTasks[number * 2 + (isLate ? 1 : 0)], "\(line), late: \(isLate)")
                }
            }
            #expect(blockade.stands, "an answer waited for a thread")
            withExtendedLifetime(holding) {}
        }
    }

    @Test("X2: a stranger whose budget is used up waited for a thread to be told so: it is said while all of them are taken")
    func withoutBudget() async throws {
        let blockade = Blockade()
        let putOff = Route(.post, "/put-off", access: .anyone, summary: "Refuses", answers: []) { _ in
            throw Refusal(.tooManyRequests, retryAfter: .seconds(1))
        }
        var limits = HTTPLimits()
        // Those that hold the threads are this address' last.
        limits.requestsPerCaller = Blockade.threads
        try await withServer(blockade.route, putOff, measure(), limits: limits) { port in
            let json = "X-Request-Id: r-1\r\nContent-Type: application/json\r\n"
            let elsewhere = forwarded("198.51.100.8").map { "\($0.key): \($0.value)\r\n" }.joined()
            var ofTasks: [[Substring]] = []
            for isLate in [false, true] {
                let connection = try RawConnection(port: port)
                ofTasks.append(Self.lines(await Self.answer(to: "POST /put-off", json + elsewhere, isLate: isLate, on: connection)))
            }
            let holding = try await blockade.begin(port)
            defer { blockade.end() }
            // A body that is still to come ends the connection: there is no room for it.
            for (isLate, ofTask) in zip([false, true], ofTasks) {
                let bytes = await Self.answer(to: "POST /test/v1/measure", json, isLate: isLate, on: try RawConnection(port: port))
                let answer = RawAnswer(bytes)
                #expect(answer?.status == 429 && answer?.problem == "too-many-requests" && answer?.headers["retry-after"] == "1")
                #expect(answer?.headers["connection"] == (isLate ? "close" : nil))
                #expect(Self.lines(bytes) == ofTask, "late: \(isLate)")
            }
            #expect(blockade.stands, "an answer waited for a thread")
            withExtendedLifetime(holding) {}
        }
    }

    @Test("X2, X18: what is no request, or has too large a head, is refused while all threads are taken")
    func withoutRequest() async throws {
        let blockade = Blockade()
        try await withServer(blockade.route) { port in
            let holding = try await blockade.begin(port)
            defer { blockade.end() }
            let many = String(repeating: "X-A: b\r\n", count: HTTPLimits().headerFields * 2)
            for (rest, status) in [("\r\n", 400), ("Host: t\r\nContent-Length: +1\r\n\r\n", 400), ("Host: t\r\n\(many)\r\n", 431)] {
                let connection = try RawConnection(port: port)
                await connection.send("POST /nowhere HTTP/1.1\r\n" + rest)
                let answer = await connection.receiveAnswer()
                #expect(answer?.status == status && answer?.headers["connection"] == "close", "\(answer?.text ?? "no answer")")
            }
            #expect(blockade.stands, "an answer waited for a thread")
            withExtendedLifetime(holding) {}
        }
    }

    @Test("X2: a server without room says so while all threads are taken; health is asked of the threads all the same")
    func withoutRoom() async throws {
        let blockade = Blockade()
        var limits = HTTPLimits()
        limits.concurrentRequests = Blockade.threads
        let server = makeServer([blockade.route, measure()], limits: limits)
        try await withServer(server) { port in
            let holding = try await blockade.begin(port)
            defer { blockade.end() }
            for path in ["/test/v1/measure", "/nowhere"] {
                let answer = try await ask(port, "POST", path, headers: asJSON, body: [49])
                #expect(answer.status == 503 && answer.problem == "unavailable" && answer.headers["retry-after"] == "1")
            }
            #expect(blockade.stands, "an answer waited for a thread")
            async let health = ask(port, "GET", "/health/live")
            blockade.end()
            let status = try await health.status
            #expect(status == 200)
            try await eventually("nothing is under way") { server.state.load.count == 0 }
            withExtendedLifetime(holding) {}
        }
    }

    private struct Amount: Codable, Sendable, Documented {
        var amount: Int
        static let schema = JSONSchema.object(.required("amount", .integer(in: 1...5))).named("Amount")
    }

    /// Takes an amount, and says it.
    private static func pay(_ path: String, _ access: Access) -> Route {
        let paid = Answer.json(200, "Paid", .integer())
        return Route(.post, path, access: access, summary: "Pay", body: .json(Amount.self, limit: 100), answers: [paid]) {
            let paid: Amount = try await $0.json()
            return try .json(["amount": paid.amount])
        }
    }

    @Test("X1, X2: refusing a short body woke two threads, which cost more than all the rest: it is refused while all of them are taken")
    func byItsBody() async throws {
        let blockade = Blockade()
        let isProved = Mutex(false)
        let routes = [blockade.route, Self.pay("/pay", .anyone), Self.pay("/mine", .device), Self.pay("/theirs", .account)]
        let server = makeServer(
            routes,
            recognise: { credentials, access in
                guard credentials.bearer == "good", isProved.withLock({ $0 }) else { return nil }
                guard access == .device else { throw Problem.forbidden }
                return .device(testDevice, testPerson)
            })
        try await withServer(server) { port in
            let connection = try RawConnection(port: port)
            func send(_ path: String, _ token: String, _ body: String) async -> [UInt8] {
                let fields = "X-Request-Id: r-1\r\nContent-Type: application/json\r\nAuthorization: Bearer \(token)\r\n"
                return await Self.answer(to: "POST \(path)", fields, body, isLate: false, on: connection)
            }
            let unfit = ["{\"amount\":9}", "{\"amount\":\"x\"}", "{}", "[", "{\"amount\":1,\"more\":2}"]
            var ofTasks: [[Substring]] = []
            // Whoever is not known by their token yet is refused by a task.
            for body in unfit { ofTasks.append(Self.lines(await send("/mine", "good", body))) }
            let notAdmitted = Self.lines(await send("/theirs", "good", unfit[0]))
            isProved.withLock { $0 = true }
            #expect(ofTasks.allSatisfy { $0.first?.hasPrefix("HTTP/1.1 \(Problem.invalidBody([]).status) ") == true })
            for path in ["/pay", "/mine"] {
                #expect(RawAnswer(await send(path, "good", "{\"amount\":3}"))?.json["amount"] as? Int == 3)
            }
            #expect(RawAnswer(await send("/mine", "bad", "{}"))?.status == 401, "who asks comes before the body")
            let long = "[" + String(repeating: " ", count: 100)
            #expect(RawAnswer(await send("/pay", "good", long))?.status == 413, "so does its length")
            let holding = try await blockade.begin(port)
            defer { blockade.end() }
            for path in ["/pay", "/mine"] {
                for (body, ofTask) in zip(unfit, ofTasks) {
                    let bytes = await send(path, "good", body)
                    #expect(RawAnswer(bytes)?.problem == "invalid-body")
                    #expect(Self.lines(bytes) == ofTask, "\(path): \(body)")
                }
            }
            #expect(Self.lines(await send("/theirs", "good", unfit[0])) == notAdmitted && notAdmitted.first?.contains(" 403 ") == true)
            #expect(blockade.stands, "an answer waited for a thread")
            withExtendedLifetime(holding) {}
        }
    }

    @Test("Thousands of refusals that are sent at once are answered in their order, with what comes between them")
    func pipelined() async throws {
        try await withServer(Self.mine, measure()) { port in
            let connection = try RawConnection(port: port)
            var requests = ""
            for _ in 0..<1000 {
                for (line, length) in [("POST /nowhere", 4), ("POST /test/v1/measure", 3), ("POST /mine", 0)] {
                    let type = length == 3 ? "Content-Type: application/json\r\n" : ""
                    requests += "\(line) HTTP/1.1\r\nHost: t\r\n\(type)Content-Length: \(length)\r\n\r\n"
                    requests += String(repeating: "1", count: length)
                }
            }
            async let sending = connection.send(requests + "GET /nowhere HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n")
            let text = String(decoding: await connection.receiveAll(), as: UTF8.self)
            let statuses = text.split(separator: "HTTP/1.1 ").compactMap { Int($0.prefix(3)) }
            #expect(statuses == Array(repeatElement([404, 200, 401], count: 1000).joined()) + [404])
            let isSent = await sending
            #expect(isSent)
        }
    }

    @Test("X2: a stranger is charged for refusals that need no thread as well, and gives back what they held")
    func charged() async throws {
        var limits = HTTPLimits()
        (limits.processorsPerCaller, limits.processorBurst) = (0.000_001, .zero)
        let server = makeServer([measure()], limits: limits)
        try await withServer(server) { port in
            let csv = ["Content-Type": "text/csv"]
            #expect(try await ask(port, "POST", "/test/v1/measure", headers: csv, body: [49]).status == 415)
            let next = try await ask(port, "POST", "/test/v1/measure", headers: csv, body: [49])
            #expect(next.status == 429 && next.problem == "too-many-requests" && next.headers["retry-after"] != nil)
            let elsewhere = csv.merging(forwarded("198.51.100.8")) { $1 }
            #expect(try await ask(port, "POST", "/test/v1/measure", headers: elsewhere, body: [49]).status == 415)
            #expect(server.state.load.count == 0 && server.state.budget.held.bodies == 0)
        }
    }

    @Test("Of a header with more languages than anybody reads, the first 32 count")
    func languages() {
        let many = String(repeating: "de,", count: 31)
        #expect(Language.preferred(many + "it;q=0.5,en") == .italian)
        #expect(Language.preferred(many + "de,it") == .english)
    }
}
