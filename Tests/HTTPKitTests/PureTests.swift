// What decides without a server.

import Contracts
import HTTPTypes
import Testing

@testable import HTTPKit

@Suite("Rate limiter")
struct RateLimiterTests {
    private static let start = ContinuousClock.now

    @Test(
        "A bucket gives its burst at once and then its rate",
        arguments: [
            // rate, burst, asked after these milliseconds → granted?
            (20.0, 2.0, [0, 0, 0], [true, true, false]),
            (20.0, 2.0, [0, 0, 49, 50], [true, true, false, true]),
            (20.0, 2.0, [0, 0, 100, 100, 100], [true, true, true, true, false]),
            (20.0, 2.0, [0, 0, 3_600_000, 3_600_000, 3_600_000], [true, true, true, true, false]),
            (0.5, 1.0, [0, 1999, 2000], [true, false, true]),
        ])
    func table(rate: Double, burst: Double, times: [Int], granted: [Bool]) {
        var bucket = TokenBucket(rate: rate, burst: burst, at: Self.start)
        #expect(times.map { bucket.take(at: Self.start + .milliseconds($0)) == nil } == granted)
    }

    @Test("It says how long to wait, and that long is enough")
    func wait() throws {
        var bucket = TokenBucket(rate: 3, burst: 1, at: Self.start)
        #expect(bucket.take(at: Self.start) == nil)
        let taken = bucket.take(at: Self.start)
        let wait = try #require(taken)
        #expect(wait == .milliseconds(334))
        #expect(bucket.take(at: Self.start + wait) == nil)
    }

    @Test("A clock that runs backwards gives nothing away")
    func backwards() {
        var bucket = TokenBucket(rate: 1000, burst: 1, at: Self.start)
        #expect(bucket.take(at: Self.start) == nil)
        #expect(bucket.take(at: Self.start - .seconds(10)) != nil)
    }

    @Test("One key's use does not touch another's, and refusal is 429 with a wait")
    func keys() {
        let limiter = RateLimiter<String>(rate: 1, burst: 1)
        #expect(limiter.take("a", at: Self.start) == nil)
        #expect(limiter.take("b", at: Self.start) == nil)
        let refusal = #expect(throws: Refusal.self) { try limiter.admit("a", at: Self.start) }
        #expect(refusal?.problem.status == 429)
        #expect(refusal?.retryAfter == .seconds(1))
    }

    @Test("What is given back may be taken again, and never more than the burst")
    func givesBack() {
        let limiter = RateLimiter<String>(rate: 1, burst: 2)
        limiter.giveBack("never came")
        for _ in 0..<5 {
            #expect(limiter.take("a", at: Self.start) == nil)
            limiter.giveBack("a")
            limiter.giveBack("a")
        }
        #expect([1, 2, 3].map { _ in limiter.take("a", at: Self.start) == nil } == [true, true, false])
    }

    @Test("Keys that stay away are forgotten")
    func forgets() {
        let limiter = RateLimiter<Int>(rate: 1000, burst: 1)
        for key in 0..<200_000 { _ = limiter.take(key, at: Self.start + .milliseconds(key)) }
        #expect(limiter.count <= 16 * 1024)
    }
}

@Suite("Idempotency rule")
struct IdempotencyTests {
    @Test("Not seen is new, the same body is replayed, another body is a conflict")
    func judge() {
        let first = FirstAnswer(bodyHash: [1, 2], status: 201, body: Array("{}".utf8))
        #expect(IdempotencyRule.judge(nil, bodyHash: [1, 2]) == .new)
        #expect(IdempotencyRule.judge(first, bodyHash: [1, 2]) == .replay(first))
        #expect(IdempotencyRule.judge(first, bodyHash: [1, 3]) == .conflict)
        #expect(first.answer.status == 201)
        #expect(first.answer.headers[.idempotencyReplayed] == "true")
    }

    @Test(
        "A key is 1 to 255 printable ASCII characters",
        arguments: [
            ("a", true), (String(repeating: "k", count: 255), true), ("", false), (String(repeating: "k", count: 256), false), ("é", false),
            ("a\tb", false),
        ])
    func keys(key: String, valid: Bool) {
        #expect(IdempotencyRule.isKey(key) == valid)
    }

    @Test("Two callers and two operations never share a key")
    func scopes() {
        let scopes = [
            IdempotencyRule.scope(.anyone, "a"), IdempotencyRule.scope(.device(testDevice, testPerson), "a"),
            IdempotencyRule.scope(.device(testDevice, testPerson), "b"), IdempotencyRule.scope(.device(DeviceID(bits: 9), testPerson), "a"),
            IdempotencyRule.scope(.integrator("desk"), "a"),
        ]
        #expect(Set(scopes).count == scopes.count)
    }
}

@Suite("Media types")
struct MediaTypeTests {
    @Test(
        "Accept chooses by quality, then by what is offered first",
        arguments: [
            (String?.none, String?.some(MediaType.json)), ("*/*", MediaType.json), ("application/x-ndjson", MediaType.ndjson),
            ("application/json;q=0.5, application/x-ndjson", MediaType.ndjson), ("application/*", MediaType.json),
            ("text/html, */*;q=0.1", MediaType.json), ("application/json;q=0, */*", MediaType.ndjson), ("text/html", nil),
            ("nonsense", nil),
        ])
    func accept(header: String?, chosen: String?) {
        #expect(MediaType.preferred(of: [MediaType.json, MediaType.ndjson], accept: header) == chosen)
    }
}

@Suite("Route table")
struct RouteTableTests {
    @Test("Exact paths come before patterns")
    func precedence() {
        func route(_ path: String) -> Route { Route(.get, path, access: .anyone, summary: path, answers: []) { _ in .empty() } }
        let table = RouteTable([route("/a/{x}"), route("/a/b"), route("/{y}/c")])
        func found(_ path: String) -> String? {
            guard case .found(let entry, _) = table.find(method: "GET", path: path[...]) else { return nil }
            return entry.route.path
        }
        #expect(found("/a/b") == "/a/b")
        #expect(found("/a/z") == "/a/{x}")
        #expect(found("/q/c") == "/{y}/c")
        #expect(found("/q/d") == nil)
        #expect(found("/a/") == nil)
        #expect(found("") == nil)
    }

    @Test("The date of an answer is an IMF-fixdate")
    func date() {
        #expect(AnswerDate.fixdate(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(AnswerDate.fixdate(0) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }
}

@Suite("Remote address")
struct RemoteAddressTests {
    @Test(
        "Loopback and private networks, where the edge is, are told from addresses of one caller",
        arguments: [
            ("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.1.2.3", true), ("172.16.0.1", true),
            ("172.31.255.1", true),
            ("192.168.1.1", true), ("fd00::1", true), ("172.32.0.1", false), ("192.169.0.1", false), ("11.0.0.1", false),
            ("8.8.8.8", false),
            ("2001:db8::1", false), ("::2", false), ("", false), ("nonsense", false),
        ])
    func neighbours(address: String, isNeighbour: Bool) {
        #expect(RemoteAddress.isNeighbour(address) == isNeighbour)
    }
}
