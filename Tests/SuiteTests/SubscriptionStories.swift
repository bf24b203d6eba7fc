// AutomatedSOS as a person meets it: asked for at the registration, joined, configured, paused and left.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator
@testable import SOSDispatcher

@Suite("Joining AutomatedSOS")
struct SubscriptionStories {
    /// Somebody logged in; bodies are plain JSON, as an app sends them.
    struct Subscriber: Sendable {
        let suite: StorySuite
        let login = DemoPerson.random()
        let person: PersonID
        let token: String

        init(in suite: StorySuite, _ changes: [String: any Sendable]) async throws {
            let form = login.form(acceptedTerms: Conditions.version).merging(changes) { (_: Any, new: Any) in new }
            let plain = form.compactMapValues { value -> (any Sendable)? in
                value as? String ?? (value as? Bool).map { $0 as any Sendable } ?? (value as? Int) ?? value as? Double
            }
            let registered = try await suite.say("POST", suite.consent + "/consent/v1/accounts", plain)
            #expect(registered.status == 201)
            struct Registered: Decodable {
                var person: PersonID
            }
            person = try registered.decoded(as: Registered.self).person
            let said = try await eventually("a log-in that is not put off") { [login] in
                let said = try await HarnessClient(suite.consent).logIn(login.email, login.password)
                return [429, 503].contains(said.status) ? nil : said
            }
            #expect(said.status == 200, "\(said.text)")
            token = try said.accessToken
            self.suite = suite
        }

        func sos(_ method: String, _ path: String, _ body: [String: any Sendable]? = nil) async throws -> HarnessAnswer {
            try await suite.say(method, suite.sos + "/sos/v1/" + path, body, as: token)
        }

        func subscription(_ said: HarnessAnswer) throws -> SubscriptionAnswer {
            #expect(said.status == 200)
            return try said.decoded()
        }

        struct Profile: Decodable {
            var automatedSOS: AutomatedSOSItem
        }

        func wish() async throws -> AutomatedSOSItem {
            try await suite.say("GET", suite.consent + "/consent/v1/profile", as: token).decoded(as: Profile.self).automatedSOS
        }

        /// A watch that is paired by the digits on its display.
        func pair(measuring measures: [String]) async throws -> AddDevice.Reply {
            try await suite.pair(measuring: measures, of: person, by: token)
        }

        /// A device with a token, paired by an operator's hand; it delivers everything.
        func addDevice() async throws -> AddDevice.Reply {
            try await eventually("ingest knows the account") { [suite, person] in
                try? await suite.ask(AddDevice(person: person, name: "watch", intervalMs: 1000))
            }
        }
    }

    @Test(
        "SC-05, ACC-06, SOS-01, SOS-09, SOS-15, SOS-16: who accepts AutomatedSOS at the registration and pairs the new watch is watched over; a heart rate past its threshold is passed on in less than 5 s, with GPS position and health parameters"
    )
    func stroke() async throws {
        try await StorySuite.with { suite in
            let anna = try await Subscriber(in: suite, ["joinsAutomatedSOS": true, "acceptedSOSClauses": true])
            try await eventually("the wish waits for a watch") { try await anna.wish().status == .refused }
            let watch = try await anna.pair(measuring: ["heart-rate", "position"])
            let joined = try await eventually("the watch is enough") {
                let said = try await anna.sos("PUT", "subscription", ["acceptedClauses": SubscriptionClauses.version])
                return said.status == 200 ? said : nil
            }
            #expect(try anna.subscription(joined).state == "monitoring")
            try await eventually("the profile says so") { try await anna.wish().status == .active }

            let home = Position(latitude: 45.4786, longitude: 9.2276, accuracy: 8)
            try await suite.beat(64, from: watch, and: [Sample(type: .position, at: .now, value: nil, position: home)])
            #expect(try await suite.emergencies(of: watch).isEmpty)
            try await suite.beat(155, from: watch)
            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
            let sent = try #require(suite.deskMessages().first)
            let told = try JSONDecoder().decode(DispatchMessage.self, from: Data(sent.body))
            #expect(sent.id == "\(emergency.emergency)-0" && told.msgType == .alert)
            #expect(told.location.lat == home.latitude && told.location.lon == home.longitude && told.location.trusted)
            let passed = try #require(told.trigger.threshold)
            #expect(passed.metric == "heart-rate" && passed.value == 155 && passed.samples.map(\.value).contains(64))
        }
    }

