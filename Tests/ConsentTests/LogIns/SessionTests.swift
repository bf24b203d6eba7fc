// Sessions over HTTP and on the bus: several at once, refreshed, listed, ended at once everywhere.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Consent

@Suite("Sessions")
struct SessionTests {
    // MARK: Several at once

    @Test("ASVS 7.4.5: an operator ends the sessions of one account, or everybody's; whoever has none is not found")
    func ordered() async throws {
        try await LogInHarness.run { house in
            for name in ["anna", "bruno"] { try await house.addPerson("\(name)@example.org") }
            let (anna, again, bruno) = try await (house.logIn(), house.logIn(), house.logIn("bruno@example.org"))
            func end(_ email: String?) async throws -> Int {
                try await house.trackme.ask(EndSessions(email: email), deadline: .seconds(5)).sessions
            }
            #expect(try await end("Anna@example.org") == 2)
            for session in [anna, again] { #expect(try await house.isOpen(session.accessToken) == false) }
            #expect(try await house.isOpen(bruno.accessToken))
            await #expect(throws: Failure.self) { _ = try await end("nobody@example.org") }
            #expect(try await end(nil) == 1)
            #expect(try await house.isOpen(bruno.accessToken) == false)
        }
    }

    @Test("ACC-34: one account is logged in on phone, watch and web at the same time, and sees where")
    func several() async throws {
        try await LogInHarness.runWithPerson { house in
            let phone = try await house.logIn(device: "Anna's phone")
            let watch = try await house.logIn(device: "watch")
            let web = try await house.logIn(device: "Firefox on Linux")
            for session in [phone, watch, web] { #expect(try await house.isOpen(session.accessToken)) }
            let listed: Page<SessionItem> = try await house.request("GET", "/consent/v1/sessions", token: watch.accessToken).decoded()
            #expect(Set(listed.items.map(\.device)) == ["Anna's phone", "watch", "Firefox on Linux"])
            #expect(listed.items.filter(\.current).map(\.session) == [watch.session])
            #expect(Timestamp(rfc3339: listed.items[0].createdAt) != nil && Timestamp(rfc3339: listed.items[0].lastUsedAt) != nil)
        }
    }

    @Test("ACC-34, NFR-11: what a device calls itself lies sealed in the store")
    func sealedLabels() async throws {
        try await LogInHarness.runWithPerson { house in
            _ = try await house.logIn(device: "canary-device")
            let labels = try await house.store.read { db in try Data.fetchAll(db, sql: "SELECT label FROM sessions") }
            #expect(labels.count == 1 && !labels.contains { String(decoding: $0, as: UTF8.self).contains("canary") })
        }
    }

    @Test("an account has fifty sessions at most; one more ends the one that was not used for longest")
    func bounded() async throws {
        try await LogInHarness.runWithPerson { house in
            let first = try await house.logIn()
            for _ in 0..<SessionStore.perAccount {
                house.clock.advance(.milliseconds(5))
                _ = try await house.logIn()
            }
            #expect(try await house.isOpen(first.accessToken) == false)
        }
    }

    // MARK: Refreshing

    @Test("ACC-34: a refresh gives the next pair of tokens; the list shows when it was used")
    func refresh() async throws {
        try await LogInHarness.runWithPerson { house in
            let first = try await house.logIn()
            house.clock.advance(.seconds(599))
            #expect(try await house.isOpen(first.accessToken))
            house.clock.advance(.seconds(2))
            #expect(try await house.isOpen(first.accessToken) == false, "ten minutes are over")
            let second: SessionAnswer = try await house.refresh(first.refreshToken).expect(status: 200).decoded()
            #expect(second.session == first.session && second.refreshToken != first.refreshToken)
            #expect(try await house.isOpen(second.accessToken))
        }
    }

    @Test(
        "NFR-15: a refresh token that was spent ends the whole session, whoever of the two holders is the thief: after a minute, or once what it gave was used",
        arguments: [true, false])
    func reuse(isUsed: Bool) async throws {
        try await LogInHarness.runWithPerson { house in
            let other = try await house.logIn(device: "other")
            let first = try await house.logIn()
            var newest: SessionAnswer = try await house.refresh(first.refreshToken).expect(status: 200).decoded()
            if isUsed {
                newest = try await house.refresh(newest.refreshToken).expect(status: 200).decoded()
            } else {
                house.clock.advance(.seconds(60))
            }
            let stolen = try await house.refresh(first.refreshToken)
            #expect(stolen.status == 401 && stolen.problem == "session-over")
            #expect(try await house.refresh(newest.refreshToken).status == 401)
            #expect(try await house.isOpen(newest.accessToken) == false, "its access token ends with it")
            #expect(try await house.isOpen(other.accessToken), "other sessions stay")
        }
    }

    @Test("NFR-15: an old token of the family, older than the last one, ends the session too")
    func olderReuse() async throws {
        try await LogInHarness.runWithPerson { house in
            var session = try await house.logIn()
            let first = try #require(session.refreshToken)
            for number in 0..<3 {
                session = try await house.refresh(session.refreshToken, key: "key \(number)").expect(status: 200).decoded()
            }
            #expect(try await house.refresh(first, key: "key 0").status == 401)
            #expect(try await house.isOpen(session.accessToken) == false)
        }
    }

    @Test(
        "ACC-34: a refresh whose answer was lost logged the app out: the same token gets the same answer again for a minute, under whatever key",
        arguments: [[nil, nil], ["one", "one"], ["one", nil], [nil, "one"], ["one", "other"]] as [[String?]])
    func lostAnswer(keys: [String?]) async throws {
        try await LogInHarness.runWithPerson { house in
            let first = try await house.logIn()
            let token = try #require(first.refreshToken)
            let lost = try await house.refresh(token, key: keys[0]).expect(status: 200)
            house.clock.advance(.seconds(59))
            let again = try await house.refresh(token, key: keys[1]).expect(status: 200)
            #expect(try lost.decoded(as: SessionAnswer.self) == again.decoded(as: SessionAnswer.self))
            let second: SessionAnswer = try again.decoded()
            let third: SessionAnswer = try await house.refresh(second.refreshToken, key: "two").expect(status: 200).decoded()
            #expect(try await house.isOpen(third.accessToken))
            house.clock.advance(.seconds(61))
            #expect(try await house.refresh(second.refreshToken, key: "two").status == 401, "the minute is over")
        }
    }

    @Test("ACC-34: many retries of one refresh at once agree on one answer")
    func retriesAtOnce() async throws {
        try await LogInHarness.runWithPerson { house in
            let token = try #require(try await house.logIn().refreshToken)
            let answers = try await withThrowingTaskGroup(of: SessionAnswer.self) { group in
                for _ in 0..<8 { group.addTask { try await house.refresh(token, key: "same").expect(status: 200).decoded() } }
                return try await group.reduce(into: Set<SessionAnswer>()) { $0.insert($1) }
            }
            #expect(answers.count == 1)
        }
    }

    @Test(
        "NFR-15: what is no refresh token, or nobody's, is refused like one that is over",
        arguments: ["", "x", String(repeating: "A", count: 64), String(repeating: "A", count: 63), "ünïcode"])
    func strangeTokens(_ text: String) async throws {
        try await LogInHarness.run { house in
            let response = try await house.refresh(text)
            #expect(text.isEmpty ? response.status == 422 : response.status == 401)
            #expect(response.pointers == ["/refreshToken"])
        }
    }

    @Test("ACC-34: a session that was not used for 14 days, or is 30 days old, is over; an operator's after eight hours")
    func ends() async throws {
        try await LogInHarness.runWithPerson { house in
            let idle = try await house.logIn()
            house.clock.advance(.seconds(14 * 86_400))
            try await house.parts.keys.rotate()
            #expect(try await house.refresh(idle.refreshToken).problem == "session-over")

            var used = try await house.logIn()
            for _ in 0..<2 {
                house.clock.advance(.seconds(13 * 86_400))
                try await house.parts.keys.rotate()
                used = try await house.refresh(used.refreshToken).expect(status: 200).decoded()
            }
            house.clock.advance(.seconds(4 * 86_400))
            try await house.parts.keys.rotate()
            #expect(try await house.refresh(used.refreshToken).problem == "session-over")

            let made = try await house.trackme.ask(MakeOperator(email: "olga@example.org", language: .english), deadline: .seconds(5))
            let operating = try await house.logIn("olga@example.org", made.temporaryPassword)
            house.clock.advance(.seconds(8 * 3600))
            #expect(try await house.refresh(operating.refreshToken).problem == "session-over")
        }
    }

    @Test(
        "W1: a session that is over is said to have ended within half a second, though its last token expired days ago: streams end with it"
    )
    func overIsSaid() async throws {
        try await LogInHarness.run { house in
            let person = try await house.addPerson()
            let (first, second) = (try await house.logIn(), try await house.logIn())
            let begun = house.clock.now
            house.clock.advance(.seconds(13 * 86_400))
            let kept = try await house.refresh(second.refreshToken).expect(status: 200)
            let renewed: IssuedTokens = try kept.decoded()
            #expect(renewed.session == second.session)
            house.clock.advance(.seconds(86_400))
            try await house.parts.sessions.endThoseOver()
            let checker = house.parts.checker
            #expect(!checker.stands(.person(person, first.session), since: begun))
            #expect(checker.stands(.person(person, second.session), since: begun), "it was refreshed a day ago")
            let said = try await house.store.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM stream_log WHERE type = ?", arguments: [SessionEnded.type])
            }
            #expect(said == 1)
        }
    }

    @Test("The sweep removes sessions that are over and everything that no longer counts")
    func sweep() async throws {
        try await LogInHarness.runWithPerson { house in
            _ = try await house.logIn()
            _ = try await house.tryLogIn("anna@example.org", "wrong wrong")
            let ended = try await house.logIn()
            try await house.request("DELETE", "/consent/v1/sessions/current", token: ended.accessToken).expect(status: 200)
            house.clock.advance(.seconds(15 * 86_400))
            try await house.parts.sessions.sweep()
            let left = try await house.store.read { db in
                try ["sessions", "ended_sessions", "log_in_runs", "mail_links"].map {
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)")
                }
            }
            #expect(left == [0, 0, 0, 0])
        }
    }

