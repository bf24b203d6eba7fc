// One emergency and several emergency services: who is called, who is next, who hears of the end.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Dispatch file")
struct DispatchFileTests {
    private static let order = ["milan", "italy", "default"]

    private func message(_ sequence: Int, _ kind: DispatchMessage.Kind = .alert) -> OutboxMessage {
        OutboxMessage(
            id: MessageID(emergency: DispatchMessageTests.emergency, sequence: sequence), kind: kind, body: [UInt8(sequence)],
            createdAt: SupervisionStory.at(Double(sequence)))
    }

    private func opened(_ messages: OutboxMessage...) -> DispatchMachine {
        var file = DispatchMachine()
        for message in messages { file.add(message, order: Self.order, at: SupervisionStory.at(0)) }
        return file
    }

    private func ends(_ file: DispatchMachine, _ integrator: String) -> [OutboxMessage.End?] {
        file.lines[integrator]?.messages.map(\.end) ?? []
    }

    @Test("A call goes to the first alone; what follows goes to whoever was called; the same again changes nothing")
    func first() {
        var file = opened(message(0), message(1, .update), message(0))
        #expect(Array(file.lines.keys) == ["milan"])
        #expect(file.lines["milan"]?.current?.id.sequence == 0 && file.nextSequence == 2)
        let before = file
        file.add(message(1, .update), order: ["italy"], at: SupervisionStory.at(9))
        #expect(file == before)
    }

