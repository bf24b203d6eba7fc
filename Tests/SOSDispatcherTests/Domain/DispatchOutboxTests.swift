// One message at a time, without end, until it is acknowledged.

import Contracts
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Dispatch outbox")
struct DispatchOutboxTests {
    private func message(_ sequence: Int, _ kind: DispatchMessage.Kind = .alert) -> OutboxMessage {
        OutboxMessage(
            id: MessageID(emergency: DispatchMessageTests.emergency, sequence: sequence), kind: kind, body: [UInt8(sequence)],
            createdAt: SupervisionStory.at(Double(sequence)))
    }

    @Test("SOS-19: the first attempt is due at once, then one each retry interval from the last start, without end")
    func repeats() {
        var outbox = DispatchOutbox()
        outbox.add(message(0))
        #expect(outbox.current.map { due($0, .first) } == SupervisionStory.at(0))
        for second in 1...1000 {
            let start = SupervisionStory.at(Double(second))
            outbox.attempted(message(0).id, at: start)
            #expect(outbox.current.map { due($0, .first, last: start) } == start + .milliseconds(200))
        }
        #expect(outbox.current?.attempts == 1000)
        outbox.ended(message(0).id, .acknowledged)
        #expect(outbox.current == nil)
    }

    @Test("SOS-39: the second address waits for the first unless that failed hard; a text keeps its schedule, also after a restart")
    func otherWays() {
        #expect(due(message(0), .second) == SupervisionStory.at(0.7))
        #expect(due(message(0), .second, hasFirstFailed: true) == SupervisionStory.at(0))
        #expect(due(message(0), .second, last: SupervisionStory.at(5)) == SupervisionStory.at(5.2))
        var texted = message(0)
        #expect(due(texted, .text) == SupervisionStory.at(0))
        texted.texts = 2
        #expect(due(texted, .text) == SupervisionStory.at(30))
        #expect(due(texted, .text, last: SupervisionStory.at(30)) == SupervisionStory.at(30.2))
    }

    private func due(_ message: OutboxMessage, _ way: DispatchWay, last: Timestamp? = nil, hasFirstFailed: Bool = false) -> Timestamp {
        message.due(
            by: way, last: last, hasFirstFailed: hasFirstFailed, secondAfter: DispatchOutbox.secondAfter, pause: .milliseconds(200))
    }

    @Test("SOS-40: what is called off backs off to a minute; alerts and updates never do")
    func backsOff() {
        #expect([.alert, .update, .cancel].map { message(0, $0).backsOff } == [false, false, true])
        var pauses: [Duration] = []
        for attempts in 1...20 {
            var cancel = message(0, .cancel)
            cancel.attempts = attempts
            let pause = DispatchOutbox.pause(after: cancel, retry: .seconds(1))
            #expect(pause == DispatchOutbox.pause(after: cancel, retry: .seconds(1)), "asked again it is the same")
            #expect(pause >= .milliseconds(750) * (1 << min(attempts - 1, 5)) || pause >= .seconds(45))
            #expect(pause <= DispatchOutbox.longestPause)
            pauses.append(pause)
        }
        #expect(Set(pauses.suffix(10)).count > 3, "the messages of many emergencies do not come back together")
    }

    @Test(
        "SOS-39: the second address is tried by t0 + 4.5 s whatever the first does, as far as calls go out early enough for that",
        arguments: [3000, 3500, 4000, 4300, 4900])
    func secondAddress(dispatchAt: Int64) {
        let second = Duration.milliseconds(dispatchAt) + DispatchOutbox.secondAfter(dispatchAt: .milliseconds(dispatchAt))
        #expect(second <= max(.milliseconds(4300), .milliseconds(dispatchAt)))
    }

    @Test("A repeated call stands behind its alert and the alert's release, before what was decided later, and has a release of its own")
    func places() throws {
        let (alert, next) = (message(3).id, message(4).id)
        let first = try #require(alert.repetition)
        let second = try #require(first.repetition)
        let order = [alert, alert.release, first, first.release, second, second.release, next, next.release]
        #expect(order.map(\.place) == order.map(\.place).sorted() && Set(order.map(\.place)).count == order.count)
        #expect(order.map(\.isRelease) == [false, true, false, true, false, true, false, true])
        #expect([alert, first, second, next].map(\.isRepetition) == [false, true, true, false])
        #expect(sequence(first: alert, next: \.repetition).count { _ in true } == 32, "not without end")
    }

