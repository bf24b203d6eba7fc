// When a webhook is tried again, and when it is given up: tables and a property over many failures.

import Contracts
import Foundation
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Webhooks: when again")
struct WebhookScheduleTests {
    private static let start = Timestamp(milliseconds: 1_000_000)
    private static let hour = Duration.seconds(3600)

    private static func decide(
        _ outcome: WebhookOutcome, attempts: Int = 1, after: Duration = .zero, jitter: Double = 0
    ) -> WebhookDecision {
        WebhookSchedule().decide(outcome, attempts: attempts, since: start, now: start + after, jitter: jitter)
    }

    @Test("SHR-14: any 2xx settles, 410 ends the endpoint, everything else comes again: redirects, refusals and silence too")
    func outcomes() {
        for status in [200, 201, 202, 204, 299] { #expect(Self.decide(.answered(status: status, retryAfter: nil)) == .settled) }
        #expect(Self.decide(.answered(status: 410, retryAfter: nil)) == .gone)
        for status in [100, 199, 300, 301, 302, 307, 400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504] {
            #expect(Self.decide(.answered(status: status, retryAfter: nil)) == .again(at: Self.start + .seconds(1)), "\(status)")
        }
        for why in ["timeout", "not-connected", "address-private", "no-secure-connection"] {
            #expect(Self.decide(.failed(why)) == .again(at: Self.start + .seconds(1)))
        }
    }

    @Test("SHR-14: after the clock went back what was to go now, or again in a second, waited until the clock had caught up")
    func clockWentBack() {
        func isDue(_ ahead: Duration, attempts: Int) -> Bool {
            WebhookSchedule.isDue(Self.start + ahead, attempts: attempts, at: Self.start)
        }
        #expect(isDue(.zero, attempts: 1) && isDue(.seconds(1), attempts: 0) && isDue(Self.hour * 2, attempts: 3))
        #expect(!isDue(.seconds(1), attempts: 1) && !isDue(WebhookSchedule.longestRetryAfter, attempts: 1))
    }

    @Test("pauses double from a second to 15 s in the first ten minutes, to 2 min in two hours, to 15 min after")
    func pauses() {
        func pause(after attempts: Int, failing: Duration) -> Duration? {
            let decision = Self.decide(.failed("timeout"), attempts: attempts, after: failing)
            guard case .again(let at) = decision else { return nil }
            return at - (Self.start + failing)
        }
        #expect((1...7).map { pause(after: $0, failing: .seconds(30)) } == [1, 2, 4, 8, 15, 15, 15].map { .seconds($0) })
        #expect(pause(after: 60, failing: .seconds(700)) == .seconds(120))
        #expect(pause(after: 2000, failing: Self.hour * 3) == .seconds(900))
        #expect(pause(after: 0, failing: .zero) == .seconds(1))
        #expect(pause(after: .max, failing: .zero) == .seconds(15))
    }

    @Test("jitter shortens a pause by up to half, and no more than that")
    func jitter() {
        let failed = WebhookOutcome.failed("timeout")
        #expect(Self.decide(failed, attempts: 4, jitter: 1) == .again(at: Self.start + .seconds(4)))
        #expect(Self.decide(failed, attempts: 4, jitter: 0.5) == .again(at: Self.start + .seconds(6)))
        #expect(Self.decide(failed, attempts: 4, jitter: 7) == .again(at: Self.start + .seconds(4)))
        #expect(Self.decide(failed, attempts: 4, jitter: -7) == .again(at: Self.start + .seconds(8)))
    }

    @Test("Retry-After is honoured up to an hour, and never makes a pause shorter")
    func retryAfter() {
        func again(_ wait: Duration?) -> WebhookDecision { Self.decide(.answered(status: 429, retryAfter: wait), attempts: 3) }
        #expect(again(.seconds(60)) == .again(at: Self.start + .seconds(60)))
        #expect(again(Self.hour * 10) == .again(at: Self.start + Self.hour))
        #expect(again(.seconds(1)) == .again(at: Self.start + .seconds(4)))
        #expect(again(.seconds(-5)) == .again(at: Self.start + .seconds(4)))
    }

    @Test("after 72 h of failures a message is given up; the last attempt comes at the very end")
    func end() {
        let failed = WebhookOutcome.failed("not-connected")
        #expect(Self.decide(failed, attempts: 300, after: Self.hour * 72 - .seconds(60)) == .again(at: Self.start + Self.hour * 72))
        #expect(Self.decide(failed, attempts: 300, after: Self.hour * 72) == .deadLettered)
        #expect(Self.decide(.answered(status: 200, retryAfter: nil), attempts: 300, after: Self.hour * 100) == .settled)
    }

    @Test("a receiver that is down is asked for 72 h, often at first, and is not flooded: fewer than 800 attempts in all")
    func wholeCourse() {
        for seed in UInt64(1)...20 {
            var dice = SeededGenerator(seed: seed)
            var (now, attempts) = (Self.start, 0)
            var gaps: [Duration] = []
            while true {
                attempts += 1
                let decision = WebhookSchedule().decide(
                    .failed("timeout"), attempts: attempts, since: Self.start, now: now, jitter: Double.random(in: 0...1, using: &dice))
                guard case .again(let at) = decision else {
                    #expect(decision == .deadLettered)
                    break
                }
                #expect(at > now)
                gaps.append(at - now)
                now = at
            }
            #expect(now - Self.start >= Self.hour * 72 && now - Self.start < Self.hour * 73)
            #expect((200..<800).contains(attempts), "\(attempts)")
            // Down for two minutes: back at most 15 s later.
            #expect(gaps.prefix(12).allSatisfy { $0 <= .seconds(15) })
        }
    }

    @Test("the health of an endpoint tells since when it fails, and forgets that with the first success")
    func health() {
        var health = EndpointHealth()
        health.note(.failed("timeout"), at: Timestamp(milliseconds: 1))
        health.note(.answered(status: 500, retryAfter: nil), at: Timestamp(milliseconds: 2))
        #expect(health.failingSince == Timestamp(milliseconds: 1) && health.failuresInARow == 2 && health.lastOutcome == "status 500")
        health.note(.answered(status: 204, retryAfter: nil), at: Timestamp(milliseconds: 3))
        #expect(health.failingSince == nil && health.failuresInARow == 0 && health.lastSuccessAt == Timestamp(milliseconds: 3))
        #expect(health.lastFailureAt == Timestamp(milliseconds: 2))
    }
}

@Suite("Webhooks: where to")
struct EndpointGuardTests {
    @Test(
        "NFR-12: only https addresses on the public Internet can be registered",
        arguments: [
            "http://example.org/hook", "ftp://example.org", "https://", "example.org/hook", "https://user:secret@example.org/",
            "https://example.org/#part", "https://localhost/x", "https://LOCALHOST./x", "https://printer.local/x", "https://db.internal/",
            "https://intranet/x", "https://127.0.0.1/x", "https://127.1/x", "https://0x7f000001/", "https://2130706433/",
            "https://10.1.2.3/", "https://172.16.0.1/", "https://192.168.1.1/", "https://169.254.169.254/latest/meta-data",
            "https://[::1]/", "https://[fe80::1]/", "https://[::ffff:10.0.0.1]/", "https://[fd00::1]/", "https://0.0.0.0/",
            "https://exa mple.org/", "https://example.org/\n", "https://example.org/" + String(repeating: "a", count: 2000),
        ])
    func refused(_ url: String) {
        #expect(throws: Problem.self) { _ = try EndpointGuard(allowsPrivate: false).check(url) }
    }

