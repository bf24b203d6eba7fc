// What somebody who has logged out, changed the password or left goes on hearing: nothing, in no service.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Operator

/// An event stream as a browser hears it.
private final class Listener: Sendable {
    private let connection: RawConnection
    private let heard = Mutex<(text: String, endedAt: ContinuousClock.Instant?)>(("", nil))

    init(_ origin: String, _ path: String, token: String) async throws {
        let port = try #require(URL(string: origin)?.port)
        let connection = try RawConnection(port: port)
        self.connection = connection
        await connection.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n\r\n")
        Task { [self] in
            while true {
                let more = await connection.receive()
                let text = String(decoding: more, as: UTF8.self)
                let isOver = more.isEmpty || text.hasSuffix("0\r\n\r\n")
                heard.withLock { heard in
                    heard.text += text
                    if isOver { heard.endedAt = .now }
                }
                if isOver { return }
            }
        }
        try await eventually("\(path) is open") { self.text.contains(": connected") }
    }

    var text: String { heard.withLock { $0.text } }
    var endedAt: ContinuousClock.Instant? { heard.withLock { $0.endedAt } }
}

@Suite("Stories of sessions that end", .timeLimit(.minutes(5)))
struct SessionStories {
    /// Each service's streams of a person, by the service's origin.
    private static func streams(of guest: Guest, as token: String) async throws -> [(name: String, listener: Listener)] {
        let suite = guest.suite
        var open: [(String, Listener)] = []
        for (origin, path) in [
            (suite.server, "/ingest/v1/dashboard/events"), (suite.sos, "/sos/v1/prompt/events"),
            (suite.notifier, "/notify/v1/inbox/events"),
        ] {
            open.append((path, try await Listener(origin, path, token: token)))
        }
        return open
    }

    private static func logIn(_ guest: Guest, password: String = Guest.password) async throws -> String {
        try await HarnessClient(guest.suite.consent).logIn(guest.email, password).accessToken
    }

    /// Every one of them is over a second after `moment` at the latest.
    private static func expectOver(_ streams: [(name: String, listener: Listener)], since moment: ContinuousClock.Instant) async throws {
        for (name, listener) in streams {
            let endedAt = try await eventually("\(name) ends", within: .seconds(10)) { listener.endedAt }
            #expect(endedAt - moment < .seconds(1), "\(name) went on for \(endedAt - moment)")
        }
    }

    @Test(
        "W1: after log-out … dashboard/events goes on delivering heart rates, and the inbox and the prompt go on: not any more; other sessions do"
    )
    func logOut() async throws {
        try await StorySuite.with { suite in
            let guest = try await Guest(in: suite)
            let leaving = try await Self.logIn(guest)
            let (gone, stays) = (try await Self.streams(of: guest, as: leaving), try await Self.streams(of: guest, as: guest.token))
            let device = try await Listener(suite.server, "/ingest/v1/devices/self/events", token: guest.scale.token)
            let watch = guest.scale
            try await suite.beat(71, from: watch)
            try await eventually("both hear of heart rates") {
                gone[0].listener.text.contains("71") && stays[0].listener.text.contains("71")
            }

            #expect(try await suite.say("DELETE", suite.consent + "/consent/v1/sessions/current", as: leaving).status == 200)
            try await Self.expectOver(gone, since: .now)
            for (name, listener) in gone {
                let answer = try await suite.say("GET", suite.origin(of: name) + name, as: leaving)
                #expect(answer.status == 401, "\(name)")
                #expect(listener.text.hasSuffix("0\r\n\r\n"), "\(name) ends well, so that the browser comes again")
            }
            try await suite.beat(173, from: watch)
            try await eventually("who is logged in hears on") { stays[0].listener.text.contains("173") }
            #expect(!gone[0].listener.text.contains("173"))
            #expect(stays.allSatisfy { $0.listener.endedAt == nil } && device.endedAt == nil)

            _ = try await suite.ask(RevokeDevice(device: watch.device))
            let revoked = ContinuousClock.now
            try await Self.expectOver([("the removed device's stream", device)], since: revoked)
        }
    }

