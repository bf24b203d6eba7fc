// What protects a person is not taken away by a stolen access token: by the doors of a subscriber, on the real dispatcher.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import ServiceLifecycle
import TestKit
import Testing

@testable import SOSDispatcher

/// A subscriber's doors; a bearer says who asks, and whether that was proved lately.
private struct Doors: Sendable {
    let client: HarnessClient
    let running: Running
    let subscribers: SubscriberModule
    let person = PersonID.random()

    init(of subscribers: SubscriberModule) async {
        self.subscribers = subscribers
        let server = HTTPServer(
            .init(title: "Subscribers", version: "1", summary: "Under test.", prefix: "sos"), routes: subscribers.routes, port: 0,
            health: Health(missing: { [] }, metrics: { "" }), authenticate: Self.authenticate, logger: Running.quiet)
        running = Running([server])
        client = HarnessClient(port: await server.boundPort)
    }

    private static let authenticate: Authenticate = { credentials, access in
        let words = credentials.bearer.split(separator: ".")
        guard words.count == 2, let person = PersonID(String(words[1])) else { throw Problem.unauthorised }
        if access.asksForFreshness, words[0] == "old" { throw Problem.insufficientUserAuthentication }
        return .person(person, .random())
    }

    /// - Parameter isProved: whether with a token of the last five minutes; else with an older one, as a thief holds it.
    func ask(_ method: String, _ path: String, _ body: JSONValue? = nil, isProved: Bool = false) async throws -> HarnessAnswer {
        try await client.send(
            client.request(
                method, "/sos/v1/" + path, token: "\(isProved ? "new" : "old").\(person)", body: body.map { Data($0.text.utf8) },
                type: body == nil ? nil : "application/json"))
    }

    func isRefused(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> Bool {
        let answer = try await ask(method, path, body)
        return answer.status == 401 && answer.problem == "insufficient-user-authentication"
            && answer.header("WWW-Authenticate")?.contains("insufficient_user_authentication") == true
    }
}

@Suite("A fresh proof for what watches over a person less", .timeLimit(.minutes(2)))
struct ProofStories {
    private func play(
        _ chosen: SupervisionPreferences = SupervisionPreferences(),
        _ body: (Doors, SupervisionService, TalkingNotifier) async throws -> Void
    ) async throws {
        try await Stage.play { stage in
            stage.ingest.can([.init(metrics: [.heartRate], intervalMs: 1000), .init(metrics: [.position], intervalMs: nil)])
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start()
            let doors = await Doors(of: dispatcher.parts.subscribers)
            try await dispatcher.parts.subscribers.subscriptions.join(doors.person, .init(preferences: chosen), at: .now)
            try await body(doors, dispatcher.parts.supervision, notifier)
            await doors.running.stop()
        }
    }

