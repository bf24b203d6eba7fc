// What integrators are sent: the golden bytes, and what must never be missing from them.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Dispatch message")
struct DispatchMessageTests {
    static let emergency = EmergencyID("emg_0123456789abcdefghjkmnpqrs").unsafelyUnwrapped

    /// A subscriber whose heart rate fell to 31 somewhere in Milan.
    static func facts(kind: DispatchMessage.Kind = .alert, position: Bool = true, entries: Int = 3) -> DispatchFacts {
        var story = SupervisionStory()
        var subscriber = Subscriber()
        for index in 0..<entries {
            let second = Double(index)
            let isLast = index == entries - 1
            let place = Position(latitude: 45.5, longitude: 9.125 + second / 8, altitude: 120, accuracy: 12)
            let upload = Supervision.Upload(
                at: SupervisionStory.at(second), receivedAt: SupervisionStory.at(second), declaredInterval: nil,
                entries: [
                    Sample(type: .heartRate, at: SupervisionStory.at(second), value: isLast ? 31 : 70, position: position ? place : nil),
                    Sample(type: .oxygenSaturation, at: SupervisionStory.at(second), value: 93.5),
                ])
            subscriber.note(upload, watches: story.machine.thresholds.watches)
            _ = story.machine.uploaded(upload)
        }
        subscriber.supervision = story.machine.state
        let end = Double(entries - 1)
        guard let episode = story.machine.state.episode else { preconditionFailure("the heart has failed") }
        return DispatchFacts(
            id: MessageID(emergency: Self.emergency, sequence: kind == .alert ? 0 : 1), kind: kind, episode: episode,
            subscriber: subscriber,
            rules: story.machine.rules, pid: "sub_00000000000000000000000000", decidedAt: SupervisionStory.at(end + 3.5),
            sent: SupervisionStory.at(end + 3.504), calledOffBy: kind == .cancel ? .falseAlarm : nil, trace: "0123456789abcdefghjkmnpqrs")
    }

    static let letterhead = DispatchLetterhead(contact: "+39021234567")

    @Test("SOS-16: alert and cancel are, byte for byte, the golden ones", arguments: [DispatchMessage.Kind.alert, .cancel])
    func golden(kind: DispatchMessage.Kind) throws {
        let bytes = try DispatchMessage(Self.facts(kind: kind), under: Self.letterhead).encoded()
        #expect(try Self.golden("dispatch-1-\(kind.rawValue).json", bytes) == String(decoding: bytes, as: UTF8.self))
    }

    /// Written once where it is absent, then only compared: the format is only ever added to.
    private static func golden(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../Golden/\(name)")
        guard let golden = FileManager.default.contents(atPath: file.path) else {
            try Data(bytes).write(to: file)
            Issue.record("\(name) was absent and has been written: check it in")
            return String(decoding: bytes, as: UTF8.self)
        }
        return String(decoding: golden, as: UTF8.self)
    }

    /// 125, called for and taken, then 20; the device had tried to send the first for a while.
    static func worse() -> DispatchFacts {
        var (story, subscriber) = (SupervisionStory(), Subscriber())
        var actions: [SupervisionAction] = []
        for (second, value) in [(0.0, 125.0), (40, 20)] {
            var upload = Supervision.Upload(
                at: SupervisionStory.at(second), receivedAt: SupervisionStory.at(second), declaredInterval: nil,
                entries: [
                    Sample(
                        type: .heartRate, at: SupervisionStory.at(second), value: value,
                        position: Position(latitude: 45.5, longitude: 9.125, altitude: 120, accuracy: 12))
                ])
            upload.firstTriedAt = SupervisionStory.at(second - 4)
            subscriber.note(upload, watches: story.machine.thresholds.watches)
            actions = story.machine.uploaded(upload)
            _ = story.machine.acknowledged(at: SupervisionStory.at(second + 5))
        }
        guard let action = actions.first(where: { $0.worse != nil }), let episode = action.episode else {
            preconditionFailure("it is worse")
        }
        subscriber.supervision = story.machine.state
        return DispatchFacts(
            id: MessageID(emergency: Self.emergency, sequence: 1), kind: .update, episode: episode, subscriber: subscriber,
            rules: story.machine.rules, pid: "sub_00000000000000000000000000", decidedAt: SupervisionStory.at(40),
            sent: SupervisionStory.at(40), worse: action.worse, trace: "0123456789abcdefghjkmnpqrs", code: "2D4F6H")
    }

    /// A call for help, or a fall, of somebody whose values are in range.
    static func mishap(_ kind: Trigger.Kind) -> DispatchFacts {
        var (facts, subscriber, at) = (facts(), Subscriber(), SupervisionStory.at(2))
        let heart = Sample(
            type: .heartRate, at: SupervisionStory.at(1), value: 70,
            position: Position(latitude: 45.5, longitude: 9.125, altitude: 120, accuracy: 12))
        let upload = Supervision.Upload(at: heart.at, receivedAt: heart.at, declaredInterval: nil, entries: [heart])
        subscriber.note(upload, watches: SupervisionStory().machine.thresholds.watches)
        subscriber.supervision = SupervisionStory().machine.state
        facts.subscriber = subscriber
        facts.episode = Episode(trigger: Trigger(kind == .fall ? .fall : .help, at: at, kind: kind), t0: at, receivedAt: at)
        facts.code = "7K3M9Q"
        // A fall is called for after its prompt, help at once.
        at = kind == .fall ? SupervisionStory.at(22) : at
        (facts.decidedAt, facts.sent) = (at, at)
        return facts
    }

