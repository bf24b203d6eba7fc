// Emergency contacts through a whole emergency, with the real dispatcher and a notifier that keeps what it is given.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Emergency contacts", .timeLimit(.minutes(2)))
struct ContactStories {
    private static let card = EmergencyCard(
        name: "Anna Rossi", telephone: nil, language: "it", birthYear: nil, sex: nil, address: nil, medicalNotes: nil)

    /// Anna, watched, with two contacts and a known place.
    private func subscribe(_ stage: Stage, _ dispatcher: Stage.Dispatcher) async throws -> PersonID {
        let anna = try await stage.subscriber()
        await dispatcher.parts.supervision.name([.berta, .carlo], Self.card, of: anna)
        try await stage.ingest.say(
            anna, [Sample(type: .position, at: .now, value: nil, position: Position(latitude: 45.4642, longitude: 9.19))])
        try await eventually("the place is known") { await dispatcher.parts.supervision.knowsPlace(of: anna) }
        return anna
    }

    private func callForHelp(_ stage: Stage, _ anna: PersonID) async throws -> EmergencyID {
        try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 31)])
        return try await stage.askForHelp(anna)
    }

    @Test(
        "SOS-22: at the call every contact gets a text and a call with name, time, place and a link of their own; one on the way is told to the other; a false alarm to both"
    )
    func wholeAlarm() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start()
            let anna = try await subscribe(stage, dispatcher)
            let emergency = try await callForHelp(stage, anna)

            let alerts = try await eventually("both are told") {
                let alerts = notifier.messages(.sosContactAlert)
                return alerts.count == 2 ? alerts : nil
            }
            let berta = try #require(alerts.first { $0.recipient.phone == "+39333000001" })
            let carlo = try #require(alerts.first { $0.recipient.phone == "+39333000002" })
            #expect(berta.channels == [.sms, .call, .mail] && carlo.channels == [.sms, .call])
            #expect(berta.language == .italian && carlo.language == .english)
            #expect(berta.values["name"] == "Anna Rossi" && berta.values["place"] == "45.46420,9.19000")
            #expect(Timestamp(rfc3339: berta.values["time"] ?? "") != nil)
            #expect(berta.path != carlo.path && !(berta.values["link"] ?? "").contains("\(emergency)"))
            try await eventually("the acknowledgement is told to both") { notifier.messages(.sosAmbulanceInformed).count >= 3 }

            let visitor = await Visitor(of: dispatcher)
            let page = try await visitor.open(berta.path, in: "it")
            #expect(page.status == 200)
            for words in [
                "Emergenza: Anna Rossi", "45.46420,9.19000", "geo:45.46420,9.19000", "Carlo: ancora nessuna risposta", "Sto arrivando",
            ] {
                #expect(page.text.contains(words), "\(words)")
            }
            #expect(page.text.contains("L&#39;ambulanza è informata") || page.text.contains("L'ambulanza è informata"))
            #expect(try await visitor.press("on-my-way", at: berta.path).status == 303)
            let informed = try await eventually("Carlo hears of it") { notifier.messages(.sosContactInformed).first }
            #expect(informed.recipient.phone == "+39333000002" && informed.values["who"] == "Berta")
            #expect(try await visitor.press("on-my-way", at: berta.path).status == 303, "the same again changes nothing")
            #expect(try await visitor.open(carlo.path).text.contains("Berta: on the way"))
            #expect(try await visitor.press("dancing", at: berta.path).status == 422)
            #expect(try await visitor.press("seen", at: carlo.path, origin: "https://elsewhere.example").status == 403)
            #expect(try await visitor.open("/sos/c/AAAAAAAAAAAAAAAAAAAAAA").status == 404)

            _ = try await stage.question(AnswerPrompt(person: anna, answer: .falseAlarm))
            let wrong = try await eventually("the false alarm is told to both") {
                let wrong = notifier.messages(.sosContactFalseAlarm)
                return wrong.count == 2 ? wrong : nil
            }
            #expect(wrong.allSatisfy { $0.channels.contains(.sms) && !$0.channels.contains(.call) })
            try await eventually("the page says so") { try await visitor.open(carlo.path).text.contains("False alarm") }
            let closed = try await visitor.open(carlo.path)
            #expect(!closed.text.contains("45.46420") && !closed.text.contains("<button"), "where she is is nobody's business any more")
            let timeline = try await stage.timeline(emergency)
            #expect(timeline.contains("contacts-alerted") && timeline.count { $0 == "contact-answered" } == 1)
        }
    }

    @Test("SOS-22: a contact who cannot be reached is shown in the timeline, the others are told all the same")
    func unreached() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start()
            let anna = try await subscribe(stage, dispatcher)
            let emergency = try await callForHelp(stage, anna)
            let alerts = try await eventually("both are told") {
                let alerts = notifier.messages(.sosContactAlert)
                return alerts.count == 2 ? alerts : nil
            }
            let berta = try #require(alerts.first { $0.recipient.phone == "+39333000001" })
            try await notifier.say(MessageSettled(message: berta.message, channel: .call, state: .failed, reason: "number-refused"))
            try await notifier.say(MessageSettled(message: berta.message, channel: .sms, state: .delivered, reason: nil))
            let step = try await eventually("the timeline has it") {
                try await stage.question(ReadTimeline(emergency: emergency)).steps.first { $0.event == "contact-unreached" }
            }
            #expect(step.detail == "contact 1, alert by call: number-refused" && step.actor == "notifier")
            #expect(try await stage.question(VerifyAudit()).firstBroken == nil)
        }
    }

    @Test("while nobody is on the way the contacts are called again down the list")
    func calledAgain() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start(["TRACKME_SOS_CONTACT_CALL_S": "1"])
            let anna = try await subscribe(stage, dispatcher)
            _ = try await callForHelp(stage, anna)
            let calls = try await eventually("two calls more") {
                let calls = notifier.messages(.sosContactAlert).filter { $0.channels == [.call] }
                return calls.count >= 2 ? calls : nil
            }
            #expect(calls.prefix(2).map(\.recipient.phone) == ["+39333000001", "+39333000002"])
            let path = try #require(calls.first?.path)
            #expect(try await Visitor(of: dispatcher).press("on-scene", at: path).status == 303)
        }
    }

    @Test(
        "SOS-28: messages wait for a notifier that is away; a dispatcher that died before it told anybody tells them after the restart, and nobody twice"
    )
    func restarts() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            var dispatcher = try await stage.start()
            let anna = try await subscribe(stage, dispatcher)
            _ = try await callForHelp(stage, anna)
            let first = dispatcher
            try await eventually("the alarm is stored") {
                try await first.parts.store.store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM contact_notices") ?? 0 } == 2
            }
            // As if it had died between the call and its first word to anybody.
            try await dispatcher.parts.store.store.write { db in
                for table in ["contact_cases", "contact_notices", "jobs"] { try db.execute(sql: "DELETE FROM \(table)") }
            }
            await dispatcher.stop()
            dispatcher = try await stage.start()
            let notifier = try await stage.notifier()
            let alerts = try await eventually("both are told") {
                let alerts = notifier.messages(.sosContactAlert)
                return alerts.count == 2 ? alerts : nil
            }
            let path = try #require(alerts.first { $0.recipient.phone == "+39333000002" }?.path)
            #expect(try await Visitor(of: dispatcher).press("cannot", at: path).status == 303)
            await dispatcher.stop()

            dispatcher = try await stage.start()
            let visitor = await Visitor(of: dispatcher)
            #expect(try await visitor.open(path).text.contains("You said: cannot help"), "answers survive")
            #expect(notifier.messages(.sosContactAlert).count == 2)
        }
    }

    @Test("SOS-23, CON-31: shaking alarms the contacts of who has switched it on, without an ambulance; the person calls it off")
    func shaking() async throws {
        let desk = Desk(.silent)
        try await Stage.play(desk) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start()
            let anna = try await subscribe(stage, dispatcher)
            try await dispatcher.parts.supervision.prefer(SupervisionPreferences(shaking: true), of: anna)
            try await stage.ingest.say(anna, [Sample(type: .shaking, at: .now, value: 12)])
            let alerts = try await eventually("both are told") {
                let alerts = notifier.messages(.sosShaking)
                return alerts.count == 2 ? alerts : nil
            }
            #expect(alerts.allSatisfy { $0.channels.contains(.call) && $0.values["place"] == "45.46420,9.19000" })
            let path = try #require(alerts.first { $0.language == .english }?.path)
            let visitor = await Visitor(of: dispatcher)
            #expect(try await visitor.open(path).text.contains("reports repeated shaking"))
            #expect(try await visitor.press("on-my-way", at: path).status == 303)
            try await eventually("the other hears of it") { !notifier.messages(.sosContactInformed).isEmpty }
            _ = try await dispatcher.parts.people.prompts.answer(.falseAlarm, by: anna)
            try await eventually("both hear that it was nothing") { notifier.messages(.sosContactFalseAlarm).count == 2 }
            #expect(desk.receipts.isEmpty)
        }
    }

    @Test("SOS-25: a long silence is told to the contacts, and a sign of life ends it")
    func silence() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let notifier = try await stage.notifier()
            let dispatcher = try await stage.start()
            let anna = try await subscribe(stage, dispatcher)
            let began = Timestamp.now
            // As supervision tells it after minutes of silence.
            await dispatcher.parts.people.contacts.follow([
                SupervisionEvent(person: anna, kind: .silenceContacts, at: began, since: began - .seconds(330))
            ])
            let alerts = try await eventually("both are told") {
                let alerts = notifier.messages(.sosSilenceContacts)
                return alerts.count == 2 ? alerts : nil
            }
            #expect(alerts.allSatisfy { $0.values["time"] == (began - .seconds(330)).rfc3339 })
            let path = try #require(alerts.first { $0.language == .english }?.path)
            let visitor = await Visitor(of: dispatcher)
            #expect(try await visitor.open(path).text.contains("No signal: Anna Rossi"))
            await dispatcher.parts.people.contacts.follow([SupervisionEvent(person: anna, kind: .signalReturned, at: .now)])
            #expect(try await visitor.open(path).text.contains("gives signals again"))
            #expect(notifier.messages(.sosContactFalseAlarm).isEmpty)
        }
    }

    @Test("ACC-29: nothing about contacts is readable in the file, and erasure leaves nothing of them")
    func sealedAndErased() async throws {
        try await Stage.playStarted(Desk(.silent)) { stage, dispatcher in
            let anna = try await subscribe(stage, dispatcher)
            _ = try await callForHelp(stage, anna)
            let database = dispatcher.parts.store.store
            try await eventually("the alarm is stored") {
                try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM contact_cases") ?? 0 } == 1
            }
            let folder = stage.folder.appendingPathComponent("sos-dispatcher")
            for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
                guard !file.hasDirectoryPath else { continue }
                let bytes = try Data(contentsOf: file)
                for word in ["Berta", "Carlo", "+39333000001", "Rossi", "45.46420", "berta@example.org"] {
                    #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) in \(file.lastPathComponent)")
                }
            }
            let rows = try await database.write { db in
                try PersonErasureStore(messages: dispatcher.parts.messages).erase(
                    db, PersonErased(erasure: .random(), person: anna, scope: .data, orderedAt: .now).person, scope: .data)
            }
            #expect(rows >= 3)
            let left = try await database.read { db in
                try ["contact_cases", "contact_notices", "jobs", "prompt_answers"].reduce(0) { count, table in
                    try count + (Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0)
                }
            }
            #expect(left == 0)
        }
    }
}
