// What one caller, or a crowd of them, can take from everybody else: with real sockets, while it is being taken.

import Contracts
import Foundation
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Budgets of callers", .serialized)
struct BudgetTests {
    private static let device = "Authorization: Bearer good\r\n"

    /// An upload as devices make it: of a caller who is proved, by a route that may use the reserve.
    private static let upload = Route(
        .post, "/upload", access: .device, summary: "Takes entries",
        body: BodyShape([.init(MediaType.json, .anything)]), answers: [.json(200, "Length", .integer())], usesReserve: true
    ) { try .json(["length": await $0.body().readableBytes]) }

    private static let endless = Route.events("/events", access: .device, summary: "Events", events: "News") { _ in
        let (stream, continuation) = AsyncStream.makeStream(of: ServerEvent.self)
        return EventSource {
            // Held as long as it is listened to.
            _ = continuation
            var iterator = stream.makeAsyncIterator()
            return await iterator.next()
        }
    }

    private static func head(_ path: String, _ fields: String = "", length: Int) -> String {
        "POST \(path) HTTP/1.1\r\nHost: t\r\n\(fields)Content-Type: application/json\r\nContent-Length: \(length)\r\n\r\n"
    }

    /// One upload on a connection of its own, its body behind its head as a slow line brings it, and a question for health.
    private static func useReserve(_ port: Int) async throws -> Duration {
        let start = ContinuousClock.now
        let connection = try RawConnection(port: port)
        await connection.send(head("/upload", device, length: 3))
        await connection.send("123")
        let answer = await connection.receiveAnswer()
        try #require(answer?.status == 200, "\(answer?.text ?? "no answer")")
        try #require(try await ask(port, "GET", "/health/live").status == 200)
        return .now - start
    }

    /// What the slowest of twenty takes on this machine as busy as it is, and twenty times that; two seconds where it is quick, which leaves
    /// three of the five that a call may take.
    private static func bound(_ port: Int) async throws -> Duration {
        var slowest = Duration.zero
        for _ in 0..<20 { slowest = max(slowest, try await useReserve(port)) }
        return max(slowest * 20, .seconds(2))
    }

    /// While `attack` stands: the reserve is used fifty times, each time within the bound. The first time may take as long again as the
    /// attack took to be opened: it waits in the kernel's queue behind all of it.
    private static func standsFirm(_ port: Int, within bound: Duration, after opening: Duration) async throws {
        let first = try await useReserve(port)
        #expect(first < bound + opening)
        for _ in 1..<50 {
            let took = try await useReserve(port)
            #expect(took < bound)
        }
    }

    private static func open(
        _ count: Int, _ port: Int, _ request: @Sendable (Int) -> String
    ) async throws -> (connections: [RawConnection], took: Duration) {
        let start = ContinuousClock.now
        var all: [RawConnection] = []
        for number in 0..<count {
            let connection = try RawConnection(port: port)
            await connection.send(request(number))
            all.append(connection)
        }
        return (all, .now - start)
    }

    @Test("X2: 2,000 event streams of one account: twenty stand, the others are 429, and uploads are answered as before")
    func streamsOfOne() async throws {
        let server = makeServer([Self.upload, Self.endless])
        try await withServer(server) { port in
            let bound = try await Self.bound(port)
            let attack = try await Self.open(2000, port) { _ in "GET /events HTTP/1.1\r\nHost: t\r\n\(Self.device)\r\n" }
            try await Self.standsFirm(port, within: bound, after: attack.took)
            #expect(server.state.streams.count == 20)
            withExtendedLifetime(attack) {}
        }
    }

    private static func lines(_ address: String) -> String {
        forwarded(address).map { "\($0.key): \($0.value)\r\n" }.joined()
    }

    @Test("X3: 2,400 bodies of one byte, of nobody, at one address: 32 stand, the others are 429, and uploads are answered as before")
    func bodiesOfOne() async throws {
        let server = makeServer([Self.upload, measure()])
        try await withServer(server) { port in
            let bound = try await Self.bound(port)
            let attack = try await Self.open(2400, port) { _ in
                Self.head("/test/v1/measure", Self.lines("198.51.100.7"), length: 100) + "1"
            }
            try await Self.standsFirm(port, within: bound, after: attack.took)
            #expect(server.state.budget.held.bodies <= 32)
            withExtendedLifetime(attack) {}
        }
    }