    @Test("W1: A changed password ends the streams of every other session, in every service")
    func password() async throws {
        try await StorySuite.with { suite in
            let guest = try await Guest(in: suite)
            let elsewhere = try await Self.streams(of: guest, as: Self.logIn(guest))
            let new = "un'altra frase da ricordare"
            let body = ["old": Guest.password, "new": new, "newAgain": new]
            #expect(try await suite.say("PUT", suite.consent + "/consent/v1/password", body, as: guest.token).status == 200)
            try await Self.expectOver(elsewhere, since: .now)
        }
    }

    @Test("X4: A log-out everywhere and a new password left the push endpoints of the sessions they ended, and alarms went on to them")
    func endpoints() async throws {
        try await StorySuite.with { suite in
            let guest = try await Guest(in: suite)
            let path = suite.notifier + "/notify/v1/push-endpoints"
            func add(_ topic: String, as token: String) async throws {
                #expect(try await suite.say("POST", path, ["address": "https://ntfy.invalid/\(topic)"], as: token).status == 201)
            }
            @Sendable func left() async throws -> [String] {
                let page: HarnessAnswer = try await suite.say("GET", path, as: guest.token)
                return page.items.compactMap { ($0["address"] as? String)?.split(separator: "/").last.map(String.init) }
            }
            try await add("own", as: guest.token)
            try await add("phone", as: Self.logIn(guest))
            let sessions = suite.consent + "/consent/v1/sessions"
            let leaving = try await Self.logIn(guest)
            try await add("left", as: leaving)
            #expect(try await suite.say("DELETE", sessions + "/current", as: leaving).status == 200)
            try await eventually("the app that was logged out gets nothing more", isTrue: { try await left() == ["own", "phone"] })
            let body = ["old": Guest.password, "new": "un'altra frase da ricordare", "newAgain": "un'altra frase da ricordare"]
            #expect(try await suite.say("PUT", suite.consent + "/consent/v1/password", body, as: guest.token).status == 200)
            try await eventually("the others' endpoints are gone with them", isTrue: { try await left() == ["own"] })
        }
    }

    @Test("W1, ACC-31: An erased account hears nothing more, neither by its sessions nor by its devices")
    func erasure() async throws {
        try await StorySuite.with { suite in
            let guest = try await Guest(in: suite)
            var open = try await Self.streams(of: guest, as: guest.token)
            open.append(
                ("devices/self/events", try await Listener(suite.server, "/ingest/v1/devices/self/events", token: guest.scale.token)))
            struct Ordered: Decodable { var confirmation: String }
            let erasures = suite.consent + "/consent/v1/erasures"
            let ordered: Ordered = try await suite.say("POST", erasures, ["scope": "account"], as: guest.token).decoded()
            let order = ["confirmation": ordered.confirmation, "password": Guest.password]
            #expect(try await suite.say("POST", erasures + "/orders", order, as: guest.token).status == 202)
            try await Self.expectOver(open, since: .now)
        }
    }

    @Test("W1: A member of an organisation who logs out hears nothing more of its requests; the organisation's others do")
    func member() async throws {
        try await Hospital.withRegistered { hospital in
            let (leaving, staying) = (try #require(try await hospital.logIn()), try #require(hospital.token))
            let (path, origin) = ("/thirdparty/v1/requests/events", "http://127.0.0.1:\(hospital.port)")
            let gone = try await Listener(origin, path, token: leaving)
            let stays = try await Listener(origin, path, token: staying)
            let suite = hospital.suite
            #expect(try await suite.say("DELETE", suite.consent + "/consent/v1/sessions/current", as: leaving).status == 200)
            try await Self.expectOver([(path, gone)], since: .now)
            #expect(stays.endedAt == nil)
        }
    }
}

extension StorySuite {
    /// The service that has the path.
    fileprivate func origin(of path: String) -> String {
        switch path.split(separator: "/").first {
        case "sos": sos
        case "notify": notifier
        default: server
        }
    }
}
