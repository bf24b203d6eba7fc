// Stories of AutomatedSOS, as `requirements/scenarios.md` tells them.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

@Suite("Stories of emergencies", .timeLimit(.minutes(5)))
struct EmergencyStories {
    private let home = Position(latitude: 45.4786, longitude: 9.2276, accuracy: 8)

    private func place(_ position: Position) -> Sample {
        Sample(type: .position, at: .now, value: nil, position: position)
    }

    @Test("SC-34, SOS-05, SOS-15, SOS-16, INV-22: a heart rate collapses at home, and an ambulance is called in less than 5 s")
    func collapse() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            try await suite.beat(64, from: watch, and: [place(home)])
            try await suite.beat(38, from: watch)
            let emergency = try await suite.acknowledged(of: watch)
            let acknowledgedAt = try #require(emergency.acknowledgedAt)
            #expect(acknowledgedAt - emergency.t0 < .seconds(5))
            #expect(acknowledgedAt - emergency.t0 >= .milliseconds(3500))
            let alerts = try suite.desk("alert")
            #expect(alerts.count == 1)
            #expect(alerts.allSatisfy { $0.verified && $0.messageId == "\(emergency.emergency)-0" })
            #expect(try await suite.steps(of: emergency.emergency).contains("acknowledged"))
            #expect(try await suite.ask(VerifyAudit()).firstBroken == nil)
        }
    }

    @Test("SC-35, SOS-11, SOS-12, SOS-29: a one-second outlier while running calls nobody and is logged as transient")
    func outlier() async throws {
        try await StorySuite.withSubscriber { suite, runner in
            try await suite.beat(118, from: runner)
            try await suite.beat(171, from: runner)
            try await eventually("the alert is open") { try await !suite.emergencies(of: runner).isEmpty }
            try await suite.beat(117, from: runner)
            let emergency = try await eventually("the alert has ended") {
                try await suite.emergencies(of: runner).first { $0.closedAt != nil }
            }
            #expect(emergency.dispatchedAt == nil)
            #expect(try await suite.steps(of: emergency.emergency).contains("transient"))
            #expect(try suite.desk("alert").isEmpty)
        }
    }

    @Test("SOS-05: values that equal their bounds are not critical")
    func strict() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            try await suite.beat(45, from: watch)
            try await suite.beat(120, from: watch)
            try await suite.beat(60, from: watch)
            try await suite.beat(121, from: watch)
            // What came before this one has been judged by now.
            try await eventually("the last one alone is critical") { try await suite.emergencies(of: watch).count == 1 }
            #expect(try await suite.emergencies(of: watch).count == 1)
        }
    }

    @Test("SOS-14: who answers \"I am fine\" is not called for")
    func fine() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            try await suite.beat(38, from: watch)
            try await eventually("the alert is open") { try await !suite.emergencies(of: watch).isEmpty }
            let reply = try await suite.ask(AnswerPrompt(person: watch.person, answer: .fine))
            #expect(!reply.alreadyDispatched)
            let emergency = try await eventually("the emergency has ended") {
                try await suite.emergencies(of: watch).first { $0.closedAt != nil }
            }
            #expect(emergency.dispatchedAt == nil)
            #expect(try await suite.steps(of: emergency.emergency).contains("muted"))
            #expect(try suite.desk("alert").isEmpty)
        }
    }

    @Test("SOS-14: who asks for help is called for at once")
    func help() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            try await suite.beat(38, from: watch)
            try await eventually("the alert is open") { try await !suite.emergencies(of: watch).isEmpty }
            _ = try await suite.ask(AnswerPrompt(person: watch.person, answer: .help))
            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
        }
    }

    @Test("SC-49, SOS-21: a call that went out is taken back under the same reference, and the cancellation is acknowledged too")
    func takenBack() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            try await suite.beat(150, from: watch)
            let emergency = try await suite.acknowledged(of: watch)
            let reply = try await suite.ask(AnswerPrompt(person: watch.person, answer: .falseAlarm))
            #expect(reply.alreadyDispatched)
            #expect(reply.emergency == emergency.emergency)
            let cancels = try await eventually("the desk has the cancellation") {
                let cancels = try suite.desk("cancel")
                return cancels.isEmpty ? nil : cancels
            }
            #expect(Set(cancels.map(\.messageId)) == ["\(emergency.emergency)-1"])
        }
    }

    @Test("SC-03, SOS-06, SOS-08: blood oxygen below the bound that the person set with a doctor calls an ambulance")
    func ownBound() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.subscriber(bounds: ["oxygen-saturation": Bounds(low: 90, high: nil)])
            try await suite.beat(64, from: watch, and: [Sample(type: .oxygenSaturation, at: .now, value: 84)])
            _ = try await suite.acknowledged(of: watch)
        }
    }

    @Test("SOS-01, SOS-30: who has not accepted the clauses is not supervised")
    func clauses() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.someone()
            await #expect(throws: OperatorError.self) {
                try await suite.ask(SubscribePerson(person: watch.person, clausesAccepted: false, bounds: [:]))
            }
            let other = try await suite.subscriber()
            try await suite.beat(38, from: watch)
            try await suite.beat(38, from: other)
            try await eventually("the subscriber's alert is open") { try await !suite.emergencies(of: other).isEmpty }
            #expect(try await suite.emergencies(of: watch).isEmpty)
        }
    }

    @Test("SOS-03, SOS-04: nothing is detected while supervision is paused or ended, and again once it is resumed")
    func paused() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            let gone = try await suite.subscriber()
            _ = try await suite.ask(PauseSupervision(person: watch.person, paused: true))
            _ = try await suite.ask(UnsubscribePerson(person: gone.person))
            try await suite.beat(38, from: watch)
            try await suite.beat(38, from: gone)
            _ = try await suite.ask(PauseSupervision(person: watch.person, paused: false))
            try await suite.beat(37, from: watch)
            let emergency = try await eventually("the alert after the pause is open") { try await suite.emergencies(of: watch).first }
            #expect(try await suite.emergencies(of: watch).count == 1)
            #expect(emergency.closedAt == nil)
            #expect(try await suite.emergencies(of: gone).isEmpty)
        }
    }

    @Test("SOS-09: entries that were measured long ago are stored and start no alert")
    func old() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            let old = (1...5).map { Sample(type: .heartRate, at: .now - .seconds(100 * $0), value: 30) }
            let reply = try await suite.upload(old, from: watch)
            #expect(reply.outcome == .answered(status: 200, retryAfter: nil))
            try await suite.beat(150, from: watch)
            try await eventually("the newest entry alone is critical") { try await !suite.emergencies(of: watch).isEmpty }
            #expect(try await suite.emergencies(of: watch).count == 1)
            let back = try await suite.get("/ingest/v1/entries?type=heart-rate", as: watch)
            #expect(String(decoding: back.json, as: UTF8.self).components(separatedBy: "\"value\":30").count == 6)
        }
    }

    @Test("SOS-24, INV-15: one episode is one emergency, however many entries and parameters are critical")
    func oneEpisode() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.subscriber(bounds: ["oxygen-saturation": Bounds(low: 90, high: nil)])
            for _ in 0..<3 { try await suite.beat(38, from: watch, and: [Sample(type: .oxygenSaturation, at: .now, value: 80)]) }
            _ = try await suite.acknowledged(of: watch)
            for _ in 0..<3 { try await suite.beat(170, from: watch) }
            #expect(try await suite.emergencies(of: watch).count == 1)
            #expect(Set(try suite.desk("alert").map(\.messageId)).count == 1)
        }
    }
}