    @Test(
        "X3: 2,400 bodies of one byte from as many addresses: the server's own share stands, the others are 503, uploads have the reserve")
    func bodiesOfMany() async throws {
        let server = makeServer([Self.upload, measure()])
        try await withServer(server) { port in
            let bound = try await Self.bound(port)
            let attack = try await Self.open(2400, port) { number in
                Self.head("/test/v1/measure", Self.lines("10.1.\(number / 250).\(number % 250)"), length: 100) + "1"
            }
            try await Self.standsFirm(port, within: bound, after: attack.took)
            #expect(server.state.budget.held.bodies <= HTTPLimits().bodies)
            withExtendedLifetime(attack) {}
        }
    }

    @Test("X3: 2,400 connections that never send a request: those that wait longest are closed, whoever comes with a request is answered")
    func silent() async throws {
        try await withServer(makeServer([Self.upload])) { port in
            let bound = try await Self.bound(port)
            let attack = try await Self.open(2400, port) { number in number % 2 == 0 ? "" : "POST /upl" }
            try await Self.standsFirm(port, within: bound, after: attack.took)
            withExtendedLifetime(attack) {}
        }
    }

    // MARK: Pace

    /// Sends a byte each 20 ms, as the slow do, until the server has had enough; gives its answer and how long that took.
    private static func trickle(_ port: Int, _ head: String) async throws -> (RawAnswer?, Duration) {
        let connection = try RawConnection(port: port)
        let start = ContinuousClock.now
        await connection.send(head)
        let sending = Task {
            // The pace of a slow sender: fifty bytes a second.
            while await connection.send("1") { try await Task.sleep(for: .milliseconds(20)) }
        }
        defer { sending.cancel() }
        let answer = RawAnswer(await connection.receiveAll())
        return (answer, .now - start)
    }

    @Test(
        "X3: A body slower than its least pace is ended with 408 and its connection closed; one that keeps it may take longer than the grace"
    )
    func pace() async throws {
        var limits = HTTPLimits()
        (limits.bodyArrival, limits.slowestBody, limits.linger) = (.milliseconds(300), 500, .milliseconds(50))
        try await withServer(measure(limit: 10_000), limits: limits) { port in
            let (answer, took) = try await Self.trickle(port, Self.head("/test/v1/measure", length: 5000))
            #expect(answer?.problem == "request-timeout" && answer?.headers["connection"] == "close")
            #expect(took < .seconds(10), "0.3 s of grace, and a tenth more for fifty bytes a second")
            let steady = try RawConnection(port: port)
            await steady.send(Self.head("/test/v1/measure", length: 2000))
            for _ in 0..<20 {
                await steady.send(String(repeating: "1", count: 100))
                // The sender's pace: 2,000 bytes a second for a second.
                try await Task.sleep(for: .milliseconds(50))
            }
            #expect(await steady.receiveAnswer()?.text == #"{"length":2000}"#)
        }
    }

    @Test("X3: A body that nobody reads cannot be trickled for ever, nor a first head")
    func unread() async throws {
        let deaf = Route(.post, "/deaf", access: .anyone, summary: "Reads nothing", answers: []) { _ in .empty() }
        var limits = HTTPLimits()
        (limits.bodyArrival, limits.headArrival) = (.milliseconds(300), .milliseconds(300))
        try await withServer(deaf, limits: limits) { port in
            let (answer, took) = try await Self.trickle(port, Self.head("/deaf", length: 100_000))
            #expect(answer?.status == 204 && took < .seconds(10))
            let (nothing, tookHead) = try await Self.trickle(port, "GET /")
            #expect(nothing == nil && tookHead < .seconds(10))
        }
    }

    @Test("X3: Bodies in memory are counted: a caller who sends more at once than may be is 429, and gets it all back")
    func bytes() async throws {
        var limits = HTTPLimits()
        limits.bodyBytesPerCaller = 100_000
        let server = makeServer([measure(limit: 1 << 20, inflatedLimit: 1 << 20)], limits: limits)
        try await withServer(server) { port in
            for (length, status) in [(90_000, 200), (200_000, 429), (90_000, 200)] {
                let connection = try RawConnection(port: port)
                await connection.send(Self.head("/test/v1/measure", length: length))
                await connection.send([UInt8](repeating: 49, count: length))
                #expect(await connection.receiveAnswer()?.status == status)
            }
            try await eventually("all is given back") { server.state.budget.held.bytes == 0 && server.state.budget.held.bodies == 0 }
        }
    }

