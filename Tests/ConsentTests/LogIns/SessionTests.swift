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
        try await LogInHarness.run { harness in
            for name in ["anna", "bruno"] { try await harness.addPerson("\(name)@example.org") }
            let (anna, again, bruno) = try await (harness.logIn(), harness.logIn(), harness.logIn("bruno@example.org"))
            func end(_ email: String?) async throws -> Int {
                try await harness.trackme.ask(EndSessions(email: email), deadline: .seconds(5)).sessions
            }
            #expect(try await end("Anna@example.org") == 2)
            for session in [anna, again] { #expect(try await harness.isOpen(session.accessToken) == false) }
            #expect(try await harness.isOpen(bruno.accessToken))
            await #expect(throws: Failure.self) { _ = try await end("nobody@example.org") }
            #expect(try await end(nil) == 1)
            #expect(try await harness.isOpen(bruno.accessToken) == false)
        }
    }

    @Test("ACC-34: one account is logged in on phone, watch and web at the same time, and sees where")
    func several() async throws {
        try await LogInHarness.runWithPerson { harness in
            let phone = try await harness.logIn(device: "Anna's phone")
            let watch = try await harness.logIn(device: "watch")
            let web = try await harness.logIn(device: "Firefox on Linux")
            for session in [phone, watch, web] { #expect(try await harness.isOpen(session.accessToken)) }
            let listed: Page<SessionItem> = try await harness.request("GET", "/consent/v1/sessions", token: watch.accessToken).decoded()
            #expect(Set(listed.items.map(\.device)) == ["Anna's phone", "watch", "Firefox on Linux"])
            #expect(listed.items.filter(\.current).map(\.session) == [watch.session])
            #expect(Timestamp(rfc3339: listed.items[0].createdAt) != nil && Timestamp(rfc3339: listed.items[0].lastUsedAt) != nil)
        }
    }

    @Test("ACC-34, NFR-11: what a device calls itself lies sealed in the store")
    func sealedLabels() async throws {
        try await LogInHarness.runWithPerson { harness in
            _ = try await harness.logIn(device: "canary-device")
            let labels = try await harness.store.read { db in try Data.fetchAll(db, sql: "SELECT label FROM sessions") }
            #expect(labels.count == 1 && !labels.contains { String(decoding: $0, as: UTF8.self).contains("canary") })
        }
    }

    @Test("an account has fifty sessions at most; one more ends the one that was not used for longest")
    func bounded() async throws {
        try await LogInHarness.runWithPerson { harness in
            let first = try await harness.logIn()
            for _ in 0..<SessionStore.perAccount {
                harness.clock.advance(.milliseconds(5))
                _ = try await harness.logIn()
            }
            #expect(try await harness.isOpen(first.accessToken) == false)
        }
    }

    // MARK: Refreshing

    @Test("ACC-34: a refresh gives the next pair of tokens; the list shows when it was used")
    func refresh() async throws {
        try await LogInHarness.runWithPerson { harness in
            let first = try await harness.logIn()
            harness.clock.advance(.seconds(599))
            #expect(try await harness.isOpen(first.accessToken))
            harness.clock.advance(.seconds(2))
            #expect(try await harness.isOpen(first.accessToken) == false, "ten minutes are over")
            let second: SessionAnswer = try await harness.refresh(first.refreshToken).expect(status: 200).decoded()
            #expect(second.session == first.session && second.refreshToken != first.refreshToken)
            #expect(try await harness.isOpen(second.accessToken))
        }
    }

    @Test(
        "NFR-15: a refresh token that was spent ends the whole session, whoever of the two holders is the thief: after a minute, or once what it gave was used",
        arguments: [true, false])
    func reuse(isUsed: Bool) async throws {
        try await LogInHarness.runWithPerson { harness in
            let other = try await harness.logIn(device: "other")
            let first = try await harness.logIn()
            var newest: SessionAnswer = try await harness.refresh(first.refreshToken).expect(status: 200).decoded()
            if isUsed {
                newest = try await harness.refresh(newest.refreshToken).expect(status: 200).decoded()
            } else {
                harness.clock.advance(.seconds(60))
            }
            let stolen = try await harness.refresh(first.refreshToken)
            #expect(stolen.status == 401 && stolen.problem == "session-over")
            #expect(try await harness.refresh(newest.refreshToken).status == 401)
            #expect(try await harness.isOpen(newest.accessToken) == false, "its access token ends with it")
            #expect(try await harness.isOpen(other.accessToken), "other sessions stay")
        }
    }

    @Test("NFR-15: an old token of the family, older than the last one, ends the session too")
    func olderReuse() async throws {
        try await LogInHarness.runWithPerson { harness in
            var session = try await harness.logIn()
            let first = try #require(session.refreshToken)
            for number in 0..<3 {
                session = try await harness.refresh(session.refreshToken, key: "key \(number)").expect(status: 200).decoded()
            }
            #expect(try await harness.refresh(first, key: "key 0").status == 401)
            #expect(try await harness.isOpen(session.accessToken) == false)
        }
    }

    @Test(
        "ACC-34: a refresh whose answer was lost logged the app out: the same token gets the same answer again for a minute, under whatever key",
        arguments: [[nil, nil], ["one", "one"], ["one", nil], [nil, "one"], ["one", "other"]] as [[String?]])
    func lostAnswer(keys: [String?]) async throws {
        try await LogInHarness.runWithPerson { harness in
            let first = try await harness.logIn()
            let token = try #require(first.refreshToken)
            let lost = try await harness.refresh(token, key: keys[0]).expect(status: 200)
            harness.clock.advance(.seconds(59))
            let again = try await harness.refresh(token, key: keys[1]).expect(status: 200)
            #expect(try lost.decoded(as: SessionAnswer.self) == again.decoded(as: SessionAnswer.self))
            let second: SessionAnswer = try again.decoded()
            let third: SessionAnswer = try await harness.refresh(second.refreshToken, key: "two").expect(status: 200).decoded()
            #expect(try await harness.isOpen(third.accessToken))
            harness.clock.advance(.seconds(61))
            #expect(try await harness.refresh(second.refreshToken, key: "two").status == 401, "the minute is over")
        }
    }

    @Test("ACC-34: many retries of one refresh at once agree on one answer")
    func retriesAtOnce() async throws {
        try await LogInHarness.runWithPerson { harness in
            let token = try #require(try await harness.logIn().refreshToken)
            let answers = try await withThrowingTaskGroup(of: SessionAnswer.self) { group in
                for _ in 0..<8 { group.addTask { try await harness.refresh(token, key: "same").expect(status: 200).decoded() } }
                return try await group.reduce(into: Set<SessionAnswer>()) { $0.insert($1) }
            }
            #expect(answers.count == 1)
        }
    }

    @Test(
        "NFR-15: what is no refresh token, or nobody's, is refused like one that is over",
        arguments: ["", "x", String(repeating: "A", count: 64), String(repeating: "A", count: 63), "ünïcode"])
    func strangeTokens(_ text: String) async throws {
        try await LogInHarness.run { harness in
            let response = try await harness.refresh(text)
            #expect(text.isEmpty ? response.status == 422 : response.status == 401)
            #expect(response.pointers == ["/refreshToken"])
        }
    }

    @Test("ACC-34: a session that was not used for 14 days, or is 30 days old, is over; an operator's after eight hours")
    func ends() async throws {
        try await LogInHarness.runWithPerson { harness in
            let idle = try await harness.logIn()
            harness.clock.advance(.seconds(14 * 86_400))
            try await harness.parts.keys.rotate()
            #expect(try await harness.refresh(idle.refreshToken).problem == "session-over")

            var used = try await harness.logIn()
            for _ in 0..<2 {
                harness.clock.advance(.seconds(13 * 86_400))
                try await harness.parts.keys.rotate()
                used = try await harness.refresh(used.refreshToken).expect(status: 200).decoded()
            }
            harness.clock.advance(.seconds(4 * 86_400))
            try await harness.parts.keys.rotate()
            #expect(try await harness.refresh(used.refreshToken).problem == "session-over")

            let made = try await harness.trackme.ask(MakeOperator(email: "olga@example.org", language: .english), deadline: .seconds(5))
            let operating = try await harness.logIn("olga@example.org", made.temporaryPassword)
            harness.clock.advance(.seconds(8 * 3600))
            #expect(try await harness.refresh(operating.refreshToken).problem == "session-over")
        }
    }

    @Test(
        "W1: a session that is over is said to have ended within half a second, though its last token expired days ago: streams end with it"
    )
    func overIsSaid() async throws {
        try await LogInHarness.run { harness in
            let person = try await harness.addPerson()
            let (first, second) = (try await harness.logIn(), try await harness.logIn())
            let begun = harness.clock.now
            harness.clock.advance(.seconds(13 * 86_400))
            let kept = try await harness.refresh(second.refreshToken).expect(status: 200)
            let renewed: IssuedTokens = try kept.decoded()
            #expect(renewed.session == second.session)
            harness.clock.advance(.seconds(86_400))
            try await harness.parts.sessions.endThoseOver()
            let checker = harness.parts.checker
            #expect(!checker.stands(.person(person, first.session), since: begun))
            #expect(checker.stands(.person(person, second.session), since: begun), "it was refreshed a day ago")
            let said = try await harness.store.read { db in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM stream_log WHERE type = ?", arguments: [SessionEnded.type])
            }
            #expect(said == 1)
        }
    }

    @Test("The sweep removes sessions that are over and everything that no longer counts")
    func sweep() async throws {
        try await LogInHarness.runWithPerson { harness in
            _ = try await harness.logIn()
            _ = try await harness.tryLogIn("anna@example.org", "wrong wrong")
            let ended = try await harness.logIn()
            try await harness.request("DELETE", "/consent/v1/sessions/current", token: ended.accessToken).expect(status: 200)
            harness.clock.advance(.seconds(15 * 86_400))
            try await harness.parts.sessions.sweep()
            let left = try await harness.store.read { db in
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
        try await LogInHarness.runWithPerson { harness in
            let (phone, web) = (try await harness.logIn(), try await harness.logIn())
            let response = try await harness.request(
                "DELETE", "/consent/v1/sessions/current", token: phone.accessToken, headers: ["Accept-Language": "it-IT"]
            ).expect(status: 200)
            let answer: LogOutAnswer = try response.decoded()
            #expect(answer.goesOn == ["device-uploads", "sos-supervision", "run-tracker"])
            #expect(answer.notice.contains("AutomatedSOS") && answer.notice.contains("finché non li ferma"))
            #expect(try await harness.isOpen(phone.accessToken) == false)
            #expect(try await harness.refresh(phone.refreshToken).status == 401)
            #expect(try await harness.isOpen(web.accessToken))
        }
    }

    @Test("ACC-15: a session is ended from another device, or all at once; somebody else's is not found")
    func endOthers() async throws {
        try await LogInHarness.runWithPerson { harness in
            try await harness.addPerson("carla@example.org")
            let (lost, here) = (try await harness.logIn(), try await harness.logIn())
            let carla = try await harness.logIn("carla@example.org")
            let foreign = try await harness.request("DELETE", "/consent/v1/sessions/\(here.session)", token: carla.accessToken)
            #expect(foreign.status == 404)
            try await harness.request("DELETE", "/consent/v1/sessions/\(lost.session)", token: here.accessToken).expect(status: 200)
            #expect(try await harness.isOpen(lost.accessToken) == false)
            _ = try await harness.logIn()
            _ = try await harness.logIn()
            let all: LogOutAnswer = try await harness.request(
                "DELETE", "/consent/v1/sessions?keepCurrent=true", token: here.accessToken
            ).expect(status: 200).decoded()
            #expect(all.ended == 2)
            #expect(try await harness.isOpen(here.accessToken))
            try await harness.request("DELETE", "/consent/v1/sessions", token: here.accessToken).expect(status: 200)
            #expect(try await harness.isOpen(here.accessToken) == false)
            #expect(try await harness.isOpen(carla.accessToken))
        }
    }

    @Test("ACC-15: every service hears at once that the session has ended, and a newcomer finds it in the snapshot")
    func said() async throws {
        try await LogInHarness.run { harness in
            let person = try await harness.addPerson()
            let heard = Mutex<[StreamEvent]>([])
            let hearing = Task {
                try await harness.hearing.run(from: []) { events, _ in
                    heard.withLock { $0 += events }
                } restart: { page in
                    heard.withLock { $0 += page.facts }
                }
            }
            defer { hearing.cancel() }
            try await eventually("the signing key is heard") { heard.withLock { $0.contains { $0.header.type == SigningKeyState.type } } }
            let session = try await harness.logIn()
            try await harness.request("DELETE", "/consent/v1/sessions/current", token: session.accessToken).expect(status: 200)
            let event = try await eventually("the end of the session is heard") {
                heard.withLock { $0.first { $0.header.type == SessionEnded.type } }
            }
            let fact = try JSONDecoder().decode(SessionEnded.self, from: Data(event.payload))
            #expect(fact.session == session.session && event.header.subject == person.description)
            let snapshot = try await harness.parts.snapshot(SnapshotStream(stream: StreamFamily.sessionsStream, after: nil))
            #expect(snapshot?.facts.count == 1)
        }
    }

    @Test("X4: the end of a session that expired was told like a log-out, so that nobody could tell which endpoints are to go with it")
    func lapsed() async throws {
        try await LogInHarness.run { harness in
            try await harness.addPerson()
            let (left, expired) = (try await harness.logIn(), try await harness.logIn())
            try await harness.request("DELETE", "/consent/v1/sessions/current", token: left.accessToken).expect(status: 200)
            harness.clock.advance(.seconds(14 * 86_400))
            try await harness.parts.sessions.endThoseOver()
            let bodies = try await harness.store.read { db in
                try Data.fetchAll(
                    db, sql: "SELECT body FROM stream_log WHERE type = ? ORDER BY sequence", arguments: [SessionEnded.type])
            }
            let said = try bodies.map { try JSONDecoder().decode(SessionEnded.self, from: $0) }
            #expect(said.map(\.session) == [left.session, expired.session])
            #expect(said.map(\.lapsed) == [nil, true])
        }
    }

    @Test("ACC-15: a session that ended stays ended through a restart")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let token = try await LogInHarness.run(in: folder) { harness in
                try await harness.addPerson()
                let (session, kept) = (try await harness.logIn(), try await harness.logIn())
                try await harness.request("DELETE", "/consent/v1/sessions/current", token: session.accessToken).expect(status: 200)
                return (ended: session.accessToken, kept: kept.accessToken)
            }
            try await LogInHarness.run(in: folder) { harness in
                let (ended, kept) = (try await harness.isOpen(token.ended), try await harness.isOpen(token.kept))
                #expect(!ended && kept)
            }
        }
    }

    @Test("ACC-13: without a token nothing is open, with the reason and what to do")
    func withoutToken() async throws {
        try await LogInHarness.run { harness in
            for (method, path) in [("GET", "/consent/v1/sessions"), ("DELETE", "/consent/v1/sessions"), ("PUT", "/consent/v1/password")] {
                let response = try await harness.request(method, path, json: method == "PUT" ? [:] : nil)
                #expect(response.status == 401 && response.problem == "unauthorised")
            }
        }
    }

    // MARK: Browsers

    @Test("ACC-13: a browser gets cookies that no script can read, is known by them, refreshes and logs out by them")
    func browser() async throws {
        try await LogInHarness.runWithPerson { harness in
            let login: [String: Any] = ["login": "anna@example.org", "password": LogInHarness.password, "cookie": true]
            let own = ["Origin": LogInHarness.origin]
            let response = try await harness.request("POST", "/consent/v1/sessions", json: login, headers: own).expect(status: 200)
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
            #expect(try await harness.request("GET", "/consent/v1/sessions", headers: ["Cookie": sent]).status == 200)

            let stranger = try await harness.request(
                "DELETE", "/consent/v1/sessions/current", headers: ["Cookie": sent, "Origin": "https://evil.example"])
            #expect(stranger.status == 403 && stranger.problem == "wrong-origin")
            #expect(try await harness.request("DELETE", "/consent/v1/sessions/current", headers: ["Cookie": sent]).status == 403)
            let forged = try await harness.request(
                "POST", "/consent/v1/sessions/refresh", json: [:], headers: ["Cookie": sent, "Origin": "https://evil.example"])
            #expect(forged.status == 403)
            let unnamed = try await harness.request("POST", "/consent/v1/sessions/refresh", json: [:], headers: ["Cookie": sent])
            #expect(unnamed.status == 403 && unnamed.problem == "wrong-origin", "cookies alone refresh nothing")
            let planted = try await harness.request(
                "POST", "/consent/v1/sessions", json: login, headers: ["Origin": "https://evil.example"])
            #expect(planted.status == 403, "nobody is logged in by a foreign page")

            let refreshed = try await harness.request(
                "POST", "/consent/v1/sessions/refresh", json: [:], headers: own.merging(["Cookie": sent]) { $1 }
            ).expect(status: 200)
            let next = cookies(try #require(refreshed.headers["set-cookie"]))
            #expect(next != sent)
            let out = try await harness.request("DELETE", "/consent/v1/sessions/current", headers: own.merging(["Cookie": next]) { $1 })
            #expect(out.status == 200 && out.headers["set-cookie"]?.contains("Max-Age=0") == true)
            #expect(try await harness.request("GET", "/consent/v1/sessions", headers: ["Cookie": next]).status == 401)
        }
    }
}