    @Test("ACC-06, SOS-01 to SOS-04, SOS-30: refused without a device; with one joined, paused, resumed, left, the profile alike")
    func joining() async throws {
        try await StorySuite.with { suite in
            let anna = try await Subscriber(in: suite, ["joinsAutomatedSOS": true, "acceptedSOSClauses": true])
            let told = try await eventually("the wish is answered") {
                let wish = try await anna.wish()
                return wish.status == .refused ? wish : nil
            }
            #expect(told.reason?.contains("GPS") == true)
            let page = try await eventually("the dispatcher knows who is logged in") {
                let said = try await anna.sos("GET", "subscription")
                return said.status == 200 ? try said.decoded(as: SubscriptionAnswer.self) : nil
            }
            #expect(!page.subscribed && page.state == "off" && page.missing?.count == 2 && !page.clauses.text.isEmpty)
            #expect(page.notice.contains("doctor") || page.notice.contains("medico"))

            let without = try await anna.sos("PUT", "subscription", [:])
            #expect(without.status == 422 && without.problem == "clauses-not-accepted")
            let clauses = ["acceptedClauses": page.clauses.version]
            let bare = try await anna.sos("PUT", "subscription", clauses)
            #expect(bare.status == 409 && bare.problem == "ability-missing")

            _ = try await anna.addDevice()
            let joined = try anna.subscription(try await anna.sos("PUT", "subscription", clauses))
            #expect(joined.subscribed && joined.state == "monitoring" && joined.clauses.acceptedVersion == page.clauses.version)
            try await eventually("the profile says so") { try await anna.wish().status == .active }

            let paused = try anna.subscription(try await anna.sos("POST", "subscription/pause"))
            #expect(paused.state == "paused" && paused.warning?.isEmpty == false && paused.nextReminder != nil)
            let resumed = try anna.subscription(try await anna.sos("POST", "subscription/resume"))
            #expect(resumed.state == "monitoring" && resumed.warning == nil)

            let unsure = try await anna.sos("DELETE", "subscription")
            #expect(unsure.status == 409 && unsure.problem == "confirmation-required")
            let left = try anna.subscription(try await anna.sos("DELETE", "subscription?confirm=true"))
            #expect(!left.subscribed)
            try await eventually("the profile says that too") { try await anna.wish().status == .left }
            let consents = try await suite.say("GET", suite.consent + "/consent/v1/profile/consents", as: anna.token)
            let text = String(decoding: consents.body, as: UTF8.self)
            #expect(text.components(separatedBy: "automated-sos").count == 3, "given once and withdrawn once")
            let late = try await anna.sos("POST", "subscription/pause")
            #expect(late.status == 409 && late.problem == "not-subscribed")
        }
    }

