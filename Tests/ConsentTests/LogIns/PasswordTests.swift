// Passwords: the rule, the hasher, and how they lie in the store.

import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Passwords")
struct PasswordTests {
    private static let cheap = PasswordHash.Cost(n: 1 << 4, r: 1, p: 1)
    private static let personal = ["Anna.Bianchi@example.org", "Anna", "Bianchi", "annab1990"]

    @Test(
        "ACC-03, ACC-F: a password is refused for its length, its fame or its owner's name, and for no kind of character",
        arguments: [
            ("kurz", PasswordFault.length(.tooShort(least: 8))), ("1234567", .length(.tooShort(least: 8))),
            ("  a b ", .length(.tooShort(least: 8))),
            ("Password1", .common), ("QWERTYUIOP", .common), ("iloveyou", .common), ("forzajuve", .common), ("aaaaaaaaaa", .common),
            ("1212121212", .common), ("23456789", .common), ("hgfedcba", .common), ("p a s s w o r d 1", .common),
            ("anna.bianchi@example.org", .personal), ("ANNA.BIANCHI", .personal), ("annaBianchi", .personal), ("Bianchi Anna", .personal),
            ("annab1990", .personal), ("Anna1940!", .personal), ("AutomatedSOS!", .service), ("tr4ckme2026", .service),
            (String(repeating: "lunga frase ", count: 11), .length(.tooLong)),
        ] as [(String, PasswordFault)])
    func refused(_ password: String, _ fault: PasswordFault) {
        #expect(PasswordRule(least: 8).fault(of: password, personal: Self.personal) == fault)
        #expect(fault.fieldFault.english.contains(":") && !fault.fieldFault.english.contains(password))
    }

    @Test(
        "ACC-03: words, digits, any script and any length between are taken, without rules about kinds of characters",
        arguments: [
            "una frase che ricordo", "78120934", "correcthorse", "пароль-какой-то", "🔑🔑🔒🔒🗝🗝🚪🚪", "ANNA e Carlo",
            String(repeating: "ab c", count: 32),
        ])
    func taken(_ password: String) {
        #expect(PasswordRule(least: 8).fault(of: password, personal: Self.personal) == nil)
    }

    @Test(
        "X12: `Password1!` was taken; 30,000 used passwords are refused, also with digits and marks around them or for letters",
        arguments: [
            "Password1!", "P@ssw0rd2026", "!!Welcome!!", "Liverpool99", "Trustno1", "s3cr3t123", "Qwerty12345!", "dragon2024",
            "Juventus1897!",
        ])
    func famous(_ password: String) throws {
        let common = try PublishedPasswords.shipped()
        #expect(PasswordRule(isCommon: common.contain).fault(of: password, personal: []) == .common)
    }