    @Test("An update waits until the alert is acknowledged")
    func updateWaits() {
        var outbox = DispatchOutbox()
        outbox.add(message(0))
        outbox.add(message(1, .update))
        #expect(outbox.current?.id.sequence == 0)
        outbox.ended(message(0).id, .acknowledged)
        #expect(outbox.current?.id.sequence == 1)
    }

    @Test("A cancellation takes the place of what is unacknowledged, and a later call the place of the cancellation")
    func cancelSupersedes() {
        var outbox = DispatchOutbox()
        outbox.add(message(0))
        outbox.add(message(1, .update))
        outbox.add(message(2, .cancel))
        #expect(outbox.messages.map(\.end) == [.superseded, .superseded, nil])
        outbox.add(message(3))
        #expect(outbox.current?.id.sequence == 3)
        #expect(outbox.latestAlert?.id == message(3).id)
        #expect(outbox.nextSequence == 4)
    }

    @Test("The same message again changes nothing, whatever it holds")
    func sameMessage() {
        var outbox = DispatchOutbox()
        outbox.add(message(0))
        outbox.ended(message(0).id, .acknowledged)
        outbox.add(OutboxMessage(id: message(0).id, kind: .alert, body: [99], createdAt: SupervisionStory.at(9)))
        #expect(outbox.messages.count == 1 && outbox.messages[0].body == [0])
        #expect(outbox.current == nil)
    }

    @Test("A late rejection of a call that another has replaced does not stop what is still to be said of that one")
    func lateRejection() {
        var outbox = DispatchOutbox()
        outbox.add(message(0))
        outbox.add(message(1))
        outbox.ended(message(1).id, .acknowledged)
        outbox.add(message(2, .update))
        outbox.refused(message(0).id, at: SupervisionStory.at(9))
        #expect(outbox.messages.map(\.end) == [.refused, .acknowledged, nil])
        outbox.refused(message(1).id, at: SupervisionStory.at(10))
        #expect(outbox.messages.map(\.end) == [.refused, .refused, .stopped])
    }

    @Test("The first acknowledgement counts; one for a message that was superseded still counts")
    func acknowledgedOnce() {
        var outbox = DispatchOutbox()
        outbox.add(message(0))
        outbox.add(message(1, .cancel))
        let ends: [OutboxMessage.End] = [.acknowledged, .acknowledged, .superseded]
        let took = ends.map { outbox.ended(message(0).id, $0) }
        #expect(took == [true, false, false])
        #expect(outbox.current?.id.sequence == 1)
    }
}

@Suite("Due list")
struct DueListTests {
    @Test("Everybody is taken out at the wanted time or before, in any order of wanting", arguments: 0..<20)
    func takes(seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var list = DueList<Int>()
        var wanted: [Int: Int64] = [:]
        for _ in 0..<500 {
            let name = Int.random(in: 0..<50, using: &dice)
            let due = Int64.random(in: 0..<1000, using: &dice)
            list.want(name, at: Timestamp(milliseconds: due))
            wanted[name] = min(wanted[name] ?? due, due)
            if Int.random(in: 0..<10, using: &dice) == 0 {
                let now = Int64.random(in: 0..<1000, using: &dice)
                let taken = list.take(dueBy: Timestamp(milliseconds: now))
                #expect(Set(taken) == Set(wanted.filter { $0.value <= now }.keys))
                #expect(taken.count == Set(taken).count)
                for name in taken { wanted[name] = nil }
            }
            #expect(list.earliest?.milliseconds == wanted.values.min() || list.earliest.map { $0.milliseconds < 1000 } ?? true)
        }
        #expect(Set(list.take(dueBy: Timestamp(milliseconds: 1000))) == Set(wanted.keys))
    }
}
