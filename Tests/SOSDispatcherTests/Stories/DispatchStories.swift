// From a failing heart to an acknowledged call, through the real service, store, bus and HTTP.

import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Dispatch, whole service")
struct DispatchStories {
    /// To the steady clock and back, a millisecond each.
    private static let rounding = Duration.milliseconds(2)

    @Test("R6, SOS-41: 13.0 s from the first try of the upload were reported as 3514 ms: timeline and message name the first try as well")
    func firstTry() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, _ in
            let person = try await stage.subscriber()
            let received = Timestamp(milliseconds: Timestamp.now.milliseconds)
            let tried = received - .milliseconds(9486)
            try await stage.ingest.say(
                person, [Sample(type: .heartRate, at: tried, value: 31)], receivedAt: received, firstTriedAt: tried)
            let emergency = try await stage.askForHelp(person)
            let message = try #require(try await eventually("the call") { desk.receipts.first }.message)
            #expect(message.firstTriedAt == tried.rfc3339)
            let steps = try await stage.question(ReadTimeline(emergency: emergency)).steps
            #expect(steps.first?.event == "first-tried" && steps.first?.at == tried)
            #expect(steps.contains { $0.event == "alerted" && $0.at >= received - Self.rounding })
        }
    }

    @Test("SOS-15, SOS-16, INV-22: a heart that fails is called for at t0 + 3.5 s and acknowledged in the response")
    func acknowledgedInResponse() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, _ in
            let person = try await stage.subscriber()
            let t0 = Timestamp.now
            try await stage.ingest.say(
                person, [Sample(type: .heartRate, at: t0, value: 31, position: Position(latitude: 45.5, longitude: 9.25))], receivedAt: t0)
            let receipt = try await eventually("the call") { desk.receipts.first }
            let message = try #require(receipt.message)
            #expect(receipt.at - t0 >= .milliseconds(3490))
            #expect(message.trigger.threshold?.value == 31)
            #expect(message.location.lat == 45.5)
            #expect(message.firstBreachAt == t0.rfc3339)
            let emergency = try #require(EmergencyID(message.emergencyId))
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            #expect(
                try await stage.timeline(emergency).filter { $0 != "dispatch-attempted" } == [
                    "alerted", "confirmed", "dispatched", "acknowledged",
                ])
            #expect(desk.receipts.count == 1)
        }
    }

    @Test("The webhook is signed with v1 and v1a over the stored bytes, and the public key is at /sos/v1/keys")
    func signatures() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            _ = try await stage.callForHelp(.random())
            let receipt = try await eventually("the call") { desk.receipts.first }
            let keys = try await Self.get("/sos/v1/keys", of: dispatcher)
            let published = try JSONDecoder().decode(PublishedKeys.self, from: Data(keys.body))
            let verifying = try VerifyingKey(webhookText: try #require(published.keys.first).webhook)
            let files = KeyFiles(folder: stage.folder.appendingPathComponent("keys"))
            let secret = try WebhookSecret(files.readSecret(files.file("webhook.secret", of: .sosDispatcher)))
            let signature = WebhookSignature(id: receipt.id, timestamp: receipt.timestamp, signatures: receipt.signatures)
            #expect(receipt.signatures.split(separator: " ").map { $0.prefix { $0 != "," } } == ["v1", "v1a"])
            try signature.verify(body: receipt.body, secrets: [secret], now: .now)
            try signature.verify(body: receipt.body, keys: [verifying], now: .now)
        }
    }

    @Test("SOS-19: a bare 2xx is no acknowledgement: the same bytes come again under the same id, until one is posted")
    func bareSuccess() async throws {
        let desk = Desk(.silent)
        try await Stage.playStarted(desk) { stage, dispatcher in
            let emergency = try await stage.callForHelp(.random())
            try await eventually("repeats") { desk.receipts.count >= 4 }
            #expect(Set(desk.receipts.map(\.id)) == ["\(emergency)-0"])
            #expect(Set(desk.receipts.map(\.body)).count == 1)

            let path = "/sos/v1/dispatches/\(emergency)-0/acknowledgements"
            let body = try Desk.body("\(emergency)-0", .accepted)
            #expect(try await Self.post(path, body, of: dispatcher, token: nil).status == 401)
            #expect(try await Self.post(path, body, of: dispatcher, token: "wrong").status == 401)
            #expect(try await Self.post(path, Array("{}".utf8), of: dispatcher).status == 422)
            #expect(
                try await Self.post(
                    "/sos/v1/dispatches/\(emergency)-9/acknowledgements", Desk.body("\(emergency)-9", .accepted), of: dispatcher
                ).status == 404)
            for _ in 0..<2 { #expect(try await Self.post(path, body, of: dispatcher).status == 200) }
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            #expect(try await stage.timeline(emergency).count { $0 == "acknowledged" } == 1)
        }
    }

    @Test("A forged, unsigned or misdirected acknowledgement is ignored, a rejection is recorded, and repeating goes on")
    func notBelieved() async throws {
        let desk = Desk(.forges)
        try await Stage.play(desk) { stage in
            try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "1"])
            let emergency = try await stage.callForHelp(.random())
            for manner in [Desk.Manner.unsigned, .confuses, .fails(500), .fails(302), .acknowledges(.rejected)] {
                let seen = desk.receipts.count
                try await eventually("two more") { desk.receipts.count >= seen + 2 }
                #expect(try await stage.state(emergency) == "dispatching")
                desk.become(manner)
            }
            try await eventually("the rejection") { try await stage.timeline(emergency).contains("rejected") }
            #expect(try await stage.state(emergency) == "dispatching")
            desk.become(.acknowledges(.duplicate))
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
        }
    }

    @Test("SOS-19, SOS-28: a desk that is down is called until it is back, across a restart, with the same bytes under the same id")
    func deskDownAndRestart() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let person = PersonID.random()
            var dispatcher = try await stage.start()
            let emergency = try await stage.callForHelp(person)
            try await eventually("the call") { desk.receipts.count >= 1 }
            await desk.close()
            try await eventually("failed attempts") {
                try await stage.question(ReadTimeline(emergency: emergency)).steps.contains { $0.detail.contains("failed") }
            }
            await dispatcher.stop()
            desk.become(.acknowledges(.accepted))
            dispatcher = try await stage.start()
            #expect(try await stage.state(emergency) == "dispatching")
            await desk.open()
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            #expect(Set(desk.receipts.map(\.id)) == ["\(emergency)-0"])
            #expect(Set(desk.receipts.map(\.body)).count == 1)
        }
    }

    @Test("SOS-21: after the acknowledgement a false alarm sends a cancellation with the same reference, which is acknowledged too")
    func cancelled() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, _ in
            let (person, emergency) = try await stage.caller()
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            desk.become(.silent)
            let reply = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            #expect(reply.alreadyDispatched && reply.emergency == emergency)
            try await eventually("repeats of the cancellation") { desk.receipts.count { $0.id == "\(emergency)-1" } >= 2 }
            let message = try #require(desk.receipts.last?.message)
            #expect(message.msgType == .cancel && message.references == ["\(emergency)-0"] && message.emergencyId == "\(emergency)")
            desk.become(.acknowledges(.accepted))
            try await eventually("its acknowledgement") { try await stage.timeline(emergency).contains("cancel-acknowledged") }
            #expect(try await stage.state(emergency) == "stood-down")
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 75)])
            try await eventually("the end") { try await stage.state(emergency) == "closed" }
        }
    }

    @Test("SOS-14: I am fine in time calls nobody")
    func fine() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, _ in
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let emergency = try await stage.emergency(of: person)
            #expect(try await stage.question(AnswerPrompt(person: person, answer: .fine)).emergency == emergency)
            #expect(try await stage.state(emergency) == "muted")
            #expect(try await stage.timeline(emergency) == ["alerted", "muted"])
            #expect(desk.receipts.isEmpty)
        }
    }

    @Test("A call does not wait for a disk that does not answer, and what it did is stored when the disk is back")
    func sickDisk() async throws {
        let desk = Desk(.silent)
        try await Stage.playStarted(desk) { stage, dispatcher in
            let person = try await stage.subscriber()
            let disk = DispatchSemaphore(value: 0)
            let stuck = Task { try await dispatcher.parts.store.store.write { _ in disk.wait() } }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            let receipt = try await eventually("the call") { desk.receipts.first }
            disk.signal()
            try await stuck.value
            let emergency = try #require(receipt.message.flatMap { EmergencyID($0.emergencyId) })
            try await eventually("the record") { try await stage.state(emergency) == "dispatching" }
            desk.become(.acknowledges(.accepted))
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            #expect(Set(desk.receipts.map(\.body)).count == 1)
        }
    }

    @Test("SOS-19: a slow desk is heard: attempts go on, and the answer to an early one still counts")
    func slowDesk() async throws {
        let desk = Desk(.slow(4))
        try await Stage.playStarted(desk) { stage, _ in
            let emergency = try await stage.callForHelp(.random())
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            #expect(desk.receipts.count >= 4)
            #expect(Set(desk.receipts.map(\.body)).count == 1)
        }
    }

    @Test("A late acknowledgement of something that has ended long ago is taken again and changes nothing")
    func lateAcknowledgement() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let (person, emergency) = try await stage.caller()
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            desk.become(.silent)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .fine))
            try await eventually("the cancellation") { desk.receipts.contains { $0.id == "\(emergency)-1" } }
            let path = "/sos/v1/dispatches/\(emergency)-0/acknowledgements"
            #expect(try await Self.post(path, Desk.body("\(emergency)-0", .accepted), of: dispatcher).status == 200)
            #expect(try await stage.state(emergency) == "stood-down")
            #expect(try await stage.timeline(emergency).count { $0 == "acknowledged" } == 1)
        }
    }

    // MARK: Over HTTP

    private static let sender = HTTPSender.anywhere()

    private static func post(
        _ path: String, _ body: [UInt8], of dispatcher: Stage.Dispatcher, token: String? = "the right one"
    ) async throws -> OutboundResponse {
        var request = OutboundRequest.post(
            "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)\(path)", body, contentType: "application/json")
        if let token {
            request.headers.append(("Authorization", "Bearer " + (token == "the right one" ? dispatcher.parts.token : token)))
        }
        return try await sender.send(request)
    }

    private static func get(_ path: String, of dispatcher: Stage.Dispatcher) async throws -> OutboundResponse {
        try await sender.send(OutboundRequest(url: "http://127.0.0.1:\(await dispatcher.parts.server.boundPort)\(path)"))
    }
}
