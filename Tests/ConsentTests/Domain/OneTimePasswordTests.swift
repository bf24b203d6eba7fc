// One-time passwords by the vectors of their standards, and how recovery codes are spelt.

import Contracts
import Foundation
import Sealing
import Testing

@testable import Consent

struct OneTimePasswordTests {
    private static let secret = Array("12345678901234567890".utf8)

    private func code(_ step: Int64, digits: Int = 6) -> String {
        OneTimePassword.text(of: Digest.hmacSHA1(OneTimePassword.message(step), keyBytes: Self.secret), digits: digits)
    }

    @Test("X5: the vectors of RFC 4226, appendix D")
    func counters() {
        let expected = ["755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"]
        #expect((0..<10).map { code($0) } == expected)
    }

    @Test(
        "X5: the vectors of RFC 6238, appendix B, for SHA-1",
        arguments: [
            (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
        ] as [(Int64, String)])
    func times(_ second: Int64, _ expected: String) {
        #expect(code(OneTimePassword.step(at: Timestamp(milliseconds: second * 1000)), digits: 8) == expected)
    }

    @Test("X5: one step before and after is taken, none that was used and none before it")
    func steps() {
        let now = Timestamp(milliseconds: 3_000_000)
        #expect(OneTimePassword.step(at: now) == 100)
        #expect(OneTimePassword.steps(at: now, after: 0) == [99, 100, 101])
        #expect(OneTimePassword.steps(at: now, after: 99) == [100, 101])
        #expect(OneTimePassword.steps(at: now, after: 101).isEmpty)
    }

    @Test("X5: a code that was used while the clock was ahead kept every right one out; no used one is taken again wherever the clock goes")
    func usedAhead() {
        func time(_ step: Int64) -> Timestamp { Timestamp(milliseconds: step * 30_000) }
        var used = UsedSteps()
        used.use(100)
        used.use(220)
        #expect(used.open(at: time(100)) == [101], "the clock is right again, and 100 was used before it leapt")
        used.use(101)
        #expect(used.open(at: time(101)) == [102])
        #expect(used.open(at: time(218)) == [217, 218, 219])
        #expect(used.open(at: time(219)).isEmpty && used.open(at: time(220)) == [221], "what was used ahead is refused in its own time")
        #expect(used.open(at: time(99)).isEmpty, "and a clock that goes back further brings nothing back")
        #expect(UsedSteps(floor: used.floor, written: used.written) == used)
    }

    @Test("X5: of many codes that were used the oldest are remembered as a bound, below which none is taken")
    func manyUsed() {
        var used = UsedSteps()
        for step in 1...Int64(UsedSteps.longest + 10) { used.use(step) }
        #expect(used.floor == 10 && used.steps.count == UsedSteps.longest)
        #expect(used.open(at: Timestamp(milliseconds: 9 * 30_000)).isEmpty)
    }

    @Test("X5: base32 by the vectors of RFC 4648 §10, and the link that authenticators read")
    func link() {
        let vectors = ["": "", "f": "MY", "fo": "MZXQ", "foo": "MZXW6", "foob": "MZXW6YQ", "fooba": "MZXW6YTB", "foobar": "MZXW6YTBOI"]
        for (plain, coded) in vectors { #expect(OneTimePassword.base32(Array(plain.utf8)) == coded) }
        let link = OneTimePassword.link(secret: Self.secret, account: "anna+médico@example.org")
        let expected = "otpauth://totp/TrackMe:anna%2Bm%C3%A9dico%40example.org?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        #expect(link == expected + "&issuer=TrackMe&algorithm=SHA1&digits=6&period=30")
    }

    @Test("X5: codes are taken as authenticators and paper show them")
    func typed() {
        #expect(OneTimePassword.typed("492 039") == "492039" && OneTimePassword.typed("49203") == nil)
        #expect(OneTimePassword.typed("49203a") == nil && OneTimePassword.typed("٤٩٢٠٣٩") == nil)
        let made = (0..<100).map { _ in RecoveryCode.make(from: Random.bytes(RecoveryCode.randomBytes)) }
        #expect(Set(made).count == 100)
        for code in made {
            #expect(code.wholeMatch(of: /([0-9a-hjkmnp-tv-z]{6}-){3}[0-9a-hjkmnp-tv-z]{6}/) != nil)
            #expect(RecoveryCode.typed(" " + code.uppercased()) == code.filter { $0 != "-" })
        }
        #expect(RecoveryCode.typed("492039") == nil)
    }
}
