// An emergency service that takes a call back, in whichever form it says so: the next one has it at once, until an hour after the end.

import Bus
import Contracts
import Foundation
import GRDB
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Rejections after an acceptance, whole service", .timeLimit(.minutes(2)))
struct RejectionStories {
    private static let milan = Position(latitude: 45.4642, longitude: 9.19, accuracy: 10)
    private static let peer = Peer("milan-desk")
    private static let number = "+39021234567"
    /// From the rejection to the next service's desk (SOS-39), with the way of each as long as it is on an idle machine.
    private static let bound = Duration.seconds(1)

    private static let sender = HTTPSender.anywhere()

    /// How the service that has taken the call says that it does not go.
    enum Form: String, CaseIterable, Sendable {
        case post, capError, stream, text
        /// In the answer to a later message; to an attempt of the same one: `LateAnswerStories`.
        case answer
    }

    /// A call that Milan has taken.
    private struct Taken {
        let stage: Stage
        let dispatcher: Stage.Dispatcher
        let person: PersonID
        let emergency: EmergencyID
        let token: String
        let client: BusClient
        /// How long a message was on its way to a desk.
        let overhead: Duration
    }

    /// - Parameter body: is given a call that `taker` has taken and `next` has not heard of.
    private static func play(_ taker: Desk, _ next: Desk, body: (Taken) async throws -> Void) async throws {
        try await Stage.play(next, and: taker) { stage in
            let rights = KeyFiles.PublicPeer(
                peer: peer, key: "", hear: [StreamFamily.dispatchesName(to: "milan")], ask: [AcknowledgeDispatch.method])
            _ = try KeyFiles(folder: stage.folder.appendingPathComponent("keys")).makeBusKeys(rights)
            // The next service is called after thirty seconds: what is seen here earlier is the rejection's work.
            let dispatcher = try await stage.start()
            let reply = try await register(taker, stage)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 125, position: milan)])
            let emergency = try await stage.emergency(of: person)
            _ = try await stage.question(AnswerPrompt(person: person, answer: .help))
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            taker.become(.silent)
            #expect(next.receipts.isEmpty)
            let first = try #require(taker.receipts.first)
            let sent = try #require(first.message.flatMap { Timestamp(rfc3339: $0.sent) })
            let runtime = try stage.runtime(peer)
            try await body(
                Taken(
                    stage: stage, dispatcher: dispatcher, person: person, emergency: emergency, token: reply.token,
                    client: try await runtime.client(of: .sosDispatcher), overhead: max(.zero, first.at - sent)))
        }
    }

    private static func register(_ desk: Desk, _ stage: Stage) async throws -> AddIntegrator.Reply {
        let area = ServiceArea(circle: .init(centre: .init(latitude: milan.latitude, longitude: milan.longitude), radiusKm: 30))
        let settings = IntegratorSettings(name: "milan", area: area, url: desk.address, number: number, peer: "\(peer)")
        let reply = try await stage.question(AddIntegrator(settings: settings, replaces: false))
        desk.share(try WebhookSecret(reply.webhookSecret))
        return reply
    }

    @Test(
        "SOS-39: a rejection told since the copy of a dispatcher's store was made comes back from the other: the call does not count as taken"
    )
    func rejectedSinceTheCopy() async throws {
        let (taker, next) = (Desk(.acknowledges(.accepted)), Desk(.acknowledges(.accepted)))
        try await Self.play(taker, next) { taken in
            let second = try await taken.stage.start(role: .second)
            try await eventually("the second knows") { await second.parts.supervision.people[taken.person] != nil }
            try await taken.dispatcher.parts.journal.commitEverything()
            let copy = try await RestoreStories.copy(taken.stage)
            #expect(try await Self.post(try Desk.body("\(taken.emergency)-0", .rejected), "application/json", taken) == 200)
            try await eventually("the second has heard it") {
                try await second.parts.store.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM pair_heard") ?? 0 } > 0
            }
            await taken.dispatcher.stop()

            try RestoreStories.putBack(copy, taken.stage)
            let restored = try await taken.stage.start()
            try await eventually("it is not taken by the one that rejected it") {
                try await restored.parts.store.store.read { db in
                    try Int.fetchOne(
                        db, sql: "SELECT count(*) FROM dispatch_lines WHERE integrator <> 'default' AND ended = 'acknowledged'")
                } == 0
            }
            await restored.stop()
            await second.stop()
        }
    }

    private static func post(_ body: [UInt8], _ type: String, _ taken: Taken) async throws -> Int {
        let port = await taken.dispatcher.parts.server.boundPort
        var request = OutboundRequest.post(
            "http://127.0.0.1:\(port)/sos/v1/dispatches/\(taken.emergency)-0/acknowledgements", body, contentType: type)
        request.headers.append(("authorization", "Bearer \(taken.token)"))
        return try await sender.send(request).status
    }

    /// - Returns: since when the service's word was on its way, and when it was answered.
    private static func reject(_ form: Form, _ taken: Taken, _ taker: Desk) async throws -> (said: Timestamp, answered: Timestamp) {
        let said = Timestamp.now
        let id = "\(taken.emergency)-0"
        switch form {
        case .post:
            #expect(try await post(try Desk.body(id, .rejected), "application/json", taken) == 200)
        case .capError:
            let document = """
                <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2"><identifier>no-1</identifier><msgType>Error</msgType>\
                <note>no ambulance is free</note><references>sos@localhost,\(id),2026-01-10T00:00:05+00:00</references></alert>
                """
            #expect(try await post(Array(document.utf8), "application/cap+xml", taken) == 200)
        case .stream:
            _ = try await taken.client.ask(
                AcknowledgeDispatch(messageId: id, result: "rejected", ackId: "bus-1", reason: "no ambulance is free"),
                deadline: .seconds(5))
        case .text:
            let code = try #require(taker.receipts.first?.message?.ack.code)
            #expect(try await taken.dispatcher.parts.dispatcher.receive(text: "\(code): non possiamo", from: number) == .rejected)
        case .answer:
            taker.become(.acknowledges(.rejected))
            try await taken.stage.ingest.say(taken.person, [Sample(type: .heartRate, at: .now, value: 20, position: milan)])
            let news = try await eventually("the update") { taker.receipts.first { $0.id == "\(taken.emergency)-1" } }
            return (news.at, news.at)
        }
        return (said, .now)
    }

    @Test(
        "R7, SOS-39: accepted, then rejected: 200, but nobody else was called; now the next service has it within 1 s, in whichever form the rejection comes",
        arguments: Form.allCases)
    func rejectedAfterAccepting(form: Form) async throws {
        let (taker, next) = (Desk(.acknowledges(.accepted)), Desk(.silent))
        try await Self.play(taker, next) { taken in
            let (said, answered) = try await Self.reject(form, taken, taker)
            let receipt = try await eventually("the next service's call") { next.receipts.first }
            // The way of the word, then the way of the call, as long as they were on this machine.
            #expect(receipt.at - said < Self.bound + (answered - said) + taken.overhead, "\(form): \(receipt.at - said)")
            #expect(receipt.id == "\(taken.emergency)-0" && receipt.body == taker.receipts[0].body)
            // The call does not wait for its note.
            try await eventually("both are noted") {
                try await Set(taken.stage.timeline(taken.emergency)).isSuperset(of: ["rejected", "passed-on"])
            }
            next.become(.acknowledges(.accepted))
            if form == .answer {
                // What it does not take is the update: it still has the call, and the other has both.
                return try await eventually("the update is taken") {
                    try await taken.stage.timeline(taken.emergency).contains("update-acknowledged")
                }
            }
            try await eventually("it is taken again") {
                let taking = try await taken.stage.timeline(taken.emergency).count { $0 == "acknowledged" }
                let state = try await taken.stage.state(taken.emergency)
                return taking == 2 && state == "dispatched"
            }
        }
    }

    @Test(
        "SOS-39: a rejection re-opens the choice until an hour after the emergency was closed, and no longer",
        arguments: [Duration.seconds(3540), .seconds(3660)])
    func hourAfterClosing(since: Duration) async throws {
        let (taker, next) = (Desk(.acknowledges(.accepted)), Desk(.acknowledges(.accepted)))
        try await Self.play(taker, next) { taken in
            _ = try await taken.stage.question(UnsubscribePerson(person: taken.person))
            try await eventually("it is closed") { try await taken.stage.state(taken.emergency) == "closed" }
            // As if that had been so long ago.
            let closedAt = (Timestamp.now - since).milliseconds
            try await taken.dispatcher.parts.store.store.write { db in
                for table in ["emergencies", "closed_emergencies"] {
                    try db.execute(
                        sql: "UPDATE \(table) SET closed_at = ? WHERE emergency = ?", arguments: [closedAt, taken.emergency.data])
                }
            }
            #expect(try await Self.post(try Desk.body("\(taken.emergency)-0", .rejected), "application/json", taken) == 200)
            try await eventually("it is noted") { try await taken.stage.timeline(taken.emergency).contains("rejected") }
            let isOpen = since < Dispatcher.reopens
            // Passing on is decided before the rejection is answered.
            #expect(try await taken.stage.timeline(taken.emergency).contains("passed-on") == isOpen)
            if isOpen { try await eventually("the next service's call") { !next.receipts.isEmpty } }
            #expect(next.receipts.isEmpty == !isOpen)
        }
    }

    @Test(
        "SOS-39: a signed rejection with a reason of 501 characters, or without one, was `delivered, not acknowledged`: the next service has the call within 1 s",
        arguments: AcknowledgementTests.missingReasons + AcknowledgementTests.faultyReasons.map { #","reason":\#($0)"# })
    func faultyReason(reason: String) async throws {
        let refusing = Desk(.writes(#""result":"rejected","ackId":"desk-1"\#(reason)"#))
        let next = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(next, and: refusing) { stage, _ in
            _ = try await Self.register(refusing, stage)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: Self.milan)])
            let first = try await eventually("the call") { refusing.receipts.first }
            let sent = try #require(first.message.flatMap { Timestamp(rfc3339: $0.sent) })
            let receipt = try await eventually("the next service's call") { next.receipts.first }
            #expect(receipt.id == first.id)
            #expect(receipt.at - first.at < Self.bound + max(.zero, first.at - sent), "\(receipt.at - first.at)")
            let emergency = try await stage.emergency(of: person)
            try await eventually("both are noted") { try await Set(stage.timeline(emergency)).isSuperset(of: ["rejected", "passed-on"]) }
        }
    }

    @Test("SOS-35, SOS-39: help was there, then it is called for again and the service rejects that: the next one has it within 1 s")
    func rejectedAfterHelpWasThere() async throws {
        let (refusing, next) = (Desk(.silent), Desk(.acknowledges(.accepted)))
        try await Stage.playStarted(next, and: refusing) { stage, _ in
            _ = try await Self.register(refusing, stage)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: Self.milan)])
            let first = try await eventually("the call") { refusing.receipts.first }
            let sent = try #require(first.message.flatMap { Timestamp(rfc3339: $0.sent) })
            for _ in 0..<2 { _ = try await stage.question(AnswerPrompt(person: person, answer: .helpIsHere)) }
            refusing.become(.acknowledges(.rejected))
            _ = try await stage.question(AnswerPrompt(person: person, answer: .help))
            let rejected = try await eventually("the call again") { refusing.receipts.first { $0.id != first.id } }
            let receipt = try await eventually("the next service's call") { next.receipts.first }
            #expect(receipt.id == rejected.id)
            #expect(receipt.at - rejected.at < Self.bound + max(.zero, first.at - sent), "\(receipt.at - rejected.at)")
        }
    }
}