    // MARK: Processor time

    @Test("X2: Who uses up the processor is told to wait, by what was really computed; others and the reserve are not")
    func processor() async throws {
        let heavy = Route(.get, "/heavy", access: .anyone, summary: "Computes", answers: []) { _ in
            var sum: UInt64 = 0
            let end = ContinuousClock.now + .milliseconds(30)
            while .now < end { for number in 0..<1000 { sum = sum &* 31 &+ UInt64(number) } }
            return .text("\(sum)")
        }
        let waiting = Route(.get, "/waits", access: .anyone, summary: "Waits", answers: []) { _ in
            // Time that is waited is nobody's processor time.
            try await Task.sleep(for: .milliseconds(100))
            return .empty()
        }
        var limits = HTTPLimits()
        (limits.processorsPerCaller, limits.processorBurst) = (0.0001, .milliseconds(100))
        try await withServer(heavy, waiting, Self.upload, limits: limits) { port in
            for _ in 0..<5 { #expect(try await ask(port, "GET", "/waits").status == 204) }
            var refused: RawAnswer?
            for _ in 0..<100 where refused == nil {
                let answer = try await ask(port, "GET", "/heavy")
                if answer.status != 200 { refused = answer }
            }
            #expect(refused?.status == 429 && refused?.problem == "too-many-requests")
            #expect((refused?.headers["retry-after"]).flatMap { Int($0) } ?? 0 > 1)
            #expect(try await ask(port, "GET", "/waits", headers: forwarded("198.51.100.8")).status == 204)
            _ = try await Self.useReserve(port)
        }
    }

    @Test("X2: What is owed of the processor is forgiven with time, and callers who owe nothing are forgotten")
    func debt() throws {
        var limits = HTTPLimits()
        (limits.processorsPerCaller, limits.processorBurst, limits.requestsPerCaller) = (0.5, .seconds(2), 2)
        let start = ContinuousClock.now
        var debt = ProcessorDebt()
        debt.add(.seconds(2), limits, at: start)
        #expect(debt.wait(limits, at: start) == nil)
        debt.add(.seconds(3), limits, at: start)
        #expect(debt.wait(limits, at: start) == .seconds(6))
        #expect(debt.wait(limits, at: start + .seconds(6)) == nil)
        #expect(debt.isOwed(limits, at: start + .seconds(9)) && !debt.isOwed(limits, at: start + .seconds(10)))

        let budget = CallerBudget(limits)
        let holder = BudgetHolder.person(testPerson)
        let permits = try (0..<2).map { _ in try budget.admit(holder, isReserved: true, hasBodyUnderWay: false) }
        #expect(throws: Refusal.self) { try budget.admit(holder, isReserved: true, hasBodyUnderWay: false) }
        permits[0].charge(.seconds(4))
        permits[0].release()
        permits[1].release()
        permits[1].release()
        #expect(throws: Refusal.self) { try budget.admit(holder, isReserved: false, hasBodyUnderWay: false) }
        budget.forget(at: .now)
        #expect(budget.count == 1)
        budget.forget(at: .now + .seconds(60))
        #expect(budget.count == 0)
    }

    // MARK: Wrong tokens

    @Test(
        "X19: 2,000 wrong tokens of one address: after a hundred they are 429; a right one passes there, and wrong ones elsewhere are 401")
    func wrongTokens() async throws {
        try await withServer(Self.upload) { port in
            let guesser = try RawConnection(port: port)
            var statuses: [Int: Int] = [:]
            for number in 0..<2000 {
                await guesser.send("POST /upload HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer wrong\(number)\r\nContent-Length: 0\r\n\r\n")
                statuses[await guesser.receiveAnswer()?.status ?? 0, default: 0] += 1
            }
            #expect(statuses.keys.sorted() == [401, 429])
            #expect((100..<200).contains(statuses[401] ?? 0), "a hundred at once, then one a second")
            #expect(
                try await ask(port, "POST", "/upload", headers: ["Authorization": "Bearer good"].merging(asJSON) { $1 }, body: [49]).status
                    == 200)
            let elsewhere = forwarded("198.51.100.9").merging(["Authorization": "Bearer wrong"]) { $1 }
            #expect(try await ask(port, "POST", "/upload", headers: elsewhere, body: []).status == 401)
        }
    }