    /// The messages of dispatch/1 beside the first alert and its cancel.
    enum Further: String, CaseIterable, Sendable {
        case worse, manual, fall

        var facts: DispatchFacts {
            switch self {
            case .worse: DispatchMessageTests.worse()
            case .manual: mishap(.manual)
            case .fall: mishap(.fall)
            }
        }
    }

    @Test(
        "SOS-32, SOS-35, SOS-36, SOS-41: worse with the device's first try, a call for help and a fall are, byte for byte, the golden ones",
        arguments: Further.allCases)
    func further(message: Further) throws {
        let said = DispatchMessage(message.facts, under: Self.letterhead)
        let bytes = try said.encoded()
        #expect(try Self.golden("dispatch-1-\(message.rawValue).json", bytes) == String(decoding: bytes, as: UTF8.self))
        let first = OutboxMessage(
            id: MessageID(emergency: Self.emergency, sequence: 0), kind: .alert,
            body: try DispatchMessage(Self.facts(), under: Self.letterhead).encoded(), createdAt: SupervisionStory.at(5))
        let document = try CAPDocument.render(
            OutboxMessage(id: message.facts.id, kind: said.msgType, body: bytes, createdAt: message.facts.sent),
            earlier: message == .worse ? [first] : [], to: "milan")
        #expect(try Self.golden("cap-1-\(message.rawValue).xml", document) == String(decoding: document, as: UTF8.self))
        let text = DispatchText(said, code: message.facts.code ?? "").text
        switch message {
        case .worse:
            #expect(said.severity == "worse" && said.msgType == .update && said.firstTriedAt != nil)
            #expect(text.contains(";x=W;") && text.contains(";k=hr;") && text.contains(";m=U;"))
        case .manual:
            #expect(!said.trigger.automatic && said.trigger.threshold == nil && text.contains(";k=manual;") && !text.contains(";v="))
        case .fall: #expect(said.trigger.automatic && said.trigger.threshold == nil && text.contains(";k=fall;") && !text.contains(";v="))
        }
    }