    // MARK: Log-out

    @Test("ACC-15: log-out ends access on that device at once, names what goes on, and leaves the other devices alone")
    func logOut() async throws {
        try await LogInHarness.runWithPerson { house in
            let (phone, web) = (try await house.logIn(), try await house.logIn())
            let response = try await house.request(
                "DELETE", "/consent/v1/sessions/current", token: phone.accessToken, headers: ["Accept-Language": "it-IT"]
            ).expect(status: 200)
            let answer: LogOutAnswer = try response.decoded()
            #expect(answer.goesOn == ["device-uploads", "sos-supervision", "run-tracker"])
            #expect(answer.notice.contains("AutomatedSOS") && answer.notice.contains("finché non li ferma"))
            #expect(try await house.isOpen(phone.accessToken) == false)
            #expect(try await house.refresh(phone.refreshToken).status == 401)
            #expect(try await house.isOpen(web.accessToken))
        }
    }

    @Test("ACC-15: a session is ended from another device, or all at once; somebody else's is not found")
    func endOthers() async throws {
        try await LogInHarness.runWithPerson { house in
            try await house.addPerson("carla@example.org")
            let (lost, here) = (try await house.logIn(), try await house.logIn())
            let carla = try await house.logIn("carla@example.org")
            let foreign = try await house.request("DELETE", "/consent/v1/sessions/\(here.session)", token: carla.accessToken)
            #expect(foreign.status == 404)
            try await house.request("DELETE", "/consent/v1/sessions/\(lost.session)", token: here.accessToken).expect(status: 200)
            #expect(try await house.isOpen(lost.accessToken) == false)
            _ = try await house.logIn()
            _ = try await house.logIn()
            let all: LogOutAnswer = try await house.request(
                "DELETE", "/consent/v1/sessions?keepCurrent=true", token: here.accessToken
            ).expect(status: 200).decoded()
            #expect(all.ended == 2)
            #expect(try await house.isOpen(here.accessToken))
            try await house.request("DELETE", "/consent/v1/sessions", token: here.accessToken).expect(status: 200)
            #expect(try await house.isOpen(here.accessToken) == false)
            #expect(try await house.isOpen(carla.accessToken))
        }
    }