    @Test(
        "X19: whoever reached a service's own port wrote another X-Forwarded-For each time and was never slowed: the edge alone is believed",
        arguments: [
            ("", false), ("TrackMe-Edge: \r\n", false), ("TrackMe-Edge: none\r\n", false),
            ("TrackMe-Edge: \(String(repeating: "f", count: 64))\r\n", false), ("TrackMe-Edge: \(edgeSecret)\r\n", true),
        ])
    func inventedAddresses(shown: String, isEdge: Bool) async throws {
        try await withServer(Self.upload) { port in
            let caller = try RawConnection(port: port)
            var statuses: Set<Int> = []
            for number in 0..<200 {
                await caller.send(
                    "POST /upload HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer wrong\r\nX-Forwarded-For: 198.51.100.\(number)\r\n\(shown)"
                        + "Content-Length: 0\r\n\r\n")
                statuses.insert(await caller.receiveAnswer()?.status ?? 0)
            }
            #expect(statuses == (isEdge ? [401] : [401, 429]))
        }
    }

    @Test(
        "X19: Whoever has one IPv6 address has the network's: they count as one; what could be guessed is no secret of an edge")
    func addresses() {
        #expect(RemoteAddress.network("2001:db8:1:2:3::4") == RemoteAddress.network("2001:db8:1:2:ffff::1"))
        #expect(RemoteAddress.network("2001:db8:1:2::1") != RemoteAddress.network("2001:db8:1:3::1"))
        #expect(RemoteAddress.network("2001:db8::1") == "20010db800000000/64")
        for text in ["198.51.100.7", "::ffff:198.51.100.7", "", "no:address"] { #expect(RemoteAddress.network(text) == text) }
        #expect(RemoteAddress.isNeighbour("127.0.0.1") && RemoteAddress.isNeighbour("::1") && RemoteAddress.isNeighbour("172.18.0.5"))
        #expect(!RemoteAddress.isNeighbour("198.51.100.7") && !RemoteAddress.isNeighbour("172.32.0.1"))
        #expect(EdgeSecret("") == nil && EdgeSecret("none") == nil && EdgeSecret(edgeSecret) != nil)
    }

    @Test("NFR-03: an overloaded server stops to answer statistics, then search, then live view, then the rest, and never uploads")
    func degradation() async throws {
        let (stream, release) = AsyncStream.makeStream(of: Void.self)
        let waiting = Route(.get, "/wait", access: .anyone, summary: "Waits", answers: [Answer(204, "Waited")]) { _ in
            for await _ in stream {}
            return .empty()
        }
        let kinds = Yielding.allCases.map { kind in
            Route(.get, "/\(kind)", access: .anyone, summary: "Answers", answers: [Answer(204, "Answered")], yields: kind) { _ in .empty() }
        }
        var limits = HTTPLimits()
        (limits.concurrentRequests, limits.reserve) = (20, 5)
        let server = makeServer([waiting, Self.upload] + kinds, limits: limits)
        try await withServer(server) { port in
            defer { release.finish() }
            var held: [RawConnection] = []
            // With so many under way, how many kinds are refused.
            for (under, refused) in [(14, 0), (15, 1), (16, 1), (17, 2), (18, 2), (19, 3), (20, 4)] {
                while held.count < under {
                    let connection = try RawConnection(port: port)
                    await connection.send("GET /wait HTTP/1.1\r\nHost: t\r\n\r\n")
                    held.append(connection)
                }
                try await eventually("\(under) are under way") { server.state.load.count == under }
                for (place, kind) in Yielding.allCases.enumerated() {
                    let answer = try await ask(port, "GET", "/\(kind)")
                    #expect(answer.status == (place < refused ? 503 : 204), "\(kind) with \(under) under way")
                    if place < refused { #expect(answer.headers["retry-after"] == "1") }
                    try await eventually("it has left") { server.state.load.count == under }
                }
                _ = try await Self.useReserve(port)
                try await eventually("it has left") { server.state.load.count == under }
            }
        }
    }
}
