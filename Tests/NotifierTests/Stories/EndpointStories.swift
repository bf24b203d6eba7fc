// Push endpoints that end with the session that added them, and those that stay.

import Contracts
import Foundation
import HTTPKit
import Outbound
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Notifier

@Suite("Push endpoints and sessions")
struct EndpointStories {
    private static let path = "/notify/v1/push-endpoints"

    private func add(_ topic: String, as token: String, _ stage: Stage, _ notifier: Stage.Notifier) async throws -> OutboundResponse {
        try await stage.call(notifier, Self.path, by: "POST", as: token, "{\"address\":\"https://ntfy.invalid/\(topic)\"}")
    }

    /// As consent's word of it is applied.
    private func end(_ session: SessionID, lapsed: Bool = false, _ notifier: Stage.Notifier) async throws {
        let ended = SessionEnded(session: session, until: .now + .seconds(600), lapsed: lapsed)
        try await apply(ended, SessionEnded.type, notifier)
    }

    private func apply(_ fact: some Encodable, _ type: String, _ notifier: Stage.Notifier) async throws {
        let header = StreamHeader(
            stream: StreamFamily.sessionsStream, epoch: "e", sequence: 1, head: 1, type: type, subject: "", at: .now, trace: "")
        let event = StreamEvent(header: header, payload: Array(try JSONEncoder().encode(fact)))
        try await notifier.parts.opened.store.write { [removals = notifier.parts.removals] db in
            try removals.apply(db, event, at: .now)
        }
    }

    @Test("X4: the endpoint of a session that was stolen or logged out went on getting alarms; that of a session that expired stays")
    func sessionsEnd() async throws {
        try await Stage.playStarted { stage, notifier in
            let (person, people) = (PersonID.random(), notifier.parts.people)
            let (stolen, phone) = (SessionID.random(), SessionID.random())
            let token = try stage.token(person, session: phone)
            #expect(try await add("phone", as: token, stage, notifier).status == 201)
            #expect(try await add("thief", as: stage.token(person, session: stolen), stage, notifier).status == 201)
            func left() async throws -> [String] {
                try await people.endpoints(of: person).map { String($0.address.split(separator: "/").last ?? "") }
            }
            try await end(.random(), notifier)
            try await end(phone, lapsed: true, notifier)
            #expect(try await left() == ["phone", "thief"], "a phone that is to wake somebody is not silenced by its age")
            try await end(stolen, notifier)
            try await end(stolen, notifier)
            #expect(try await left() == ["phone"])
            let page: Page<InboxMessage> = try stage.read(try await stage.call(notifier, "/notify/v1/inbox", as: token))
            #expect(page.items.map(\.kind) == ["push-endpoint-removed", "push-endpoint-added", "push-endpoint-added"])
            #expect(page.items.first.map { $0.text.contains("ntfy.invalid") && !$0.text.contains("thief") } == true)

            // The app has logged in anew and names the same address: it belongs to the new session.
            let again = SessionID.random()
            #expect(try await add("phone", as: stage.token(person, session: again), stage, notifier).status == 200)
            try await end(phone, notifier)
            #expect(try await left() == ["phone"])
            try await end(again, notifier)
            #expect(try await left().isEmpty)
        }
    }

    @Test("X4: a thief's endpoint, whose log-in fifty others had displaced, went on getting alarms after the password was another one")
    func displaced() async throws {
        try await Stage.playStarted { stage, notifier in
            let (person, other, people) = (PersonID.random(), PersonID.random(), notifier.parts.people)
            let (thief, here, later) = (SessionID.random(), SessionID.random(), SessionID.random())
            #expect(try await add("thief", as: stage.token(person, session: thief), stage, notifier).status == 201)
            #expect(try await add("here", as: stage.token(person, session: here), stage, notifier).status == 201)
            #expect(try await add("other", as: stage.token(other, session: later), stage, notifier).status == 201)
            func left(_ person: PersonID) async throws -> [String] {
                try await people.endpoints(of: person).map { String($0.address.split(separator: "/").last ?? "") }
            }
            try await end(thief, lapsed: true, notifier)
            #expect(try await left(person) == ["thief", "here"])
            try await apply(LapsedSessionsRevoked(person: person), LapsedSessionsRevoked.type, notifier)
            #expect(try await left(person) == ["here"], "the session that goes on keeps its own")
            #expect(try await left(other) == ["other"])

            // The app whose session has lapsed logs in anew before the notifier hears of the new password.
            try await end(here, lapsed: true, notifier)
            #expect(try await add("here", as: stage.token(person, session: later), stage, notifier).status == 200)
            try await apply(LapsedSessionsRevoked(person: person), LapsedSessionsRevoked.type, notifier)
            #expect(try await left(person) == ["here"])
        }
    }

    @Test("X4: a stolen token removed the app by which alarms are answered, and the person was not told")
    func removed() async throws {
        try await Stage.playStarted { stage, notifier in
            let person = PersonID.random()
            let token = try stage.token(person, proved: Timestamp.now - .seconds(600))
            let fresh = try await add("phone", as: stage.token(person), stage, notifier)
            let item: EndpointItem = try stage.read(fresh)
            #expect(try await stage.call(notifier, Self.path + "/\(item.endpoint)", by: "DELETE", as: token).status == 204)
            #expect(try await stage.call(notifier, Self.path + "/\(item.endpoint)", by: "DELETE", as: token).status == 404)
            let page: Page<InboxMessage> = try stage.read(try await stage.call(notifier, "/notify/v1/inbox", as: token))
            #expect(page.items.map(\.kind) == ["push-endpoint-removed", "push-endpoint-added"])
        }
    }

    @Test("X4: an endpoint that was added while its session ended belonged to no session any more")
    func endedMeanwhile() async throws {
        try await Stage.playStarted { stage, notifier in
            let (person, session) = (PersonID.random(), SessionID.random())
            // On disk already, and not known in memory yet: so it is between the check of the token and the transaction.
            let ended = SessionEnded(session: session, until: .now + .seconds(600))
            try await notifier.parts.opened.store.write { [checker = notifier.parts.checker] db in
                try checker.keep(db, .sessionEnded(ended))
            }
            #expect(try await add("phone", as: stage.token(person, session: session), stage, notifier).status == 401)
            #expect(try await notifier.parts.people.endpoints(of: person).isEmpty)
        }
    }
}
