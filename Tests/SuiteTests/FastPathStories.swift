// The fast path through ingest and the dispatcher as they are: a disk that hangs delays no alarm.

import Foundation
import GRDB
import ServiceKit
import TestKit
import Testing

@testable import Contracts
@testable import Operator
@testable import SOSDispatcher

@Suite("Stories of a slow disk", .timeLimit(.minutes(5)))
struct FastPathStories {
    @Test(
        "P6, SOS-10, SOS-15: while ingest's disk hangs an emergency opens, under the id that the stored entry gives it; one call goes out")
    func hangingDisk() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            try await suite.beat(64, from: watch)
            let other = try Self.locked(suite)
            let critical = Sample(type: .heartRate, at: .now, value: 38)
            let uploading = Task { try await suite.upload([critical], from: watch).outcome }
            let early = try await eventually("the alert is open") { try await suite.emergencies(of: watch).first }
            try Self.unlock(other)
            // As a device does: until it is taken.
            if try await uploading.value != .answered(status: 200, retryAfter: nil) {
                try await eventually("the entry is taken") {
                    try await suite.upload([critical], from: watch).outcome == .answered(status: 200, retryAfter: nil)
                }
            }
            let emergency = try await suite.acknowledged(of: watch)
            let acknowledgedAt = try #require(emergency.acknowledgedAt)
            #expect(emergency.emergency == early.emergency && emergency.t0 == early.t0)
            #expect(acknowledgedAt - emergency.t0 >= .milliseconds(3500))
            #expect(try await suite.emergencies(of: watch).count == 1)
            #expect(try await suite.steps(of: emergency.emergency).count { $0 == "alerted" } == 1)
            #expect(Set(try suite.desk("alert").map(\.messageId)) == ["\(emergency.emergency)-0"])
        }
    }

    @Test(
        "SOS-37: one upload that ingest's disk holds up is judged once and as a whole: one emergency, one call, no update"
    )
    func oneUpload() async throws {
        try await StorySuite.with { suite in
            let watch = try await suite.subscriber(bounds: ["oxygen-saturation": Bounds(low: 90, high: nil)])
            try await suite.beat(64, from: watch, and: [Sample(type: .oxygenSaturation, at: .now, value: 97)])
            let store = try Self.locked(suite)
            // Twenty seconds that a device could not deliver: every entry of two parameters is critical.
            let now = Timestamp.now
            let batch = (0...20).flatMap { second in
                [(Metric.heartRate, 38.0), (.oxygenSaturation, 84)].map { metric, value in
                    Sample(type: metric, at: now - .seconds(20 - second), value: value)
                }
            }
            let uploading = Task { try await suite.upload(batch, from: watch).outcome }
            let early = try await eventually("the alert is open") { try await suite.emergencies(of: watch).first }
            try Self.unlock(store)
            if try await uploading.value != .answered(status: 200, retryAfter: nil) {
                try await eventually("the batch is taken") {
                    try await suite.upload(batch, from: watch).outcome == .answered(status: 200, retryAfter: nil)
                }
            }
            let emergency = try await suite.acknowledged(of: watch)
            #expect(emergency.emergency == early.emergency)
            _ = try await suite.ask(AnswerPrompt(person: watch.person, answer: .falseAlarm))
            try await eventually("the cancellation") { try !suite.desk("cancel").isEmpty }
            #expect(try await suite.emergencies(of: watch).count == 1)
            #expect(Set(try suite.desk("alert").map(\.messageId)) == ["\(emergency.emergency)-0"])
            #expect(try suite.desk("update").isEmpty, "nor is the rest of it taken for worse")
        }
    }

    /// What ingest may not store, by what was stored a moment before it.
    private static let refusals: [(sample: @Sendable (Timestamp) -> Sample, reason: String)] = [
        ({ Sample(type: .heartRate, at: $0, value: 30) }, "conflicting-value"),
        ({ Sample(type: .heartRate, at: $0 + .seconds(3600), value: 30) }, "future-time"),
        ({ Sample(type: .help, at: $0 + .seconds(3600), value: 1) }, "future-time"),
        // What a phone says indoors, where it does not know how exact it is.
        ({ Sample(type: .help, at: $0, value: 1, position: Position(latitude: 45, longitude: 9, accuracy: -1)) }, "impossible-position"),
    ]

    @Test(
        "SOS-09, SOS-35: a heart rate of 30 that was refused for its time, and a call for help for its time or place, called nobody",
        arguments: refusals.indices)
    func refused(_ number: Int) async throws {
        let (sample, reason) = Self.refusals[number]
        try await StorySuite.withSubscriber { suite, watch in
            let now = Timestamp.now
            #expect(try await suite.upload([Sample(type: .heartRate, at: now, value: 64)], from: watch).outcome.status == 200)
            let said = sample(now)
            let refused = try await suite.upload([said], from: watch)
            #expect(String(decoding: refused.body, as: UTF8.self).contains("urn:trackme:problem:\(reason)"))
            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
            let stored = try await suite.get("/ingest/v1/samples?type=\(said.type.code)", as: watch)
            let value = said.value.map { "\"value\":\(Int($0))" } ?? ""
            #expect(!String(decoding: stored.json, as: UTF8.self).contains(value), "it is stored nowhere")
        }
    }

    @Test("SOS-09: a device that counts its idempotency keys anew after a restart was silenced for a day, its person's heart with it")
    func repeatedKey() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            func upload(_ rate: Double) async throws -> Operator.UploadReply {
                let entry = try UploadBody.entry(Sample(type: .heartRate, at: .now, value: rate))
                return await UploadTransport.http(server: suite.server, authorities: nil).send(UploadBody.batch([entry]), watch.token, "1")
            }
            #expect(try await upload(71).outcome.status == 200)
            #expect(try await upload(30).outcome.status == 422)
            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
        }
    }

    @Test("SOS-09: a critical reading that came out of order was heard by nobody where ingest's disk is slow")
    func outOfOrder() async throws {
        // Every upload goes the fast path.
        try await StorySuite.withSubscriber(["TRACKME_ING_EXPRESS_AFTER_MS": "0"]) { suite, watch in
            let now = Timestamp.now
            for (age, rate) in [(0, 70.0), (5, 30)] {
                let sample = Sample(type: .heartRate, at: now - .seconds(age), value: rate)
                #expect(try await suite.upload([sample], from: watch).outcome.status == 200)
            }
            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
            #expect(try await suite.emergencies(of: watch).count == 1)
        }
    }

    @Test("SOS-32: a heart that got worse after its call was heard by nobody where the worse reading came out of order")
    func worseOutOfOrder() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            for _ in 0..<3 { try await suite.beat(40, from: watch) }
            let emergency = try await suite.acknowledged(of: watch)
            try await suite.beat(40, from: watch)
            _ = try await suite.upload([Sample(type: .heartRate, at: .now - .milliseconds(2500), value: 20)], from: watch)
            try await eventually("the desk is told that it is worse") {
                try suite.desk("update").contains { $0.messageId.hasPrefix("\(emergency.emergency)") }
            }
        }
    }

    @Test("SOS-37: a refused reading at the end of an upload hid eight seconds of a failing heart before it")
    func refusedAtTheEnd() async throws {
        try await StorySuite.withSubscriber { suite, watch in
            // Something of this device was judged early before, and is over.
            let now = Timestamp.now
            for (age, rate) in [(40, 64.0), (30, 40), (20, 65)] {
                _ = try await suite.upload([Sample(type: .heartRate, at: now - .seconds(age), value: rate)], from: watch)
            }
            let failing = (1...9).map { Sample(type: .heartRate, at: now - .seconds($0), value: 30) }
            let placeless = Sample(type: .heartRate, at: now, value: 72, position: Position(latitude: 45, longitude: 9, accuracy: -1))
            _ = try await suite.upload(failing.reversed() + [placeless], from: watch)
            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
        }
    }

    @Test("R15, ING-06: a metric that is planted in the registry with a default bound is followed from upload to call, by the real ingest")
    func planted() async throws {
        let cadence = try #require(Metric(code: "cadence"))
        let definition = MetricDefinition(
            number: cadence.number, code: "cadence", shape: .scalar, loinc: nil, vitalSign: nil, unit: "/min", possible: 0...400,
            precision: 0, vital: false, watchedByDefault: true, bounds: Bounds(low: 10, high: nil), severe: nil, isOnDemand: false,
            english: "Planted", italian: "Piantato")
        try await StorySuite.withSubscriber(rules: SupervisionRules(registry: [definition])) { suite, watch in
            #expect(try await suite.upload([Sample(type: cadence, at: .now, value: 60)], from: watch).outcome.status == 200)
            #expect(try await suite.upload([Sample(type: cadence, at: .now, value: 9)], from: watch).outcome.status == 200)
            let emergency = try await suite.acknowledged(of: watch)
            #expect(try #require(emergency.acknowledgedAt) - emergency.t0 < .seconds(5))
            let steps = try await suite.ask(ReadTimeline(emergency: emergency.emergency)).steps
            #expect(steps.first { $0.event == "alerted" }?.detail == "cadence below its bound")
            #expect(try suite.desk("alert").allSatisfy { $0.verified && $0.messageId == "\(emergency.emergency)-0" })
        }
    }

    /// Another connection to ingest's store that keeps the writer from its transaction.
    private static func locked(_ suite: StorySuite) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        // Ingest may be writing something of its own just now.
        configuration.busyMode = .timeout(20)
        let other = try DatabaseQueue(
            path: suite.layout.data.appendingPathComponent("ingest/ingest.db").path, configuration: configuration)
        try other.inDatabaseHere { try $0.execute(sql: "BEGIN IMMEDIATE") }
        return other
    }

    private static func unlock(_ other: DatabaseQueue) throws {
        try other.inDatabaseHere { try $0.execute(sql: "ROLLBACK") }
        try other.close()
    }
}

extension DatabaseQueue {
    /// As `inDatabase`, which asynchronous code is otherwise led away from.
    fileprivate func inDatabaseHere<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try inDatabase(body)
    }
}