    @Test("SOS-39: a release of a call that got worse says nothing of what was worse, in any form")
    func releaseOfWorse() throws {
        let facts = Self.worse()
        let body = try DispatchMessage(facts, under: Self.letterhead).encoded()
        let bytes = try #require(
            DispatchMessage.release(of: body, as: facts.id.release, seq: 2, takenBy: "north", at: facts.sent, code: "0R1E2M"))
        let message = try JSONDecoder().decode(DispatchMessage.self, from: Data(bytes))
        #expect(message.worse == nil && message.severity == "unknown")
        #expect(!DispatchText(message, code: "0R1E2M").text.contains("x=W"))
    }

    @Test("SOS-19: a release is, byte for byte, the golden one; it says who goes, and of the person only what the alert began with")
    func release() throws {
        var facts = Self.facts()
        facts.code = "7K3M9Q"
        facts.subscriber.card = EmergencyCard(
            name: "Anna Rossi", telephone: "+393331234567", language: "it", birthYear: 1950, sex: "female", address: "Via Roma 1",
            medicalNotes: "allergic to penicillin")
        let alert = try DispatchMessage(facts, under: Self.letterhead).encoded()
        let bytes = try #require(
            DispatchMessage.release(
                of: alert, as: facts.id.release, seq: 2, takenBy: "north", at: facts.sent + .seconds(41), code: "0R1E2M"))
        let text = String(decoding: bytes, as: UTF8.self)
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../Golden/dispatch-1-release.json")
        let golden = try #require(FileManager.default.contents(atPath: file.path))
        #expect(String(decoding: golden, as: UTF8.self) == text)
        let message = try JSONDecoder().decode(DispatchMessage.self, from: Data(bytes))
        #expect(message.messageId == "\(Self.emergency)-1000000" && message.ack.url.contains("/\(Self.emergency)-1000000/"))
        #expect(message.msgType == .cancel && message.seq == 2 && message.references == ["\(Self.emergency)-0", "\(Self.emergency)-1"])
        for word in ["Anna", "+39333", "Roma", "penicillin", "45.5", "93.5", "1950", "7K3M9Q"] { #expect(!text.contains(word), "\(word)") }
        #expect(DispatchText(message, code: "0R1E2M").text.hasPrefix("SOS1;i=0123456789abcdefghjkmnpqrs;q=2;m=C;a=0R1E2M;"))
        let document = try CAPDocument.render(
            OutboxMessage(id: facts.id.release, kind: .cancel, body: bytes, createdAt: facts.sent), earlier: [], to: "milan")
        let cap = String(decoding: document, as: UTF8.self)
        #expect(cap.contains("<msgType>Cancel</msgType>") && cap.contains("<note>taken by north</note>"))
        #expect(DispatchMessage.release(of: [1], as: facts.id.release, seq: 1, takenBy: "north", at: facts.sent, code: "") == nil)
    }

    @Test("SOS-16, INV-14: the message carries time, place, value with threshold, danger and recent course")
    func content() {
        let message = DispatchMessage(Self.facts(), under: Self.letterhead)
        #expect(message.trigger.threshold?.value == 31)
        #expect(message.trigger.threshold?.limit == 45)
        #expect(message.trigger.threshold?.side == "below")
        #expect(message.trigger.threshold?.samples.map(\.value) == [70, 70, 31])
        #expect(message.parameters.map(\.metric) == ["heart-rate"])
        #expect(message.location.lat == 45.5)
        #expect(message.location.trusted)
        #expect(message.location.previous.count == 2)
        #expect(message.headline.contains("Heart rate"))
        #expect(message.firstBreachAt == "2026-01-10T00:00:02.000Z")
        #expect(message.sender.contact == "+39021234567")
        #expect(message.trace.decidedAfterMs == 3500)
    }

    @Test("SOS-20: without any known position the message says so plainly")
    func noPosition() {
        let location = DispatchMessage(Self.facts(position: false), under: Self.letterhead).location
        #expect(location.method == "none")
        #expect(location.lat == nil && !location.trusted)
    }

    @Test("SOS-20: an old position is sent with its age and is not vouched for")
    func oldPosition() {
        var old = Self.facts()
        old.sent = SupervisionStory.at(900)
        let location = DispatchMessage(old, under: Self.letterhead).location
        #expect(location.lat == 45.5)
        #expect(location.ageS == 898)
        #expect(!location.trusted)
    }

    @Test("SOS-20: where no position was ever known the home address is told, marked as such; with a position it is not")
    func homeAddress() {
        var facts = Self.facts(position: false)
        let card = EmergencyCard(
            name: "Ada Rossi", telephone: "+393331234567", language: "it", birthYear: 1980, sex: "female", address: "Via Roma 1, Milano",
            medicalNotes: nil)
        facts.subscriber.card = card
        let message = DispatchMessage(facts, under: Self.letterhead)
        #expect(message.location.method == "none")
        #expect(message.location.address == DispatchMessage.Address(text: "Via Roma 1, Milano", source: "profile"))
        #expect(message.subject.telephone == "+393331234567" && message.subject.language == "it")
        var placed = Self.facts()
        placed.subscriber.card = card
        #expect(DispatchMessage(placed, under: Self.letterhead).location.address == nil)
    }

    @Test("SOS-16: medical notes are told only where the card has them, which it has by consent alone")
    func medicalNotes() throws {
        var facts = Self.facts()
        facts.subscriber.card = EmergencyCard(
            name: "Ada Rossi", telephone: nil, language: "it", birthYear: nil, sex: nil, address: nil, medicalNotes: nil)
        let without = String(decoding: try DispatchMessage(facts, under: Self.letterhead).encoded(), as: UTF8.self)
        #expect(!without.contains("medicalNotes") && !without.contains("telephone"))
        facts.subscriber.card?.medicalNotes = "penicillin allergy"
        #expect(DispatchMessage(facts, under: Self.letterhead).subject.medicalNotes == "penicillin allergy")
    }

    @Test("A cancellation refers to what went before and says who gave it")
    func cancel() {
        let message = DispatchMessage(Self.facts(kind: .cancel), under: Self.letterhead)
        #expect(message.references == ["\(Self.emergency)-0"])
        #expect(message.reason == DispatchMessage.Reason(by: "person", answer: "false-alarm"))
        #expect(message.emergencyId == "\(Self.emergency)")
    }

    @Test("A message stays under 16 KiB with every metric's recent course in it")
    func size() throws {
        var full = Self.facts()
        for metric in Metric.all where metric.definition.shape == .scalar {
            for second in 0..<100 {
                full.subscriber.course.note(-1234.567891234 + Double(second), of: metric, at: SupervisionStory.at(Double(second)))
            }
        }
        #expect(try DispatchMessage(full, under: Self.letterhead).encoded().count < 16 << 10)
    }

    @Test("A person's name for integrators is not the suite's internal id")
    func noInternalID() throws {
        let text = String(decoding: try DispatchMessage(Self.facts(), under: Self.letterhead).encoded(), as: UTF8.self)
        #expect(!text.contains("per_"))
    }

    @Test("Message ids are read as they are written, and nothing else is")
    func messageID() {
        let id = MessageID(emergency: Self.emergency, sequence: 12)
        #expect(MessageID(id.description) == id)
        for wrong in [
            "", "\(Self.emergency)", "\(Self.emergency)-", "\(Self.emergency)-x", "\(Self.emergency)--1", "\(Self.emergency)-01", "x-1",
        ] {
            #expect(MessageID(wrong) == nil)
        }
    }
}