    @Test("X12: the list holds 10,000 passwords at least, each once; a cut one is none; what nobody uses is not in it")
    func list() throws {
        let common = try PublishedPasswords.shipped()
        #expect(common.count >= 10_000 && common.isInOrder)
        for word in ["123456", "password", "letmein", "iloveyou"] { #expect(common.contain(word), "\(word)") }
        let rule = PasswordRule(isCommon: common.contain)
        for password in ["una frase che ricordo", "78120934", "correcthorse", "k3xv-9qrt-m2hw-7cpd", "pass 1940 word mare"] {
            #expect(rule.fault(of: password, personal: []) == nil, "\(password)")
        }
        #expect(throws: PublishedPasswords.NoPasswords.self) { try PublishedPasswords([1, 2, 3, 4, 5]) }
    }

    @Test("X12: operators choose twelve characters at least")
    func operators() {
        let rule = PasswordRule()
        #expect(rule.asked(of: .operator).fault(of: "verde e blu", personal: []) == .length(.tooShort(least: 12)))
        #expect(rule.asked(of: .operator).fault(of: "verde e blu!", personal: []) == nil)
        #expect(rule.asked(of: .member).fault(of: "verde e b", personal: []) == nil)
        #expect(PasswordRule(least: 15).asked(of: .operator).least == 15)
    }

    @Test("ACC-03: the least length is a setting, counted in code points after composition")
    func least() {
        #expect(PasswordRule(least: 15).fault(of: "una frase corta", personal: []) == nil)
        #expect(PasswordRule(least: 16).fault(of: "una frase corta", personal: []) == .length(.tooShort(least: 16)))
        #expect(PasswordRule(least: 8).fault(of: "e\u{301}e\u{301}e\u{301}e\u{301}xyz", personal: []) == .length(.tooShort(least: 8)))
    }

    @Test("ACC-08: a temporary password has 80 random bits in a form that can be read aloud, and none is made twice")
    func temporary() {
        let made = (0..<200).map { _ in TemporaryPassword.make(from: Random.bytes(TemporaryPassword.randomBytes)) }
        #expect(Set(made).count == made.count)
        for password in made {
            #expect(password.wholeMatch(of: /([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}/) != nil)
            #expect(PasswordRule().fault(of: password, personal: Self.personal) == nil)
        }
    }

    // MARK: The hasher

    @Test("ACC-08: what is kept is a salted hash: the right password fits it, another does not, and two hashes of one differ")
    func hashes() async throws {
        let hasher = try PasswordHasher(cost: Self.cheap)
        let (one, other) = (try await hasher.hash("una frase"), try await hasher.hash("una frase"))
        #expect(one != other && one.hasPrefix("$scrypt$") && !one.contains("una frase"))
        #expect(try await hasher.check("una frase", against: one) == .right(rehashed: nil))
        #expect(try await hasher.check("una fraso", against: one) == .wrong)
        #expect(try await hasher.check("e\u{301} vero!", against: hasher.hash("\u{e9} vero!")) == .right(rehashed: nil))
        #expect(try await hasher.check("una frase", against: nil) == .wrong)
    }

    @Test("ACC-08: the usual cost is N = 2^15, r = 8, p = 3, and a hash of another cost is made anew at the next log-in")
    func costs() async throws {
        #expect(PasswordHasher.cost == PasswordHash.Cost(n: 32_768, r: 8, p: 3))
        let old = try await PasswordHasher(cost: Self.cheap).hash("una frase")
        let hasher = try PasswordHasher(cost: PasswordHash.Cost(n: 1 << 5, r: 1, p: 1))
        guard case .right(.some(let rehashed)) = try await hasher.check("una frase", against: old) else {
            Issue.record("a cheap hash was kept")
            return
        }
        #expect(try await hasher.check("una frase", against: rehashed) == .right(rehashed: nil))
    }

    @Test("two hashes at a time, twenty wait, one more is told to come again, and everybody admitted gets an answer")
    func bounded() async throws {
        let hasher = try PasswordHasher(cost: PasswordHash.Cost(n: 1 << 13, r: 8, p: 1))
        let places = PasswordHasher.atOnce + PasswordHasher.waiting
        let outcomes = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<(places * 3) {
                group.addTask {
                    do {
                        _ = try await hasher.hash("una frase")
                        return 200
                    } catch let refusal as Refusal {
                        return refusal.retryAfter == nil ? 0 : refusal.problem.status
                    } catch {
                        return 0
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(outcomes) == [200, 429])
        #expect(outcomes.count { $0 == 200 } >= places)
        #expect(try await hasher.check("x", against: nil) == .wrong, "the hasher goes on")
    }

    // MARK: At rest

    @Test("ACC-08, NFR-11: the store holds neither the password nor a hash that could be tried out without the service's key")
    func atRest() async throws {
        try await LogInHarness.runWithPerson { harness in
            let stored = try await harness.store.read { db in try Data.fetchAll(db, sql: "SELECT hash FROM credentials") }
            #expect(stored.count == 1)
            for bytes in stored {
                let text = String(decoding: bytes, as: UTF8.self)
                #expect(!text.contains("scrypt") && !text.contains(LogInHarness.password))
            }
            let found = try await harness.store.read { [parts = harness.parts] db in try parts.credentials.find(db, account: 1) }
            #expect(found?.hash.hasPrefix("$scrypt$") == true)
        }
    }
}