    @Test("ACC-15: every service hears at once that the session has ended, and a newcomer finds it in the snapshot")
    func said() async throws {
        try await LogInHarness.run { house in
            let person = try await house.addPerson()
            let heard = Mutex<[StreamEvent]>([])
            let hearing = Task {
                try await house.hearing.run(from: []) { events, _ in
                    heard.withLock { $0 += events }
                } restart: { page in
                    heard.withLock { $0 += page.facts }
                }
            }
            defer { hearing.cancel() }
            try await eventually("the signing key is heard") { heard.withLock { $0.contains { $0.header.type == SigningKeyState.type } } }
            let session = try await house.logIn()
            try await house.request("DELETE", "/consent/v1/sessions/current", token: session.accessToken).expect(status: 200)
            let event = try await eventually("the end of the session is heard") {
                heard.withLock { $0.first { $0.header.type == SessionEnded.type } }
            }
            let fact = try JSONDecoder().decode(SessionEnded.self, from: Data(event.payload))
            #expect(fact.session == session.session && event.header.subject == person.description)
            let snapshot = try await house.parts.snapshot(SnapshotStream(stream: StreamFamily.sessionsStream, after: nil))
            #expect(snapshot?.facts.count == 1)
        }
    }

    @Test("ACC-15: a session that ended stays ended through a restart")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let token = try await LogInHarness.run(in: folder) { house in
                try await house.addPerson()
                let (session, kept) = (try await house.logIn(), try await house.logIn())
                try await house.request("DELETE", "/consent/v1/sessions/current", token: session.accessToken).expect(status: 200)
                return (ended: session.accessToken, kept: kept.accessToken)
            }
            try await LogInHarness.run(in: folder) { house in
                let (ended, kept) = (try await house.isOpen(token.ended), try await house.isOpen(token.kept))
                #expect(!ended && kept)
            }
        }
    }

    @Test("ACC-13: without a token nothing is open, with the reason and what to do")
    func withoutToken() async throws {
        try await LogInHarness.run { house in
            for (method, path) in [("GET", "/consent/v1/sessions"), ("DELETE", "/consent/v1/sessions"), ("PUT", "/consent/v1/password")] {
                let response = try await house.request(method, path, json: method == "PUT" ? [:] : nil)
                #expect(response.status == 401 && response.problem == "unauthorised")
            }
        }
    }

    // MARK: Browsers

    @Test("ACC-13: a browser gets cookies that no script can read, is known by them, refreshes and logs out by them")
    func browser() async throws {
        try await LogInHarness.runWithPerson { house in
            let login: [String: Any] = ["login": "anna@example.org", "password": LogInHarness.password, "cookie": true]
            let own = ["Origin": LogInHarness.origin]
            let response = try await house.request("POST", "/consent/v1/sessions", json: login, headers: own).expect(status: 200)
            let answer: SessionAnswer = try response.decoded()
            #expect(answer.accessToken == nil && answer.refreshToken == nil, "scripts see no token")
            let set = try #require(response.headers["set-cookie"])
            for attribute in ["Secure", "HttpOnly", "SameSite=Lax", "Path=/"] {
                #expect(set.components(separatedBy: attribute).count >= 3, "\(attribute) on both")
            }
            #expect(!set.contains("Domain"))
            func cookies(_ header: String) -> String {
                ["__Host-trackme", "__Host-trackme-refresh"].compactMap { name in
                    header.components(separatedBy: "\(name)=").dropFirst().first.map { "\(name)=" + $0.prefix { $0 != ";" } }
                }.joined(separator: "; ")
            }
            let sent = cookies(set)
            #expect(try await house.request("GET", "/consent/v1/sessions", headers: ["Cookie": sent]).status == 200)

            let stranger = try await house.request(
                "DELETE", "/consent/v1/sessions/current", headers: ["Cookie": sent, "Origin": "https://evil.example"])
            #expect(stranger.status == 403 && stranger.problem == "wrong-origin")
            #expect(try await house.request("DELETE", "/consent/v1/sessions/current", headers: ["Cookie": sent]).status == 403)
            let forged = try await house.request(
                "POST", "/consent/v1/sessions/refresh", json: [:], headers: ["Cookie": sent, "Origin": "https://evil.example"])
            #expect(forged.status == 403)
            let unnamed = try await house.request("POST", "/consent/v1/sessions/refresh", json: [:], headers: ["Cookie": sent])
            #expect(unnamed.status == 403 && unnamed.problem == "wrong-origin", "cookies alone refresh nothing")
            let planted = try await house.request("POST", "/consent/v1/sessions", json: login, headers: ["Origin": "https://evil.example"])
            #expect(planted.status == 403, "nobody is logged in by a foreign page")

            let refreshed = try await house.request(
                "POST", "/consent/v1/sessions/refresh", json: [:], headers: own.merging(["Cookie": sent]) { $1 }
            ).expect(status: 200)
            let next = cookies(try #require(refreshed.headers["set-cookie"]))
            #expect(next != sent)
            let out = try await house.request("DELETE", "/consent/v1/sessions/current", headers: own.merging(["Cookie": next]) { $1 })
            #expect(out.status == 200 && out.headers["set-cookie"]?.contains("Max-Age=0") == true)
            #expect(try await house.request("GET", "/consent/v1/sessions", headers: ["Cookie": next]).status == 401)
        }
    }
}
