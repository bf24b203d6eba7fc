// Where the person is becomes known only after the call: whoever was called hears of it, once.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("A place that becomes known after the call, whole service", .timeLimit(.minutes(2)))
struct PlaceStories {
    private static let milan = Position(latitude: 45.4642, longitude: 9.19, accuracy: 10)
    private static let near = Position(latitude: 45.4643, longitude: 9.1901, accuracy: 10)

    private static func place(_ position: Position, at time: Timestamp = .now) -> Sample {
        Sample(type: .position, at: time, value: nil, position: position)
    }

    /// The message of this number, once the desk has it.
    private static func message(_ number: Int, of emergency: EmergencyID, at desk: Desk) async throws -> DispatchMessage {
        try await eventually("message \(number)") { desk.receipts.first { $0.id == "\(emergency)-\(number)" }?.message }
    }

    @Test(
        "SOS-20: a place learnt after a call that could name none reaches the emergency service as an update of its own; moving on is none"
    )
    func learntLate() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let (person, emergency) = try await stage.caller()
            let alert = try await Self.message(0, of: emergency, at: desk)
            #expect(alert.location.method == "none" && !alert.location.trusted)
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }

            try await stage.ingest.say(person, [Self.place(Self.milan)])
            let update = try await Self.message(1, of: emergency, at: desk)
            #expect(update.msgType == .update && update.references == ["\(emergency)-0"])
            #expect(update.location.lat == Self.milan.latitude && update.location.trusted)
            #expect(update.headline == "Person in danger, position now known; first: Heart rate 31 /min, below 45")
            try await eventually("its acknowledgement") { try await stage.timeline(emergency).contains("update-acknowledged") }
            #expect(try await stage.timeline(emergency).contains("located"))

            try await stage.ingest.say(person, [Self.place(Self.near)])
            try await eventually("it is heard") {
                await dispatcher.parts.supervision.latestPlace(of: person)?.position == Self.near
            }
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            let next = try await Self.message(2, of: emergency, at: desk)
            #expect(next.msgType == .cancel && next.location.lat == Self.near.latitude)
        }
    }

    @Test("R16, SOS-11: no position was asked for at an alert: of whom no place was heard, ingest is asked for it, and the call names it")
    func askedForAtAnAlert() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(desk) { stage, dispatcher in
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 64)])
            try await eventually("the heart is heard") {
                await dispatcher.parts.supervision.subscriber(of: person)?.supervision.sources.isEmpty == false
            }
            #expect(await !dispatcher.parts.supervision.knowsPlace(of: person))
            // Ingest has it by now, and says nothing of it by itself.
            stage.ingest.know([Self.place(Self.milan)])
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("the place") { await dispatcher.parts.supervision.knowsPlace(of: person) }
            let emergency = try await stage.askForHelp(person)
            let alert = try await Self.message(0, of: emergency, at: desk)
            #expect(alert.location.lat == Self.milan.latitude && alert.location.trusted)
        }
    }

    @Test("SOS-20, SOS-28: a call named an old place, the dispatcher starts again: the present place is an update under the next number")
    func renewedLate() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            var dispatcher = try await stage.start()
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Self.place(Self.milan, at: .now - .seconds(900))])
            let emergency = try await stage.callForHelp(person)
            let alert = try await Self.message(0, of: emergency, at: desk)
            #expect(alert.location.lat == Self.milan.latitude && !alert.location.trusted, "said to be old")
            try await eventually("the acknowledgement") { try await stage.state(emergency) == "dispatched" }
            await dispatcher.stop()

            dispatcher = try await stage.start()
            try await stage.ingest.say(person, [Self.place(Self.near)])
            let update = try await Self.message(1, of: emergency, at: desk)
            #expect(update.msgType == .update && update.location.lat == Self.near.latitude && update.location.trusted)
            #expect(update.location.previous.map(\.lat) == [Self.milan.latitude])
        }
    }
}
