// A call that nobody takes goes to one emergency service more after a while, and those called in vain hear who has taken it.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Escalation by time")
struct EscalationTests {
    fileprivate static let order = ["milan", "italy", "default"]
    fileprivate static let bound = Duration.seconds(30)

    fileprivate static func message(
        _ sequence: Int, _ kind: DispatchMessage.Kind = .alert, at second: Double = 0, isWorse: Bool = false
    ) -> OutboxMessage {
        OutboxMessage(
            id: MessageID(emergency: DispatchMessageTests.emergency, sequence: sequence), kind: kind, body: [UInt8(sequence)],
            createdAt: SupervisionStory.at(second), isWorse: isWorse)
    }

    fileprivate static func repetition(_ alert: OutboxMessage, _ seq: Int) -> OutboxMessage? {
        alert.id.repetition.map { OutboxMessage(id: $0, kind: .alert, body: [100, UInt8(seq)], createdAt: alert.createdAt) }
    }

    fileprivate static func release(_ alert: OutboxMessage, _ seq: Int) -> OutboxMessage? {
        OutboxMessage(id: alert.id.release, kind: .cancel, body: [200, UInt8(seq)], createdAt: alert.createdAt)
    }

    private static func opened(_ messages: OutboxMessage...) -> DispatchMachine {
        var file = DispatchMachine()
        for message in messages { file.add(message, order: order, at: message.createdAt) }
        return file
    }

