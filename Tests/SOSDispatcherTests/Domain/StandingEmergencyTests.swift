// What one dispatcher tells the other of an emergency that runs, where that one knows nothing of it.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("An emergency as the other dispatcher tells it")
struct StandingEmergencyTests {
    private static let emergency = DispatchMessageTests.emergency

    private static func message(_ sequence: Int, _ kind: DispatchMessage.Kind = .alert) -> OutboxMessage {
        OutboxMessage(
            id: MessageID(emergency: emergency, sequence: sequence), kind: kind, body: Array("{\"seq\":\(sequence)}".utf8),
            createdAt: SupervisionStory.at(Double(sequence)))
    }

    private static func record(isCalledFor: Bool = true) -> EmergencyRecord {
        EmergencyRecord(
            id: emergency, person: .random(), t0: SupervisionStory.at(0), state: isCalledFor ? .dispatched : .alerted,
            dispatchedAt: isCalledFor ? SupervisionStory.at(3.5) : nil)
    }

    /// Called at two services, of which the second has taken it; an update is on its way.
    private static func taken() -> DispatchMachine {
        var file = DispatchMachine()
        file.add(message(0), order: ["milan"], at: SupervisionStory.at(0))
        file.attempted(message(0).id, by: "milan", at: SupervisionStory.at(1))
        file.join("italy", at: SupervisionStory.at(2))
        _ = file.acknowledged(message(0).id, by: "italy") { alert, _ in
            OutboxMessage(id: alert.id.release, kind: .cancel, body: alert.body, createdAt: SupervisionStory.at(3))
        }
        file.add(message(1, .update), order: ["milan"], at: SupervisionStory.at(4))
        return file
    }

    @Test("SOS-24: what was sent, to whom, and what became of it comes whole, on this side's time line")
    func whole() throws {
        let (file, record) = (Self.taken(), Self.record())
        let told = StandingEmergency(record, file)
        let heard = try JSONDecoder().decode(StandingEmergency.self, from: JSONEncoder().encode(told))
        #expect(heard == told && heard.next == 2)
        #expect(heard.record(of: record.person) == record)
        let known = heard.file(shiftedBy: .zero)
        #expect(known == file)
        #expect(known.isTaken && known.lines["milan"]?.current?.id == Self.message(0).id.release)
        let shifted = heard.file(shiftedBy: .seconds(5)).lines["milan"]?.message(Self.message(0).id)
        #expect(shifted?.createdAt == SupervisionStory.at(5) && shifted?.lastAttemptAt == SupervisionStory.at(6))
    }

    @Test("SOS-24: before the call no number is told: whoever decides it first calls under number 0")
    func beforeTheCall() {
        #expect(StandingEmergency(Self.record(isCalledFor: false), Self.taken()).next == nil)
        #expect(StandingEmergency(Self.record(), DispatchMachine()).next == 1, "of messages that cannot be read nothing is known")
        #expect(DispatchMessage.Kind.update.first == 1, "an update was no alert before it")
    }

    @Test("However many messages there were, the alert that stands and the latest are told")
    func bounded() {
        var file = DispatchMachine()
        for number in 0...20 {
            file.add(Self.message(number, number == 0 ? .alert : .update), order: ["milan"], at: SupervisionStory.at(0))
        }
        let told = StandingEmergency(Self.record(), file)
        #expect(told.messages.map(\.sequence) == [0] + Array(14...20) && told.next == 21)
        #expect(told.size == told.messages.reduce(0) { $0 + $1.body.utf8.count })
    }

    @Test("What is known here stays; what the other has had answered is not sent from here; what it alone has decided is known")
    func together() {
        var file = DispatchMachine()
        let own = OutboxMessage(id: Self.message(0).id, kind: .alert, body: Array("{}".utf8), createdAt: SupervisionStory.at(0))
        file.add(own, order: ["italy"], at: SupervisionStory.at(0))
        file.takeIn(Self.taken())
        #expect(file.decided.map(\.id.sequence) == [0, 1] && file.decided.first?.body == own.body)
        #expect(file.isTaken && file.lines["italy"]?.messages.map(\.end) == [.acknowledged, nil])
        let before = file
        file.takeIn(Self.taken())
        #expect(file == before)
    }

    @Test("SOS-32: a number under which something was sent or acknowledged there is not taken for an update of one's own")
    func behind() {
        let pair = PairState(.first, lead: .zero, retry: .seconds(1))
        #expect(pair.numberBehind(in: Self.emergency) == 1)
        for (id, kind) in [(Self.message(0).id, DispatchMessage.Kind.alert), (Self.message(0).id.release, .cancel)] {
            pair.note(
                .attempted(
                    MadeAttempt(
                        person: .random(), emergency: id.emergency, sequence: id.sequence, kind: kind, integrator: "desk", body: nil,
                        at: SupervisionStory.at(0))))
        }
        #expect(pair.numberBehind(in: Self.emergency) == 1)
        let word = Acknowledgement(messageId: "\(Self.message(1).id)", result: .accepted, ackId: "one", reason: nil)
        pair.note(.acknowledged(TakenMessage(person: .random(), integrator: "desk", acknowledgement: word, at: SupervisionStory.at(0))))
        #expect(pair.numberBehind(in: Self.emergency) == 2)
    }
}
