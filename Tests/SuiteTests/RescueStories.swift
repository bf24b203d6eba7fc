// AutomatedSOS as families live with it: people, contacts and phones together, from the joining to the text that arrives.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator
@testable import SOSDispatcher

@Suite("Stories of rescue", .timeLimit(.minutes(5)))
struct RescueStories {
    private static let home = Position(latitude: 45.4786, longitude: 9.2276, accuracy: 8)
    private static let writtenHome = "45.47860,9.22760"

    /// Somebody logged in who has joined AutomatedSOS with one device.
    private func subscriber(
        in suite: StorySuite, contacts: [(String, String)] = []
    ) async throws -> (person: SubscriptionStories.Subscriber, watch: AddDevice.Reply) {
        let person = try await SubscriptionStories.Subscriber(in: suite, [:])
        let watch = try await person.addDevice()
        let joined = try await eventually("joined") {
            let said = try await person.sos("PUT", "subscription", ["acceptedClauses": SubscriptionClauses.version])
            return said.status == 200 ? said : nil
        }
        #expect(try person.subscription(joined).notice.isEmpty == false, "told that thresholds assume a healthy heart")
        for (name, telephone) in contacts {
            #expect(try await person.sos("POST", "contacts", ["name": name, "telephone": telephone]).status == 201)
        }
        return (person, watch)
    }

    /// What was uploaded before is judged, and its place known: what is critical goes ahead of it.
    private func isHeard(_ person: SubscriptionStories.Subscriber) async throws {
        try await eventually("what was measured is judged") {
            try person.subscription(try await person.sos("GET", "subscription")).isProtected
        }
    }

    private func prompt(of person: SubscriptionStories.Subscriber) async throws -> PromptBody? {
        try await person.sos("GET", "prompt").decoded(as: PromptAnswer.self).prompt
    }

    private func place() -> Sample {
        Sample(type: .position, at: .now, value: nil, position: Self.home)
    }

    @Test(
        "SC-03, SOS-06, SOS-09, SOS-13, SOS-15 to SOS-17, SOS-22, ING-05: an elderly user alone does not react: an ambulance in less than 5 s, and the caregiver gets a text and a call with the place"
    )
    func livingAlone() async throws {
        try await TelephoneCompany.serving { company, suite in
            let caregiver = "+393330000001"
            let (anna, watch) = try await subscriber(in: suite, contacts: [("Carla", caregiver)])
            let set = try await anna.sos("PUT", "thresholds", ["bounds": ["oxygen-saturation": ["low": 90.0]]])
            #expect(set.status == 200)
            try await suite.beat(64, from: watch, and: [Sample(type: .oxygenSaturation, at: .now, value: 96), place()])
            try await isHeard(anna)
            #expect(try await prompt(of: anna) == nil)
            try await suite.beat(65, from: watch, and: [Sample(type: .oxygenSaturation, at: .now, value: 83)])
            let asked = try await eventually("the prompt") { try await prompt(of: anna) }
            #expect(asked.parameters == ["oxygen-saturation"])

            let emergency = try await suite.acknowledged(of: watch)
            #expect(emergency.emergency == asked.emergency)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
            #expect(try suite.desk("alert").map(\.messageId) == ["\(emergency.emergency)-0"])
            let reached = try await eventually("text and call") {
                let reached = company.reached(caregiver)
                return reached.count == 2 ? reached : nil
            }
            #expect(Set(reached.keys) == ["sms", "call"])
            #expect(reached.values.allSatisfy { $0.contains(Self.writtenHome) }, "both say where")
        }
    }