    @Test("SC-50, SOS-06 to SOS-08, SOS-22, SOS-29: settings are taken or refused by field; emergencies are seen by their person alone")
    func configuring() async throws {
        try await StorySuite.with { suite in
            let anna = try await Subscriber(in: suite, [:])
            let watch = try await anna.addDevice()
            let joined = try await eventually("joined") {
                let said = try await anna.sos("PUT", "subscription", ["acceptedClauses": SubscriptionClauses.version])
                return said.status == 200 ? said : nil
            }
            #expect(try anna.subscription(joined).subscribed)

            for (bounds, pointer) in [
                (["heart-rate": ["low": 120.0, "high": 60]], "/bounds/heart-rate"),
                (["heart-rate": ["high": 4000.0]], "/bounds/heart-rate"),
                (["mood": ["low": 1.0]], "/bounds/mood"), (["position": ["low": 1.0]], "/bounds/position"),
            ] as [([String: [String: Double]], String)] {
                let refused = try await anna.sos("PUT", "thresholds", ["bounds": bounds])
                #expect(refused.status == 422 && refused.problem == "invalid-bounds")
                #expect(try refused.decoded(as: Problem.self).errors?.map(\.pointer) == [pointer])
                if pointer.hasSuffix("rate") { #expect(try refused.decoded(as: Problem.self).errors?[0].detail.contains("350") == true) }
            }
            let set = try await anna.sos(
                "PUT", "thresholds", ["bounds": ["heart-rate": ["low": 50.0], "oxygen-saturation": ["low": 88.0]]])
            let thresholds = try set.decoded(as: ThresholdsAnswer.self).items
            #expect(thresholds.first { $0.type == "heart-rate" }?.inForce == Bounds(low: 50, high: 120))
            #expect(thresholds.first { $0.type == "oxygen-saturation" }?.inForce == Bounds(low: 88, high: nil))
            #expect(thresholds.first { $0.type == "respiration-rate" }?.inForce == nil)
            let preview = try await anna.sos("POST", "thresholds/preview", ["bounds": ["heart-rate": ["low": 50.0]]])
            #expect(preview.status == 200)
            #expect(try preview.decoded(as: PreviewAnswer.self).proposed.complete)

            let wrong = try await anna.sos("POST", "contacts", ["name": "", "telephone": "1"])
            #expect(wrong.status == 422)
            #expect(try wrong.decoded(as: Problem.self).errors?.map(\.pointer) == ["/name", "/telephone"])
            var ids: [String] = []
            for (name, telephone) in [("Madre", "055 1234567"), ("Padre", "055 1234568")] {
                let added = try await anna.sos("POST", "contacts", ["name": name, "telephone": telephone])
                #expect(added.status == 201)
                ids.append(try added.decoded(as: EmergencyContact.self).id)
            }
            let twice = try await anna.sos("POST", "contacts", ["name": "Zia", "telephone": "+39 055 1234567"])
            #expect(twice.status == 409 && twice.problem == "contact-named-twice")
            let ordered = try await anna.sos("PUT", "contacts", ["order": Array(ids.reversed())])
            #expect(try ordered.decoded(as: Page<EmergencyContact>.self).items.map(\.name) == ["Padre", "Madre"])
            #expect(try await anna.sos("DELETE", "contacts/\(ids[0])").status == 204)
            #expect(try await anna.sos("DELETE", "contacts/\(ids[0])").status == 404)
            let chosen = try await anna.sos(
                "PUT", "preferences",
                ["shaking": true, "personalised": true, "medicalNotes": "epilessia", "tellsMedicalNotes": true])
            #expect(try chosen.decoded(as: SupervisionPreferences.self).shaking)

            try await suite.beat(31, from: watch)
            let emergency = try await eventually("the alert is listed") {
                try await anna.sos("GET", "emergencies").decoded(as: Page<OwnEmergency>.self).items.first
            }
            let steps = try await anna.sos("GET", "emergencies/\(emergency.id)").decoded(as: OwnEmergency.self).steps
            #expect(steps?.first?.event == "alerted")
            let bruno = try await Subscriber(in: suite, [:])
            try await eventually("the dispatcher knows Bruno's log-in") { try await bruno.sos("GET", "subscription").status == 200 }
            #expect(try await bruno.sos("GET", "emergencies/\(emergency.id)").status == 404)
            #expect(try await bruno.sos("GET", "emergencies").decoded(as: Page<OwnEmergency>.self).items.isEmpty)
            #expect(try await suite.say("GET", suite.sos + "/sos/v1/subscription").status == 401)
            #expect(try await suite.say("GET", suite.sos + "/sos/v1/subscription", as: watch.token).status == 401)
        }
    }
}