    /// One course of an emergency, and whom it ends with being called.
    struct Case: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// Second and what happens; see `play`.
        var events: [(Double, String)]
        var called: [String]
    }

    private static let cases = [
        Case(testDescription: "answered in time", events: [(10, "milan yes"), (30, "time"), (90, "time")], called: ["milan"]),
        Case(testDescription: "a moment too early", events: [(29.999, "time")], called: ["milan"]),
        Case(testDescription: "silent for the bound", events: [(30, "time")], called: ["milan", "italy"]),
        Case(testDescription: "asked twice at once", events: [(30, "time"), (30, "time")], called: ["milan", "italy"]),
        Case(testDescription: "both silent", events: [(30, "time"), (59, "time"), (60, "time")], called: ["milan", "italy", "default"]),
        Case(
            testDescription: "after a pause of the dispatcher's own one after the other", events: [(500, "time"), (501, "time")],
            called: ["milan", "italy"]),
        Case(
            testDescription: "nobody is left", events: [(30, "time"), (60, "time"), (90, "time"), (900, "time")],
            called: ["milan", "italy", "default"]),
        Case(
            testDescription: "the bound begins anew with each that is asked", events: [(20, "milan no"), (49, "time"), (50, "time")],
            called: ["milan", "italy", "default"]),
        Case(testDescription: "a refusal does not wait", events: [(5, "milan no")], called: ["milan", "italy"]),
        Case(
            testDescription: "a refusal gives it on, though another is being called",
            events: [(30, "time"), (35, "milan no")], called: ["milan", "italy", "default"]),
        Case(testDescription: "taken by the second", events: [(30, "time"), (40, "italy yes"), (90, "time")], called: ["milan", "italy"]),
        Case(testDescription: "called off before", events: [(10, "cancel"), (30, "time"), (90, "time")], called: ["milan"]),
        Case(testDescription: "help is here", events: [(10, "stop"), (30, "time"), (90, "time")], called: ["milan"]),
        Case(testDescription: "taken by hand", events: [(10, "hand"), (30, "time"), (90, "time")], called: ["milan"]),
        Case(
            testDescription: "a call that takes the place of an unanswered one does not begin the wait anew",
            events: [(12, "alert"), (25, "alert"), (29.999, "time"), (30, "time")], called: ["milan", "italy"]),
    ]

    private static let worse = [
        Case(testDescription: "a moment too early", events: [(10, "milan yes"), (40, "worse"), (49.999, "time")], called: ["milan"]),
        Case(testDescription: "nobody says so", events: [(10, "milan yes"), (40, "worse"), (50, "time")], called: ["milan", "italy"]),
        Case(
            testDescription: "each ten seconds one more",
            events: [(10, "milan yes"), (40, "worse"), (50, "time"), (59.999, "time"), (60, "time")], called: ["milan", "italy", "default"]),
        Case(
            testDescription: "whoever was called as well takes the call, and does not acknowledge that it is worse",
            events: [(10, "milan yes"), (40, "worse"), (50, "time"), (51, "italy yes"), (60, "time")],
            called: ["milan", "italy", "default"]),
        Case(
            testDescription: "acknowledged in time",
            events: [(10, "milan yes"), (40, "worse"), (49, "milan knows"), (50, "time"), (90, "time")],
            called: ["milan"]),
        Case(
            testDescription: "acknowledged by the next one",
            events: [(10, "milan yes"), (40, "worse"), (50, "time"), (51, "italy knows"), (90, "time")], called: ["milan", "italy"]),
        Case(
            testDescription: "another update has all the time", events: [(10, "milan yes"), (40, "update"), (90, "time")], called: ["milan"]
        ),
        Case(testDescription: "called off", events: [(10, "milan yes"), (40, "worse"), (45, "cancel"), (90, "time")], called: ["milan"]),
        Case(
            testDescription: "in the place of a call that nobody has taken", events: [(5, "worse alert"), (14.999, "time"), (15, "time")],
            called: ["milan", "italy"]),
        Case(
            testDescription: "worse late does not put off the thirty seconds", events: [(25, "worse alert"), (30, "time")],
            called: ["milan", "italy"]),
        Case(
            testDescription: "after all have rejected, worse is a call to each anew",
            events: [(1, "milan no"), (2, "italy no"), (3, "default no"), (20, "worse alert"), (30, "time"), (40, "time")],
            called: ["milan", "italy", "default"]),
    ]

    private static func play(_ event: String, _ second: Double, _ file: inout DispatchMachine) {
        let (now, words) = (SupervisionStory.at(second), event.split(separator: " ").map(String.init))
        switch words {
        case ["time"]: _ = file.escalate(after: bound, order: order, at: now, repetition: repetition)
        case ["alert"]: file.add(message(file.nextSequence, .alert, at: second), order: order, at: now)
        case ["update"]: file.add(message(file.nextSequence, .update, at: second), order: order, at: now)
        case ["worse"]: file.add(message(file.nextSequence, .update, at: second, isWorse: true), order: order, at: now)
        case ["worse", "alert"]: file.add(message(file.nextSequence, .alert, at: second, isWorse: true), order: order, at: now)
        case ["cancel"]: file.add(message(file.nextSequence, .cancel, at: second), order: order, at: now)
        case ["stop"]: _ = file.stop()
        case ["hand"]: file.acknowledgedByHand()
        case ["again"]: _ = file.askAgain(after: bound, order: order, at: now)
        case [words[0], "knows"]: _ = file.acknowledged(message(file.nextSequence - 1).id, by: words[0])
        case [words[0], "yes"]: _ = file.acknowledged(message(0).id, by: words[0], release: release)
        default: _ = file.refused(message(0).id, by: words[0], order: order, at: now)
        }
    }

    @Test("SOS-19: who has not answered within the bound is called on, and the next of the order as well", arguments: cases)
    func table(course: Case) {
        var file = Self.opened(Self.message(0))
        for (second, event) in course.events { Self.play(event, second, &file) }
        #expect(Self.order.filter { file.lines[$0] != nil } == course.called)
    }

    @Test("SOS-32: nobody acknowledges for 10 s that the person is worse: the next of the order is called as well", arguments: worse)
    func worseUnheard(course: Case) {
        var file = Self.opened(Self.message(0))
        for (second, event) in course.events { Self.play(event, second, &file) }
        #expect(Self.order.filter { file.lines[$0] != nil } == course.called)
        if course.events.contains(where: { $0.1 == "worse alert" }) {
            let asked = file.lines.filter { $0.value.message(file.latestAlert?.id ?? Self.message(0).id) != nil }.keys.sorted()
            #expect(asked == course.called.sorted())
        }
    }

    @Test("SOS-32: the next one was released when the call was taken: it is called anew under another name, and who goes keeps the call")
    func worseAfterRelease() throws {
        var file = Self.opened(Self.message(0))
        for (second, event) in [(30.0, "time"), (31, "milan yes"), (40, "worse")] { Self.play(event, second, &file) }
        #expect(file.lines["italy"]?.current?.id == Self.message(0).id.release)
        var other = file
        let called = file.escalate(
            after: Self.bound, order: ["milan", "italy"], at: SupervisionStory.at(50), repetition: Self.repetition)
        let again = try #require(Self.message(0).id.repetition)
        #expect(called == "italy" && file.isTaken && file.latestAlert?.id == again)
        #expect(file.lines["milan"]?.current?.kind == .update, "it is told on that the person is worse, and not called again")
        #expect(file.lines["italy"]?.messages.map(\.id.sequence) == [0, 1_000_000, 500_001, 1])
        // The other dispatcher hears of the attempt and comes to the same.
        other.add(try #require(Self.repetition(Self.message(0), 2)), order: ["milan", "italy"], at: SupervisionStory.at(50))
        other.join("italy", at: SupervisionStory.at(50))
        #expect(other.isTaken && other.lines["milan"] == file.lines["milan"])
        #expect(other.lines["italy"]?.messages.map(\.id) == file.lines["italy"]?.messages.map(\.id))
        #expect(DispatchMachine(file.decided, lines: file.lines) == file, "what a restart reads is the same")
        // It takes the call as well: both go, nobody is released.
        _ = file.acknowledged(again, by: "italy", release: Self.release)
        #expect(file.lines["milan"]?.current?.kind == .update && file.lines["italy"]?.current?.kind == .update)
        _ = file.acknowledged(Self.message(1).id, by: "italy")
        let late = file.escalate(after: Self.bound, order: Self.order, at: SupervisionStory.at(500), repetition: Self.repetition)
        #expect(late == nil, "somebody knows")
    }

    @Test(
        "SOS-39: who had taken the call and rejects it has rejected its repetition too: the other who was called anew goes on being called")
    func worseThenRejected() {
        var file = Self.opened(Self.message(0))
        for (second, event) in [(30.0, "time"), (31, "milan yes"), (40, "worse"), (50, "time"), (52, "milan no")] {
            Self.play(event, second, &file)
        }
        #expect(!file.isTaken && file.lines["milan"]?.current == nil)
        #expect(file.lines["italy"]?.current?.kind == .alert && file.lines["default"] != nil, "the next of the order at once, too")
    }

    @Test("The next one gets the whole call as it stands; whoever was called first goes on being called, across a restart too")
    func wholeCall() {
        var file = Self.opened(Self.message(0), Self.message(1, .update, at: 1))
        let next = file.escalate(after: Self.bound, order: Self.order, at: SupervisionStory.at(31))
        #expect(next == "italy")
        #expect(file.lines["italy"]?.messages.map(\.id.sequence) == [0, 1])
        #expect(file.lines["italy"]?.current?.createdAt == SupervisionStory.at(31))
        #expect(file.lines["milan"]?.current?.id.sequence == 0)
        // What a restart reads: it is known when each was asked.
        var again = DispatchMachine(file.decided, lines: file.lines)
        #expect(again == file && again.escalation(after: Self.bound) == SupervisionStory.at(61))
        let early = again.escalate(after: Self.bound, order: Self.order, at: SupervisionStory.at(60))
        #expect(early == nil)
        let last = again.escalate(after: Self.bound, order: Self.order, at: SupervisionStory.at(61))
        #expect(last == "default")
    }

    @Test("One acceptance settles it: whoever was called in vain gets a release to acknowledge, under a name that both dispatchers derive")
    func taken() {
        var file = Self.opened(Self.message(0))
        for second in [30.0, 60] { Self.play("time", second, &file) }
        let isNew = file.acknowledged(Self.message(0).id, by: "italy", release: Self.release)
        #expect(isNew && file.isTaken && !file.isOver && file.isSettled)
        for other in ["milan", "default"] {
            #expect(file.lines[other]?.messages.map(\.end) == [.stopped, nil])
            #expect(file.lines[other]?.current?.id == Self.message(0).id.release)
            #expect(file.lines[other]?.current?.body == [200, 1], "its number comes behind everything that was decided")
        }
        #expect(file.lines["italy"]?.messages.map(\.end) == [.acknowledged])
        // What is decided from now on concerns the one that has it.
        file.add(Self.message(1, .update, at: 70), order: Self.order, at: SupervisionStory.at(70))
        #expect(file.nextSequence == 2 && file.decided.map(\.id.sequence) == [0, 1])
        #expect(file.lines.filter { $0.value.message(Self.message(1).id) != nil }.keys.sorted() == ["italy"])
        let acknowledged = [
            file.acknowledged(Self.message(0).id.release, by: "milan"), file.acknowledged(Self.message(0).id.release, by: "milan"),
        ]
        #expect(acknowledged == [true, false])
        let passing = file.refused(Self.message(0).id.release, by: "default", order: Self.order, at: SupervisionStory.at(71))
        #expect(passing == .nothing)
        #expect(file.lines["milan"]?.current == nil && file.lines["default"]?.current == nil)
        #expect(DispatchMachine(file.decided, lines: file.lines) == file)
    }

    @Test("SOS-39: whoever was released is called anew under another name when the taker rejects, with what stood beside the call")
    func rejected() throws {
        var file = Self.opened(Self.message(0), Self.message(1, .update, at: 1))
        Self.play("time", 30, &file)
        _ = file.acknowledged(Self.message(0).id, by: "milan", release: Self.release)
        #expect(file.lines["italy"]?.current?.id == Self.message(0).id.release)
        let passing = file.refused(
            Self.message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(40), repetition: Self.repetition)
        #expect(passing == .on(to: "italy"), "it stands before the one that was never asked")
        let again = try #require(Self.message(0).id.repetition)
        #expect(file.latestAlert?.id == again && file.latestAlert?.body == [100, 2] && file.nextSequence == 2)
        #expect(file.lines["italy"]?.messages.map(\.end) == [.stopped, .superseded, nil, nil], "alert, release, the call anew, the update")
        #expect(file.lines["milan"]?.message(again)?.end == .refused, "who has rejected is not asked under the new name")
        #expect(file.asked == ["milan", "italy"])
        let next = file.escalate(after: Self.bound, order: Self.order, at: SupervisionStory.at(70))
        #expect(next == "default")
        _ = file.acknowledged(again, by: "default", release: Self.release)
        #expect(file.isTaken && file.lines["italy"]?.current?.id == again.release)
        #expect(file.lines["italy"]?.current?.id.isRelease == true)
        // And once more.
        _ = file.refused(again, by: "default", order: Self.order, at: SupervisionStory.at(80), repetition: Self.repetition)
        #expect(file.lines["italy"]?.current?.id == again.repetition)
        #expect(DispatchMachine(file.decided, lines: file.lines) == file, "what a restart reads is the same")
    }

    @Test("SOS-39: two that have taken it: the rejection of one opens nothing")
    func rejectedByOneOfTwo() {
        var file = Self.opened(Self.message(0))
        Self.play("time", 30, &file)
        _ = file.acknowledged(Self.message(0).id, by: "italy", release: Self.release)
        _ = file.acknowledged(Self.message(0).id, by: "milan", release: Self.release)
        let passing = file.refused(Self.message(0).id, by: "milan", order: Self.order, at: SupervisionStory.at(40))
        #expect(passing == .nothing && file.isTaken)
    }

    @Test("SOS-15: who has taken the call is never released: of two that take it at once both go, and both hear how it goes on")
    func both() {
        var file = Self.opened(Self.message(0))
        Self.play("time", 30, &file)
        _ = file.acknowledged(Self.message(0).id, by: "italy", release: Self.release)
        let second = file.acknowledged(Self.message(0).id, by: "milan", release: Self.release)
        #expect(second)
        #expect(file.lines["milan"]?.messages.map(\.end) == [.acknowledged, .stopped])
        #expect(file.lines["italy"]?.messages.map(\.end) == [.acknowledged])
        file.released(
            "milan", by: OutboxMessage(id: Self.message(0).id.release, kind: .cancel, body: [7], createdAt: SupervisionStory.at(31)))
        #expect(file.lines["milan"]?.current == nil, "nor by the other dispatcher's word")
        file.add(Self.message(1, .cancel, at: 70), order: Self.order, at: SupervisionStory.at(70))
        #expect(["italy", "milan"].allSatisfy { file.lines[$0]?.current?.id.sequence == 1 })
    }

    @Test("Called off and taken up again, the call goes to the one that had it first, and by time to those who were released")
    func again() {
        var file = Self.opened(Self.message(0))
        Self.play("time", 30, &file)
        _ = file.acknowledged(Self.message(0).id, by: "italy", release: Self.release)
        file.add(Self.message(1, .cancel, at: 50), order: Self.order, at: SupervisionStory.at(50))
        file.add(Self.message(2, .alert, at: 60), order: Self.order, at: SupervisionStory.at(60))
        #expect(file.lines["milan"]?.message(Self.message(2).id) == nil)
        #expect(file.lines["italy"]?.current?.id.sequence == 2)
        let next = file.escalate(after: Self.bound, order: Self.order, at: SupervisionStory.at(90))
        #expect(next == "milan")
        #expect(file.lines["milan"]?.current?.id.sequence == 2, "the release of the first call does not stand before the second one")
    }

    @Test("A release of the other dispatcher's takes the place of one that was not sent from here, and of none that was")
    func adopted() {
        var file = Self.opened(Self.message(0))
        Self.play("time", 30, &file)
        _ = file.acknowledged(Self.message(0).id, by: "italy", release: Self.release)
        let theirs = OutboxMessage(id: Self.message(0).id.release, kind: .cancel, body: [7], createdAt: SupervisionStory.at(31))
        file.released("milan", by: theirs)
        #expect(file.lines["milan"]?.current?.body == [7])
        file.attempted(theirs.id, by: "milan", at: SupervisionStory.at(32))
        file.released("milan", by: Self.release(Self.message(0), 3) ?? theirs)
        #expect(file.lines["milan"]?.current?.body == [7] && file.lines["milan"]?.messages.count == 2)
    }

    @Test(
        "Whatever happens in whatever order: a call is called until it is taken, nobody is left in the dark, no taker is released",
        arguments: 0..<40 as Range<UInt64>)
    func property(seed: UInt64) {
        var dice = SimulationDice(seed: seed)
        for _ in 0..<25 {
            var course = Course()
            for _ in 0..<60 { course.step(&dice) }
            #expect(course.faults == [], "seed \(seed)")
        }
    }
}