    @Test(
        "SC-49, SOS-05, SOS-08, SOS-13, SOS-15, SOS-21, SOS-30: chest pain at night, above the maximum set with a doctor: announced with its countdown, called in less than 5 s, to be aborted for a minute"
    )
    func chestPain() async throws {
        try await StorySuite.with { suite in
            let (nino, watch) = try await subscriber(in: suite)
            #expect(try await nino.sos("PUT", "thresholds", ["bounds": ["heart-rate": ["high": 110.0]]]).status == 200)
            try await suite.beat(110, from: watch)
            try await suite.beat(112, from: watch)
            let asked = try await eventually("the prompt") { try await prompt(of: nino) }
            let (t0, callAt) = (try #require(Timestamp(rfc3339: asked.t0)), try #require(asked.callAt.flatMap { Timestamp(rfc3339: $0) }))
            #expect(callAt - t0 == .milliseconds(3500) && asked.phase == "asking")
            #expect(try #require(Timestamp(rfc3339: asked.abortUntil)) - t0 == .seconds(60))

            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
            let informed = try await eventually("the ambulance is informed") {
                let shown = try await prompt(of: nino)
                return shown?.phase == "informed" ? shown : nil
            }
            #expect(informed.abortUntil == asked.abortUntil, "the button stays for its minute after the call too")
            let steps = try await nino.sos("GET", "emergencies/\(emergency.emergency)").decoded(as: OwnEmergency.self).steps
            #expect(steps?.map(\.event).contains("acknowledged") == true)
        }
    }

    @Test(
        "SC-50, SOS-08, SOS-22, SOS-23, CON-31, ING-05, SOS-30: the watch reports shaking: within seconds both parents have a text and a call with time and place, and no ambulance is called"
    )
    func seizure() async throws {
        try await TelephoneCompany.serving { company, suite in
            let parents = ["+393330000011", "+393330000012"]
            let (leo, watch) = try await subscriber(in: suite, contacts: [("Madre", parents[0]), ("Padre", parents[1])])
            #expect(try await leo.sos("PUT", "thresholds", ["bounds": ["heart-rate": ["low": 48.0, "high": 130.0]]]).status == 200)
            let chosen = try await leo.sos(
                "PUT", "preferences", ["shaking": true, "personalised": false, "medicalNotes": "epilessia", "tellsMedicalNotes": true])
            #expect(chosen.status == 200)
            try await suite.beat(72, from: watch, and: [place()])
            try await isHeard(leo)
            let began = Timestamp.now
            let shaking = Sample(type: .shaking, at: began, value: 12)
            #expect(try await suite.upload([shaking], from: watch).outcome == .answered(status: 200, retryAfter: nil))
            for number in parents {
                let reached = try await eventually("\(number) has text and call") {
                    let reached = company.reached(number)
                    return reached.count == 2 ? reached : nil
                }
                #expect(reached.values.allSatisfy { $0.contains(Self.writtenHome) })
            }
            #expect(Timestamp.now - began < .seconds(20), "within seconds, on a machine that does much else")
            #expect(try await suite.emergencies(of: watch).isEmpty)
            #expect(try suite.desk("alert").isEmpty)
        }
    }

    @Test(
        "SOS-20, SOS-16: the telephone finds its place only after the ambulance was called: the place follows as an update, and is acknowledged"
    )
    func foundLater() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            try await suite.beat(64, from: watch)
            try await suite.beat(31, from: watch)
            let emergency = try await suite.acknowledged(of: watch).emergency
            try await suite.beat(31, from: watch, and: [place()])
            try await eventually("the update is acknowledged") {
                try await suite.steps(of: emergency).contains("update-acknowledged")
            }
            #expect(try suite.desk("update").map(\.messageId) == ["\(emergency)-1"])
            #expect(try await suite.steps(of: emergency).count { $0 == "located" } == 1)
        }
    }

    @Test(
        "SC-21, SOS-01, SOS-02, MYD-08: once a watch is paired it is enough: the refused subscription names what was missing, the next one is taken and follows the heart"
    )
    func pairedAndFollowed() async throws {
        try await StorySuite.with { suite in
            let nonna = try await SubscriptionStories.Subscriber(in: suite, [:])
            let refused = try await eventually("the dispatcher knows the log-in") {
                let said = try await nonna.sos("PUT", "subscription", ["acceptedClauses": SubscriptionClauses.version])
                return said.status == 409 ? said : nil
            }
            #expect(refused.problem == "ability-missing")
            let watch = try await nonna.addDevice()
            let joined = try await eventually("the watch is enough") {
                let said = try await nonna.sos("PUT", "subscription", ["acceptedClauses": SubscriptionClauses.version])
                return said.status == 200 ? said : nil
            }
            #expect(try nonna.subscription(joined).state == "monitoring")
            try await suite.beat(38, from: watch)
            try await eventually("the heart is followed") { try await prompt(of: nonna) != nil }
        }
    }
}