    @Test("A refusal gives the whole call as it stands to the next at once, and the one who refused is told nothing more")
    func refused() {
        var file = opened(message(0), message(1, .update))
        let passing = file.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(5))
        #expect(passing == .on(to: "italy"))
        #expect(file.lines["italy"]?.messages.map(\.id.sequence) == [0, 1])
        #expect(file.lines["italy"]?.current?.createdAt == SupervisionStory.at(5))
        #expect(file.lines["italy"]?.messages.map(\.body) == [[0], [1]])
        #expect(file.lines["milan"]?.current == nil, "nor what waited behind the call")
        file.add(message(2, .cancel), order: Self.order, at: SupervisionStory.at(6))
        #expect(file.lines["milan"]?.message(message(2).id) == nil)
        #expect(file.lines["italy"]?.current?.id.sequence == 2)
        let late = file.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(7))
        #expect(late == .nothing)
    }

    @Test("SOS-39: when all have refused, each is asked again 30 s after its refusal, without end")
    func refusedByAll() {
        var file = opened(message(0))
        for (second, integrator) in Self.order.enumerated() {
            let passing = file.refused(message(0).id, by: integrator, order: Self.order, at: SupervisionStory.at(Double(second)))
            #expect(passing == (second < 2 ? .on(to: Self.order[second + 1]) : .refusedByAll))
            #expect(!file.isOver, "a call that nobody takes is not over")
        }
        #expect(file.isRefused)
        for round in 1...50 {
            let start = Double(30 * round)
            let early = file.askAgain(after: .seconds(30), order: Self.order, at: SupervisionStory.at(start - 0.001))
            let due = (0..<3).map { file.askAgain(after: .seconds(30), order: Self.order, at: SupervisionStory.at(start + Double($0))) }
            #expect(early == [] && due == [["milan"], ["italy"], ["default"]])
            for (second, integrator) in Self.order.enumerated() {
                let at = SupervisionStory.at(start + Double(second))
                let passing = file.refused(message(0).id, by: integrator, order: Self.order, at: at)
                #expect(passing == (second < 2 ? .nothing : .refusedByAll))
            }
        }
        let stopped = file.stop()
        let after = file.askAgain(after: .seconds(30), order: Self.order, at: SupervisionStory.at(9000))
        #expect(stopped && file.isOver && after == [], "the person said that help is here")
    }

    @Test("Who has refused is asked again only where nobody is left who was not asked, and never for what was called off or taken")
    func notAskedAgain() {
        var file = opened(message(0))
        _ = file.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(0))
        let others = file.askAgain(after: .seconds(30), order: Self.order, at: SupervisionStory.at(99))
        #expect(others == [], "one of the order was not asked yet")
        let nobody = file.askAgain(after: .seconds(30), order: ["milan", "italy"], at: SupervisionStory.at(99))
        #expect(nobody == ["milan"], "the other one does not answer: it may be dead")
        _ = file.refused(message(0).id, by: "milan", order: ["milan", "italy"], at: SupervisionStory.at(100))
        file.add(message(1, .cancel), order: Self.order, at: SupervisionStory.at(101))
        let calledOff = file.askAgain(after: .seconds(30), order: ["milan", "italy"], at: SupervisionStory.at(200))
        #expect(calledOff == [])
    }

    @Test("The first who takes the call has it; nobody else is called any more, and all who were called hear of the cancel")
    func taken() {
        var file = opened(message(0))
        _ = file.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(1))
        let betterThought = file.acknowledged(message(0).id, by: "milan")
        #expect(betterThought, "whoever has refused may think better of it")
        #expect(ends(file, "milan") == [.acknowledged] && ends(file, "italy") == [.stopped])
        #expect(file.isTaken && file.isOver)
        let again = file.acknowledged(message(0).id, by: "milan")
        #expect(!again)
        file.add(message(1, .cancel), order: Self.order, at: SupervisionStory.at(2))
        #expect(file.lines["milan"]?.current?.id.sequence == 1 && file.lines["italy"]?.current?.id.sequence == 1)
        let ofCancel = file.refused(message(1).id, by: "italy", order: Self.order, at: SupervisionStory.at(3))
        #expect(ofCancel == .nothing)
        #expect(ends(file, "italy") == [.stopped, .refused])
    }

    @Test("Who is asked again after a refusal hears what was decided meanwhile, too")
    func askedAgainWithWhatCameSince() {
        var file = opened(message(0), message(1, .update))
        for integrator in Self.order { _ = file.refused(message(0).id, by: integrator, order: Self.order, at: SupervisionStory.at(5)) }
        file.add(message(2, .update), order: Self.order, at: SupervisionStory.at(6))
        let asked = file.askAgain(after: .seconds(30), order: Self.order, at: SupervisionStory.at(35))
        #expect(asked == Self.order.sorted())
        for integrator in asked { #expect(file.lines[integrator]?.messages.map(\.end) == [nil, nil, nil]) }
    }

    @Test("A refused update of a call that was taken goes on to the next with the call")
    func refusedUpdate() {
        var file = opened(message(0), message(1, .update))
        let taken = file.acknowledged(message(0).id, by: "milan")
        #expect(taken)
        let ofUpdate = file.refused(message(1).id, by: "milan", order: Self.order, at: SupervisionStory.at(1))
        #expect(ofUpdate == .on(to: "italy"))
        #expect(file.lines["italy"]?.messages.map(\.id.sequence) == [0, 1])
    }

    @Test("SOS-39: accepted and then rejected, the next one gets the whole call; a cancellation is the last word")
    func rejectedAfterAccepting() {
        var file = opened(message(0), message(1, .update))
        _ = file.acknowledged(message(0).id, by: "milan")
        let passing = file.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(1))
        #expect(passing == .on(to: "italy") && !file.isTaken)
        #expect(file.lines["italy"]?.messages.map(\.id.sequence) == [0, 1])
        let again = file.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(2))
        #expect(again == .nothing)
        var calledOff = opened(message(0))
        _ = calledOff.acknowledged(message(0).id, by: "milan")
        calledOff.add(message(1, .cancel), order: Self.order, at: SupervisionStory.at(3))
        let late = calledOff.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(4))
        #expect(late == .nothing && Array(calledOff.lines.keys) == ["milan"])
    }

    @Test("What was decided and given to nobody is known, and goes out once it is given")
    func unassigned() {
        var file = DispatchMachine([message(0)])
        #expect(!file.isOver && file.unassigned.map(\.id) == [message(0).id])
        file.add(message(0), order: Self.order, at: SupervisionStory.at(1))
        #expect(file.unassigned.isEmpty && file.lines["milan"]?.current != nil)
        let stopped = [file.stop(), file.isOver, file.stop()]
        #expect(stopped == [true, true, false])
    }

    @Test("By hand everything that is on its way is taken, what was refused stays refused")
    func byHand() {
        var file = opened(message(0), message(1, .update))
        _ = file.refused(message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(1))
        file.acknowledgedByHand()
        #expect(file.isTaken && file.isOver && ends(file, "italy") == [.acknowledged, .acknowledged])
        #expect(ends(file, "milan").first == .refused)
    }

    @Test("SOS-18: texts are due at once, after 10 and 30 s, then each minute; missed ones are not made up for")
    func texts() {
        #expect((0..<6).map(TextSchedule.due) == [0, 10, 30, 90, 150, 210].map { .seconds($0) })
        for number in 0..<200 {
            #expect(TextSchedule.latest(after: TextSchedule.due(number)) == number)
            #expect(TextSchedule.latest(after: TextSchedule.due(number + 1) - .milliseconds(1)) == number)
        }
    }
}