/// One emergency under random events, and what must hold after each.
private struct Course {
    var file = DispatchMachine()
    var now = 0.0
    var faults: [String] = []
    private var isCalledOff = false

    init() {
        file.add(EscalationTests.message(0), order: EscalationTests.order, at: SupervisionStory.at(0))
    }

    mutating func step(_ dice: inout SimulationDice) {
        now += Double(dice.between(0, 12_000)) / 1000
        let called = file.lines.keys.sorted()
        let one = dice.one(of: called)
        switch dice.between(0, 11) {
        case 0, 1: acknowledge(one, &dice)
        case 2:
            let id = dice.one(of: file.lines[one]?.messages ?? []).id
            _ = file.refused(id, by: one, order: EscalationTests.order, at: time, repetition: EscalationTests.repetition)
        case 3 where !isCalledOff: decide(.update, isWorse: dice.between(0, 1) == 0)
        case 4 where !isCalledOff:
            decide(.cancel)
            isCalledOff = true
        case 5 where isCalledOff:
            decide(.alert)
            isCalledOff = false
        case 6: file = DispatchMachine(file.decided + file.lines.values.flatMap(\.messages).filter(\.id.isRelease), lines: file.lines)
        case 7: for (integrator, outbox) in file.lines { if let id = outbox.current?.id { file.attempted(id, by: integrator, at: time) } }
        default: break
        }
        _ = file.escalate(
            after: EscalationTests.bound, order: EscalationTests.order, at: time, repetition: EscalationTests.repetition)
        _ = file.askAgain(after: EscalationTests.bound, order: EscalationTests.order, at: time)
        check()
    }

