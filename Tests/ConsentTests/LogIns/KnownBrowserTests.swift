// A browser that its owner has logged in by before: strangers who guess elsewhere do not hold it up.

import Contracts
import Foundation
import Sealing
import TestKit
import Testing

@testable import Consent

struct KnownBrowserTests {
    private static let owner = "anna@example.org"

    /// The cookie of an answer, as a browser sends it back.
    private func cookie(_ response: HarnessAnswer) throws -> String {
        let field = try #require(response.headers["set-cookie"])
        let pair = try #require(field.split(separator: ";").first)
        #expect(pair.hasPrefix("__Host-trackme-browser=") && field.contains("HttpOnly") && field.contains("Secure"))
        return String(pair)
    }

    private func logIn(
        _ harness: LogInHarness, _ password: String, cookie: String, from address: String = "203.0.113.77", name: String = owner
    ) async throws -> Int {
        try await harness.request(
            "POST", "/consent/v1/sessions", json: ["login": name, "password": password, "device": "browser"],
            headers: AccountHarness.forwarded(address).merging(["Cookie": cookie]) { $1 }
        ).status
    }

    @Test("X11, CON-09: 51 requests kept an owner out for 4 minutes; a browser that was logged in before is not held up, wherever it is")
    func lockOut() async throws {
        try await LogInHarness.runWithPerson { harness in
            let first = try await harness.tryLogIn()
            let known = try cookie(first)
            // Logged out everywhere, so that the address of no session is known.
            let session = try first.decoded(as: SessionAnswer.self)
            #expect(try await harness.request("DELETE", "/consent/v1/sessions", token: session.accessToken).status == 200)
            var refused = 0
            for number in 0..<51 {
                let status = try await harness.tryLogIn(Self.owner, "wrong wrong", from: "198.51.100.\(number % 17)").status
                refused += status == 429 ? 1 : 0
                harness.clock.advance(.seconds(5))
                if number % 10 == 9 {
                    #expect(try await logIn(harness, LogInHarness.password, cookie: known) == 200, "after \(number + 1) requests")
                }
            }
            #expect(refused > 0, "whoever is not known waits")
        }
    }

    @Test("X11: a flood from the owner's own address, or from everywhere, does not use up the tries of a known browser")
    func flood() async throws {
        let few = ["TRACKME_ACC_LOG_INS_PER_MINUTE": "3", "TRACKME_ACC_LOG_INS_IN_ALL_PER_MINUTE": "3"]
        try await LogInHarness.runWithPerson(environment: few) { harness in
            let known = try cookie(await harness.tryLogIn())
            for _ in 0..<4 { _ = try await harness.tryLogIn("n@example.org", "wrong wrong", from: "203.0.113.77") }
            #expect(try await harness.tryLogIn(from: "203.0.113.77").status == 429)
            #expect(try await logIn(harness, LogInHarness.password, cookie: known) == 200)
        }
    }

    @Test("X11: whoever guesses in a known browser is slowed down as everybody is, and holds up nobody else")
    func ownCounter() async throws {
        try await LogInHarness.runWithPerson { harness in
            let (known, other) = (try cookie(await harness.tryLogIn()), try cookie(await harness.tryLogIn()))
            for _ in 0..<5 { #expect(try await logIn(harness, "wrong wrong", cookie: known) == 401) }
            #expect(try await logIn(harness, LogInHarness.password, cookie: known) == 429)
            #expect(try await logIn(harness, LogInHarness.password, cookie: other) == 200)
            #expect(try await harness.tryLogIn(from: "192.0.2.1").status == 200)
        }
    }

    @Test("X11: a cookie of another name, a forged and a cut one open no other way in")
    func forged() async throws {
        try await LogInHarness.runWithPerson { harness in
            try await harness.addPerson("thief@example.org")
            let own = try cookie(await harness.tryLogIn("thief@example.org"))
            for _ in 0..<5 { _ = try await harness.tryLogIn(Self.owner, "wrong wrong", from: "198.51.100.1") }
            for bad in [own, String(own.dropLast(2)), own + "A", "__Host-trackme-browser=", "__Host-trackme-browser=....."] {
                #expect(try await logIn(harness, LogInHarness.password, cookie: bad, from: "198.51.100.2") == 429, "\(bad)")
            }
        }
    }

    @Test("A browser that a family shares is known under the last four names, and keeps what it was given")
    func family() throws {
        let browsers = KnownBrowsers(key: LookupKey(try SymmetricKey(bytes: [UInt8](repeating: 7, count: 32)), purpose: "test"))
        var kept: String?
        let names = (1...5).map { "n\($0)@example.org" }
        for name in names { kept = browsers.keep(kept, login: name) }
        #expect(names.map { browsers.find(kept, login: $0) != nil } == [false, true, true, true, true])
        let before = browsers.find(kept, login: names[1])
        kept = browsers.keep(kept, login: " N2@Example.org ")
        #expect(browsers.find(kept, login: names[1]) == before && before?.id.count == KnownBrowser.bytes)
    }
}