    @Test(
        "an endpoint whose port cannot be, as 70000 or 0, was registered: it is refused, and the code says why",
        arguments: ["example.org:70000/", "example.org:0/hook", "example.org:65536", "example.org:65536?a", "[2606:4700::1111]:99999/"])
    func impossiblePort(_ place: String) {
        #expect(throws: WebhookAddress.Fault.port) { _ = try WebhookAddress("https://" + place, allowsPrivate: false) }
        #expect(throws: Problem.self) { _ = try EndpointGuard(allowsPrivate: false).check("https://" + place) }
    }

    @Test(
        "addresses of the public Internet are taken as they are",
        arguments: [
            "https://example.org:65535", "https://example.org:1?a=b:0", "https://[2606:4700::1111]:443/a:0",
            "https://example.org/hook", "https://hooks.example.org:8443/a/b?c=d@e", "https://8.8.8.8/x", "https://[2606:4700::1111]/x",
            "HTTPS://Example.org/",
        ])
    func taken(_ url: String) throws {
        #expect(try EndpointGuard(allowsPrivate: false).check(url).text == url)
    }

    @Test("a refusal names the field and says what to do (UI-14); by the operator's word private addresses pass, other schemes do not")
    func words() throws {
        do {
            _ = try EndpointGuard(allowsPrivate: false).check("http://example.org/")
            Issue.record("it was taken")
        } catch {
            #expect(error.status == 422 && error.errors?.first?.pointer == "/url" && error.detail?.contains("https://") == true)
        }
        let harness = EndpointGuard(allowsPrivate: true)
        #expect(try harness.check("http://127.0.0.1:9000/hook").host == "127.0.0.1")
        #expect(throws: Problem.self) { _ = try harness.check("gopher://127.0.0.1/") }
    }
}