    /// Returns once the person has been told exactly this, in any order.
    private func areTold(_ losses: [Weakening], by notifier: TalkingNotifier) async throws {
        let words = losses.map { $0.words(.italian) }.sorted()
        try await eventually("the person is told of \(losses)") {
            notifier.messages(.watchedLess).compactMap { $0.values["change"] }.sorted() == words
        }
        for message in notifier.messages(.watchedLess) { #expect(message.channels == [.inbox, .push]) }
    }

    private func chosen(shaking: Bool, falls: Bool, ambulance: Bool = true, pausedUntil: Timestamp? = nil) -> JSONValue {
        [
            "shaking": .bool(shaking), "personalised": true, "tellsMedicalNotes": false, "falls": .bool(falls),
            "fallsCallAmbulance": .bool(ambulance),
            "fallsPausedUntil": pausedUntil.map { JSONValue.integer(Int($0.milliseconds)) } ?? JSONValue.null,
        ]
    }

    @Test("X4, SOS-03, SOS-04: a stolen access token ended supervision without a proof, or paused it; the person hears of both")
    func ending() async throws {
        try await play { doors, supervision, notifier in
            #expect(try await doors.isRefused("DELETE", "subscription?confirm=true"))
            #expect(try await doors.isRefused("POST", "subscription/pause"))
            #expect(await supervision.subscriber(of: doors.person)?.supervision.stage == .monitoring)

            for _ in 0..<2 { #expect(try await doors.ask("POST", "subscription/pause", isProved: true).status == 200) }
            #expect(try await doors.ask("POST", "subscription/resume").status == 200, "watched over again without a proof")
            #expect(try await doors.ask("DELETE", "subscription?confirm=true", isProved: true).status == 200)
            #expect(await !supervision.isSubscribed(doors.person))
            try await areTold([.paused, .left], by: notifier)
        }
    }

    @Test("X4, SOS-08: a stolen access token widened the thresholds without a proof; stricter ones need none, wider ones are told")
    func thresholds() async throws {
        try await play { doors, supervision, notifier in
            let wide: JSONValue = ["heart-rate": ["low": 20, "high": 250]]
            let strict: JSONValue = ["heart-rate": ["low": 60, "high": 100]]
            let clauses = JSONValue.string(SubscriptionClauses.version)
            #expect(try await doors.isRefused("PUT", "thresholds", ["bounds": wide]))
            #expect(try await doors.isRefused("PUT", "subscription", ["acceptedClauses": clauses, "bounds": wide]), "joining once more")
            #expect(await supervision.subscriber(of: doors.person)?.supervision.own == [:])

            #expect(try await doors.ask("PUT", "thresholds", ["bounds": strict]).status == 200)
            #expect(try await doors.ask("PUT", "subscription", ["acceptedClauses": clauses, "bounds": strict]).status == 200)
            #expect(try await doors.isRefused("PUT", "thresholds", ["bounds": .object([])]), "the defaults are wider")
            #expect(await supervision.subscriber(of: doors.person)?.supervision.own == [.heartRate: Bounds(low: 60, high: 100)])

            #expect(try await doors.ask("PUT", "thresholds", ["bounds": wide], isProved: true).status == 200)
            try await areTold([.thresholds], by: notifier)
        }
    }

    @Test("X4, SOS-08: a proof was asked for by what stood before the change: what was narrowed in between was widened again without one")
    func narrowedMeanwhile() async throws {
        try await play { doors, supervision, _ in
            let strict = [Metric.heartRate: Bounds(low: 60, high: 100)]
            let (person, subscriptions, thresholds) = (doors.person, doors.subscribers.subscriptions, doors.subscribers.thresholds)
            try await thresholds.setOwn(strict, of: person, SubscriberDoor.unproved)
            await #expect(throws: Problem.self) { try await thresholds.setOwn([:], of: person, SubscriberDoor.unproved) }
            await #expect(throws: Problem.self) { try await subscriptions.join(person, .init(own: [:]), at: .now) }
            #expect(await supervision.subscriber(of: doors.person)?.supervision.own == strict)
        }
    }

    @Test("X4, SOS-23, SOS-36: a stolen access token switched off falls and shaking without a proof; a pause for sport needs none")
    func alarms() async throws {
        try await play(SupervisionPreferences(shaking: true, falls: true)) { doors, supervision, notifier in
            for (shaking, falls, ambulance) in [(false, true, true), (true, false, true), (true, true, false)] {
                #expect(try await doors.isRefused("PUT", "preferences", chosen(shaking: shaking, falls: falls, ambulance: ambulance)))
            }
            #expect(await supervision.subscriber(of: doors.person)?.preferences?.falls == true)
            let end = Timestamp.now + .seconds(3600)
            let sport = chosen(shaking: true, falls: true, pausedUntil: end)
            #expect(try await doors.ask("PUT", "preferences", sport).status == 200)

            #expect(try await doors.ask("PUT", "preferences", chosen(shaking: false, falls: false), isProved: true).status == 200)
            #expect(try await doors.ask("PUT", "preferences", chosen(shaking: true, falls: true)).status == 200, "on again")
            try await areTold([.fallsPaused(until: end), .alarms], by: notifier)
        }
    }

    @Test("X4, SOS-36: a stolen access token paused falls for four hours, and the person was not told until when they are not watched")
    func sport() async throws {
        try await play(SupervisionPreferences(falls: true)) { doors, supervision, notifier in
            let clauses = JSONValue.string(SubscriptionClauses.version)
            let end = Timestamp.now + .seconds(3600)
            let (later, latest, never) = (end + .seconds(60), end + .seconds(120), end + .seconds(4 * 3600))
            // The same again, a shorter one and its end are no loss.
            for until in [end, end, later, end, nil] {
                let answer = try await doors.ask("PUT", "preferences", chosen(shaking: false, falls: true, pausedUntil: until))
                #expect(answer.status == 200, "sport waits for no password")
            }
            func joining(_ until: Timestamp) -> JSONValue {
                ["acceptedClauses": clauses, "preferences": chosen(shaking: false, falls: true, pausedUntil: until)]
            }
            let refused = try await doors.ask("PUT", "subscription", joining(never))
            #expect(refused.status == 422 && refused.problem == "invalid-body", "by joining once more falls were paused without an end")
            #expect(refused.pointers == ["/preferences/fallsPausedUntil"])
            #expect(await supervision.subscriber(of: doors.person)?.preferences?.fallsPausedUntil == nil)
            #expect(try await doors.ask("PUT", "subscription", joining(latest)).status == 200)

            let off = chosen(shaking: false, falls: false)
            #expect(try await doors.ask("PUT", "preferences", off, isProved: true).status == 200)
            try await areTold([.fallsPaused(until: end), .fallsPaused(until: later), .fallsPaused(until: latest), .alarms], by: notifier)
            #expect(notifier.messages(.watchedLess).contains { $0.values["change"]?.contains(latest.rfc3339) == true })
        }
    }

    @Test("X4, SOS-22: a stolen access token removed the contacts, or changed them, without a proof; naming one more needs none")
    func contacts() async throws {
        try await play { doors, supervision, notifier in
            let mother: JSONValue = ["name": "Madre", "telephone": "055 1234567"]
            let stranger: JSONValue = ["name": "Madre", "telephone": "055 7654321"]
            let added = try await doors.ask("POST", "contacts", mother)
            #expect(added.status == 201)
            let id = try added.decoded(as: EmergencyContact.self).id
            #expect(try await doors.isRefused("PUT", "contacts/\(id)", stranger))
            #expect(try await doors.isRefused("DELETE", "contacts/\(id)"))
            #expect(await supervision.subscriber(of: doors.person)?.contacts?.map(\.telephone) == ["+390551234567"])
            #expect(try await doors.ask("PUT", "contacts", ["order": [.string(id)]]).status == 200)

            #expect(try await doors.ask("PUT", "contacts/\(id)", stranger, isProved: true).status == 200)
            #expect(try await doors.ask("DELETE", "contacts/\(id)", isProved: true).status == 204)
            #expect(try await doors.ask("DELETE", "contacts/\(id)", isProved: true).status == 404)
            try await areTold([.contactChanged, .contactRemoved], by: notifier)
        }
    }

    @Test("X4, SOS-22: a stolen access token named a stranger as contact and wrote medical notes, and the person was not told")
    func rescueChanged() async throws {
        try await play { doors, _, notifier in
            let notes: JSONValue = ["shaking": false, "personalised": true, "tellsMedicalNotes": true, "medicalNotes": "no allergies"]
            var ids: [JSONValue] = []
            for number in 1...2 {
                let added = try await doors.ask("POST", "contacts", ["name": "Ignoto", "telephone": .string("055 123456\(number)")])
                #expect(added.status == 201, "rescue stays easy: no proof")
                ids.append(.string(try added.decoded(as: EmergencyContact.self).id))
            }
            #expect(try await doors.ask("PUT", "contacts", ["order": .array(ids.reversed())]).status == 200)
            for _ in 0..<2 { #expect(try await doors.ask("PUT", "preferences", notes).status == 200) }
            @Sendable func told() -> [String] { notifier.messages(.rescueChanged).compactMap { $0.values["change"] } }
            let words = Set(RescueChange.allCases.map { $0.words(.italian) })
            try await eventually("both are told") { Set(told()) == words }
            // Where the hour of the clock has ended in between there are two of a kind.
            #expect(told().count <= 4, "not at each step")
            #expect(notifier.messages(.rescueChanged).allSatisfy { $0.channels == [.inbox, .push] })
            #expect(!notifier.messages(.rescueChanged).contains { $0.values.values.contains { $0.contains("allergies") } })
        }
    }

    @Test("SOS-01, SOS-02: whoever is watched over and sends no clauses was told that nobody watches over them")
    func watchedAlready() async throws {
        try await play { doors, supervision, _ in
            func detail() async throws -> String {
                let refused = try await doors.ask("PUT", "subscription", ["acceptedClauses": "0"])
                #expect(refused.status == 422 && refused.problem == "clauses-not-accepted")
                return refused.json["detail"] as? String ?? ""
            }
            #expect(try await detail().hasPrefix(StandingWatch.goesOn.english))
            try await doors.subscribers.subscriptions.pause(doors.person, true)
            #expect(try await detail().hasPrefix(StandingWatch.paused.english))
            try await doors.subscribers.subscriptions.leave(doors.person)
            #expect(await !supervision.isSubscribed(doors.person))
            #expect(try await detail().hasPrefix(StandingWatch.nobody.english))
        }
    }
}
