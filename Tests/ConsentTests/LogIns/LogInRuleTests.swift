// The pure rules of log-ins: waits, ends of sessions, spent tokens, the month of a signing key.

import Contracts
import Testing

@testable import Consent

@Suite("Log-in rules")
struct LogInRuleTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    @Test(
        "ACC-12, CON-09: the wait begins with the fifth failure, doubles, and is never longer than a minute",
        arguments: zip([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 100, 1_000_000], [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]))
    func waits(_ failures: Int, _ seconds: Int) {
        let run = FailureRun(count: failures, last: Self.start)
        let wait = LogInThrottle.account.wait(after: run, at: Self.start)
        #expect(wait ?? .zero == .seconds(seconds))
        #expect(LogInThrottle.account.wait(after: run, at: Self.start + .seconds(seconds)) == nil, "and then the next may be tried")
    }

    @Test("CON-09: no number of failures locks an account: after a minute there is always a try, and after a day nothing is left")
    func neverLocked() {
        var run: FailureRun?
        var now = Self.start
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            if let wait = LogInThrottle.account.wait(after: run, at: now) {
                #expect(wait <= .seconds(60))
                now = now + wait
            }
            run = LogInThrottle.account.adding(to: run, at: now)
            now = now + .milliseconds(Int64.random(in: 0...30_000, using: &generator))
        }
        #expect(LogInThrottle.account.current(run, at: now + .seconds(24 * 3600)) == nil)
        #expect(LogInThrottle.account.adding(to: run, at: now + .seconds(24 * 3600)).count == 1)
    }

    @Test("CON-09: a clock that was put back makes nobody wait longer than a minute")
    func clockPutBack() {
        let run = FailureRun(count: 20, last: Self.start + .seconds(86_000))
        #expect(LogInThrottle.account.wait(after: run, at: Self.start) == .seconds(60))
    }

    @Test("CON-09: one log-in of before the clock was put back made everybody behind the address wait a minute, until it had caught up")
    func fewFailuresAhead() {
        for count in [0, 1, 4] {
            #expect(LogInThrottle.account.wait(after: FailureRun(count: count, last: Self.start + .seconds(3600)), at: Self.start) == nil)
        }
        let run = FailureRun(count: 5, last: Self.start + .seconds(3600))
        #expect(LogInThrottle.account.wait(after: run, at: Self.start) == .seconds(1))
        #expect(LogInThrottle.account.adding(to: run, at: Self.start) == FailureRun(count: 6, last: Self.start))
    }

    @Test("NFR-15: an address, perhaps of many people, waits from its twentieth failure and is forgiven in a quarter of an hour")
    func addresses() {
        #expect(LogInThrottle.address.wait(after: FailureRun(count: 19, last: Self.start), at: Self.start) == nil)
        #expect(LogInThrottle.address.wait(after: FailureRun(count: 20, last: Self.start), at: Self.start) == .seconds(1))
        #expect(LogInThrottle.address.current(FailureRun(count: 90, last: Self.start), at: Self.start + .seconds(900)) == nil)
    }

    @Test("ACC-34: a session is over after 14 days without use and after 30 days in any case")
    func sessionLife() {
        let life = SessionLife(idle: .seconds(14 * 86_400), absolute: .seconds(30 * 86_400))
        let day = Duration.seconds(86_400)
        #expect(!life.isOver(created: Self.start, lastUsed: Self.start, at: Self.start + day * 13))
        #expect(life.isOver(created: Self.start, lastUsed: Self.start, at: Self.start + day * 14))
        #expect(!life.isOver(created: Self.start, lastUsed: Self.start + day * 28, at: Self.start + day * 29))
        #expect(life.isOver(created: Self.start, lastUsed: Self.start + day * 28, at: Self.start + day * 30))
    }

    @Test("NFR-15: the refresh token spent last is answered again for less than a minute, every other one is a theft")
    func spentTokens() {
        func judge(_ spentAt: Timestamp?, after: Duration) -> SpentTokenVerdict {
            SpentTokenVerdict.judge(spentAt: spentAt, now: Self.start + after)
        }
        #expect(judge(Self.start, after: .zero) == .sameAnswer)
        #expect(judge(Self.start, after: .milliseconds(59_999)) == .sameAnswer)
        #expect(judge(Self.start, after: .seconds(60)) == .reuse)
        #expect(judge(nil, after: .zero) == .reuse)
    }

    @Test("NFR-15: over two years there is always exactly one key that signs, published a day before, and every token outlives no key")
    func rotation() {
        let rotation = KeyRotation(period: .seconds(30 * 86_400))
        var keys: [KeyPeriod] = []
        var now = Self.start
        for step in 0..<(2 * 365 * 24) {
            if let due = rotation.due(after: keys, at: now, id: "key \(step)") {
                keys.append(due)
                if keys.count > 1 { #expect(due.signsFrom - due.notBefore >= .seconds(23 * 3600)) }
            }
            let signing = keys.filter { $0.signsFrom <= now && now < $0.signsUntil }
            #expect(signing.count == 1 && rotation.signer(of: keys, at: now) == signing.first)
            if let signer = signing.first { #expect(signer.signsUntil + SessionLife.accessToken < signer.notAfter) }
            #expect(rotation.published(of: keys, at: now).count <= 3)
            now = now + .seconds(3600)
        }
        #expect((24...26).contains(keys.count))
    }

    @Test("NFR-08: after the clock was put back no key signed until it had caught up")
    func keysAhead() {
        let rotation = KeyRotation(period: .seconds(30 * 86_400))
        let key = KeyPeriod(
            id: "ahead", notBefore: Self.start, signsFrom: Self.start, signsUntil: Self.start + .seconds(30 * 86_400),
            notAfter: Self.start + .seconds(30 * 86_400 + 3600))
        let (hour, year) = (Self.start - .seconds(3600), Self.start - .seconds(365 * 86_400))
        #expect(rotation.signer(of: [key], at: hour) == key && rotation.signer(of: [key], at: year) == key)
        #expect(rotation.due(after: [key], at: hour, id: "next") == nil)
        // Else one key signed for a year and a month.
        let next = rotation.due(after: [key], at: year, id: "next")
        #expect(next?.signsFrom == year && rotation.signer(of: [key, next].compactMap { $0 }, at: year) == next)
        #expect(rotation.signer(of: [key], at: key.signsUntil) == nil)
    }

    @Test("NFR-08: after a standstill of months a key is there at once")
    func standstill() {
        let rotation = KeyRotation(period: .seconds(30 * 86_400))
        let first = rotation.due(after: [], at: Self.start, id: "first")
        let later = Self.start + .seconds(200 * 86_400)
        let next = rotation.due(after: [first].compactMap { $0 }, at: later, id: "next")
        #expect(next?.signsFrom == later)
        #expect(rotation.due(after: [first].compactMap { $0 }, at: Self.start + .seconds(86_400), id: "none") == nil)
    }
}