    private var time: Timestamp { SupervisionStory.at(now) }

    private mutating func decide(_ kind: DispatchMessage.Kind, isWorse: Bool = false) {
        file.add(EscalationTests.message(file.nextSequence, kind, at: now, isWorse: isWorse), order: EscalationTests.order, at: time)
    }

    private mutating func acknowledge(_ integrator: String, _ dice: inout SimulationDice) {
        guard let message = file.lines[integrator]?.messages.isEmpty == false ? dice.one(of: file.lines[integrator]?.messages ?? []) : nil
        else {
            return
        }
        let alert = file.latestAlert
        let waiting = file.lines.filter { $0.key != integrator && $0.value.messages.contains { $0.id == alert?.id && $0.end == nil } }.keys
        let isNew = file.acknowledged(message.id, by: integrator, release: EscalationTests.release)
        guard isNew, let alert, message.id == alert.id else { return }
        for other in waiting where file.lines[other]?.message(alert.id.release) == nil { faults.append("\(other) is not told") }
    }

    private mutating func check() {
        guard let alert = file.latestAlert else { return faults.append("the alert is lost") }
        let calls = file.lines.compactMapValues { $0.message(alert.id) }
        if !isCalledOff, !file.isTaken {
            let resting = calls.values.filter { $0.end == .refused }.compactMap(\.refusedAt).min().map { $0 + EscalationTests.bound > time }
            if !calls.values.contains(where: { $0.end == nil }), resting != true || file.isOver { faults.append("nobody is called") }
            let isDue = file.escalation(after: EscalationTests.bound).map { $0 <= time } ?? false
            // One at a time: another step asks the next.
            if isDue, file.asked.count < EscalationTests.order.count { faults.append("the next one is not called") }
        }
        for (integrator, call) in calls where call.end == .acknowledged && file.lines[integrator]?.current?.id == alert.id.release {
            faults.append("\(integrator) has taken the call and is released")
        }
        for (integrator, outbox) in file.lines where Set(outbox.messages.map(\.id)).count != outbox.messages.count {
            faults.append("\(integrator) has a message twice")
        }
        if file.decided.contains(where: \.id.isRelease) { faults.append("a release counts as decided") }
    }
}
