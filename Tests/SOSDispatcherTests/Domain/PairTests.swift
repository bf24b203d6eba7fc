// What the two dispatchers decide without each other's help: who waits, which settings win, which emergency they agree on.

import Contracts
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Two dispatchers")
struct PairTests {
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)
    private static let emergency = EmergencyID.random()

    private static func message(_ sequence: Int = 0, _ kind: DispatchMessage.Kind = .alert, at created: Timestamp = start) -> OutboxMessage
    {
        OutboxMessage(id: MessageID(emergency: emergency, sequence: sequence), kind: kind, body: [1], createdAt: created)
    }

    private static func attempt(_ sequence: Int, _ kind: DispatchMessage.Kind = .alert) -> PairFact {
        .attempted(
            MadeAttempt(
                person: .random(), emergency: emergency, sequence: sequence, kind: kind, integrator: "desk", body: nil, at: start))
    }

    @Test("SOS-15: the second sends 400 ms after the first should have, later after each attempt that it hears, never after 4.95 s")
    func lead() {
        let first = PairState(.first, lead: PairState.lead, retry: .seconds(1))
        #expect(first.mayAttempt(Self.message(), to: "desk") == Self.start)
        let second = PairState(.second, lead: PairState.lead, retry: .seconds(1))
        #expect(second.mayAttempt(Self.message(), to: "desk") == Self.start + .milliseconds(400))
        second.note(Self.attempt(0), at: Self.start + .milliseconds(5))
        #expect(second.mayAttempt(Self.message(), to: "desk") == Self.start + .milliseconds(1405))
        // Of another emergency service nothing was heard.
        #expect(second.mayAttempt(Self.message(), to: "other") == Self.start + .milliseconds(400))
        #expect(PairState.lead(dispatchAt: .seconds(3.5)) == .milliseconds(400))
        #expect((.milliseconds(49)...(.milliseconds(51))).contains(PairState.lead(dispatchAt: .seconds(4.9))))
        second.hold(until: Self.start + .seconds(9))
        #expect(second.mayAttempt(Self.message(), to: "desk") == Self.start + .seconds(9))
    }

    @Test("SOS-24: a number that the other side has given to a message of another kind is not given again")
    func numbers() {
        let desk = PairState(.first, lead: PairState.lead, retry: .seconds(1))
        #expect(desk.number(of: .alert, in: Self.emergency, from: 0) == 0)
        desk.note(Self.attempt(0))
        desk.note(Self.attempt(1, .update))
        #expect(desk.number(of: .alert, in: Self.emergency, from: 0) == 0)
        #expect(desk.number(of: .update, in: Self.emergency, from: 1) == 1)
        #expect(desk.number(of: .cancel, in: Self.emergency, from: 1) == 2)
    }

    @Test(
        "SOS-39: rejected after it was taken, and then the other side's older acceptance is heard: it stays rejected until it is taken anew"
    )
    func olderAcceptance() {
        let desk = PairState(.first, lead: PairState.lead, retry: .seconds(1))
        func word(_ result: Acknowledgement.Result, _ after: Int64) -> PairFact {
            let word = Acknowledgement(messageId: "\(Self.message().id)", result: result, ackId: "word", reason: nil)
            return .acknowledged(
                TakenMessage(person: .random(), integrator: "desk", acknowledgement: word, at: Self.start + .seconds(after)))
        }
        desk.note(word(.rejected, 20))
        desk.note(word(.accepted, 10))
        #expect(desk.acknowledgement(of: Self.message().id, by: "desk") == nil)
        desk.note(word(.accepted, 30))
        #expect(desk.acknowledgement(of: Self.message().id, by: "desk") != nil)
        // A rejection counts whatever the clocks say: one call too many, never one too few.
        desk.note(word(.rejected, 5))
        #expect(desk.acknowledgement(of: Self.message().id, by: "desk") == nil)
    }

    @Test("The latest settings win on both sides, whatever their clocks say; at the same instant the first's")
    func versions() {
        let (first, second) = (
            SettingsVersion(at: Self.start, by: .first, after: .none), SettingsVersion(at: Self.start, by: .second, after: .none)
        )
        #expect(second < first)
        #expect(first < SettingsVersion(at: Self.start - .seconds(60), by: .second, after: first))
        #expect(second < SettingsVersion(at: Self.start - .seconds(60), by: .first, after: second))

        var subscriber = Subscriber()
        subscriber.supervision = Self.supervised().state
        let (here, there) = (
            PairState(.first, lead: PairState.lead, retry: .seconds(1)), PairState(.second, lead: PairState.lead, retry: .seconds(1))
        )
        let person = PersonID.random()
        let news = here.news(of: [person: Watched(subscriber: subscriber)], removed: [], at: Self.start)
        #expect(news.count == 1)
        #expect(there.takes(news[0]))
        #expect(!there.takes(news[0]))
        // What was heard is not told back, and nothing is told twice.
        #expect(there.news(of: [person: Watched(subscriber: subscriber)], removed: [], at: Self.start).isEmpty)
        #expect(here.news(of: [person: Watched(subscriber: subscriber)], removed: [], at: Self.start).isEmpty)
        let gone = there.news(of: [:], removed: [person], at: Self.start)
        #expect(gone.map(\.settings.isSubscribed) == [false])
        #expect(here.takes(gone[0]))
        here.keepSecret(person)
        #expect(here.news(of: [person: Watched(subscriber: subscriber)], removed: [], at: Self.start).isEmpty)
    }

    @Test("SOS-35, SOS-21: help pressed at both, of which one was told late, called again for what the person had called off since")
    func sameHelpLate() {
        var machine = Self.supervised()
        func called(_ actions: [SupervisionAction]) -> Bool { actions.contains { $0.kind == .dispatched(.asked) } }
        let pressed = Self.start + .seconds(2)
        #expect(called(machine.answered(.help, at: pressed, wall: pressed).actions))
        #expect(!called(machine.helpedElsewhere(at: Self.start + .seconds(30), wall: Self.start)))
        _ = machine.answered(.falseAlarm, at: Self.start + .seconds(40))
        #expect(!called(machine.helpedElsewhere(at: Self.start + .seconds(50), wall: Self.start)))
        // What was pressed after it is another call.
        #expect(called(machine.helpedElsewhere(at: Self.start + .seconds(60), wall: Self.start + .seconds(55))))
    }

    @Test("SOS-35: the other side told a press back that runs, and another had been made since: it called again")
    func runningPress() {
        var machine = Self.supervised()
        let pressed = Self.start + .seconds(2)
        _ = machine.answered(.help, at: pressed, wall: pressed)
        _ = machine.answered(.help, at: pressed + .seconds(60), wall: pressed + .seconds(60))
        let again = machine.helpedElsewhere(at: pressed + .seconds(90), wall: pressed)
        #expect(!again.contains { $0.kind == .dispatched(.asked) })
    }

    @Test("SOS-35: help by a device whose clock is 8 s ahead was called off: a press at the other dispatcher after that was passed over")
    func pressAfterDevice() {
        var machine = Self.supervised()
        let reported = Sample(type: .help, at: Self.start + .seconds(8), value: 1)
        let upload = Supervision.Upload(at: Self.start, receivedAt: Self.start, entries: [reported])
        #expect(machine.uploaded(upload).contains { $0.kind == .dispatched(.asked) })
        _ = machine.answered(.fine, at: Self.start + .seconds(3))
        let pressed = machine.helpedElsewhere(at: Self.start + .seconds(6), wall: Self.start + .seconds(5))
        #expect(pressed.contains { $0.kind == .dispatched(.asked) })
    }

    private static func supervised() -> Supervision {
        var machine = Supervision(rules: SupervisionRules())
        _ = machine.subscribed(own: [:], declaredInterval: nil, at: start)
        return machine
    }

    private static func upload(_ machine: inout Supervision, _ value: Double, at time: Timestamp) -> [SupervisionAction] {
        machine.uploaded(
            Supervision.Upload(at: time, receivedAt: time, entries: [Sample(type: .heartRate, at: time, value: value)]))
    }

    private static func episode(at time: Timestamp) -> Episode {
        Episode(
            trigger: Trigger(PassedBound(metric: .heartRate, side: .below, limit: 45, value: 30), at: time), t0: time,
            receivedAt: time, open: [Breach(.metric(.heartRate), .below): BreachCourse()])
    }

    @Test(
        "SOS-24, INV-15: two that began with different entries agree on the earlier one; what is long over, or their own, changes nothing")
    func agreement() {
        let theirs = Self.episode(at: Self.start + .seconds(1))
        var missed = Self.supervised()
        #expect(missed.otherOpened(theirs, at: Self.start + .seconds(2)).map(\.kind) == [.opened])
        #expect(missed.state.episode?.trigger == theirs.trigger && missed.state.episode?.t0 == theirs.t0)
        #expect(missed.state.episode?.open.values.first?.lowest == 30, "what opened it is known")
        #expect(missed.otherOpened(theirs, at: Self.start + .seconds(2)).isEmpty)
        // It goes on as if this side had heard the entry.
        #expect(missed.timePassed(to: Self.start + .seconds(5)).map(\.kind) == [.confirmed, .dispatched(.unanswered)])

        var later = Self.supervised()
        #expect(Self.upload(&later, 30, at: Self.start + .milliseconds(1500)).map(\.kind) == [.opened])
        #expect(later.otherOpened(theirs, at: Self.start + .seconds(2)).map(\.kind) == [.transient, .opened])
        #expect(later.state.episode?.trigger == theirs.trigger)

        var earlier = Self.supervised()
        _ = Self.upload(&earlier, 30, at: Self.start + .milliseconds(500))
        #expect(earlier.otherOpened(theirs, at: Self.start + .seconds(2)).isEmpty)
        #expect(earlier.state.episode?.trigger != theirs.trigger)

        var late = Self.supervised()
        #expect(late.otherOpened(theirs, at: Self.start + .seconds(4)).isEmpty)
        var stranger = Supervision(rules: SupervisionRules())
        #expect(stranger.otherOpened(theirs, at: Self.start + .seconds(2)).isEmpty)
    }

    @Test(
        "A first that was restarted asked again about what the person had answered, having heard the other's entry 64 ms after it was told of it"
    )
    func heardLaterThanTold() {
        let theirs = Self.episode(at: Self.start + .seconds(1))
        var machine = Self.supervised()
        #expect(machine.otherOpened(theirs, at: Self.start + .seconds(2)).map(\.kind) == [.opened])
        #expect(machine.answered(.fine, at: Self.start + .seconds(2)).actions.map(\.kind) == [.muted])
        let entry = Sample(type: .heartRate, at: theirs.receivedAt, value: 30)
        let heard = Supervision.Upload(at: theirs.t0 + .milliseconds(64), receivedAt: theirs.receivedAt, entries: [entry])
        #expect(machine.uploaded(heard).isEmpty)
        #expect(machine.paused(at: Self.start + .seconds(3)).refusal == nil)
    }

    private static func standing(_ story: SupervisionStory) -> [String] {
        let (state, episode) = (story.machine.state, story.machine.state.episode)
        let (at, t0) = (episode?.trigger.at.milliseconds ?? 0, episode?.t0.milliseconds ?? 0)
        return ["\(state.stage)", "\(at)", "\(t0)", "\(episode?.isKept == true)"]
    }

    @Test(
        "SOS-14, SOS-36: help after \"fine\" to a fall that the other side still asked about: this side did not call",
        arguments: [false, true])
    func helpAfterFall(isPaused: Bool) throws {
        func fallen() -> SupervisionStory {
            var story = SupervisionStory()
            story.prefer(0, shaking: false, falls: Supervision.FallWatch())
            if isPaused { story.pause(1) }
            story.upload(2, [.fall: 1])
            return story
        }
        var (here, there) = (fallen(), fallen())
        there.answer(6, .help)
        let asked = try #require(here.machine.state.fall)
        here.answer(5.9, .fine)
        #expect(here.list.last == "5.900 fall-ended fall")
        // What this side hears later counts from when it was said.
        here.pass(6.5)
        here.note(here.machine.helped(afterFine: asked, wasAsked: true, at: SupervisionStory.at(6)))
        #expect(here.list.suffix(2) == ["6.500 opened fall", "6.500 dispatched fall"])
        #expect(Self.standing(here) == Self.standing(there) && here.machine.state.stage == .dispatching)
    }

    @Test("SOS-14, SOS-35: help after a \"fine\" that closed a manual call at once: both sides stand alike, and either can call it off")
    func helpAfterClosing() throws {
        func called() -> SupervisionStory {
            var story = SupervisionStory()
            story.answer(1, .help)
            story.acknowledge(2)
            return story
        }
        // The other side hears of "fine" only after help was called for there.
        var (here, there) = (called(), called())
        there.answer(20, .help)
        here.answer(19.9, .fine)
        #expect(here.list.suffix(2) == ["19.900 cancelled help", "19.900 closed help"])
        let ended = try #require(here.actions.first { $0.listed == "cancelled" }?.episode)
        here.note(here.machine.helped(afterFine: ended, at: SupervisionStory.at(20)))
        #expect(Self.standing(here) == Self.standing(there) && here.machine.state.stage == .dispatching)
        for answered in 0..<2 {
            var story = answered == 0 ? here : there
            story.answer(29, .fine)
            #expect(story.list.suffix(2) == ["29.000 cancelled help", "29.000 closed help"])
        }
    }

    @Test("A state moves to another time line as a whole; facts survive their way over the wire")
    func wire() throws {
        var machine = Self.supervised()
        _ = Self.upload(&machine, 30, at: Self.start + .seconds(1))
        let shifted = machine.state.shifted(by: .seconds(10))
        #expect(shifted.episode?.t0 == machine.state.episode.map { $0.t0 + .seconds(10) })
        #expect(shifted.episode?.receivedAt == machine.state.episode?.receivedAt)
        #expect(shifted.sources[""]?.signals[.heartRate]?.last == machine.state.now + .seconds(10))
        let person = PersonID.random()
        let facts: [PairFact] = [
            Self.attempt(3, .cancel), .answered(GivenAnswer(person: person, emergency: Self.emergency, answer: .fine, afterMs: 1200)),
            .note(kind: "integrators", subject: nil, body: "{}"), .erased(.random(), []),
            .contact(
                ContactReply(person: person, occasion: .random(), round: 1, contact: "ctc_1", matter: .answered(.onMyWay), at: Self.start)),
            .acknowledged(
                TakenMessage(
                    person: person, integrator: "desk",
                    acknowledgement: Acknowledgement(messageId: "\(Self.emergency)-0", result: .accepted, ackId: "a", reason: nil),
                    at: Self.start)),
            .settings(
                PersonSettings(
                    person: person, version: SettingsVersion(number: 7), settings: SubscriberSettings(Subscriber()),
                    standing: .init(subscriber: Subscriber(), steady: Self.start, wall: Self.start))),
        ]
        for fact in facts { #expect(PairFact.read(try fact.encoded()) == fact) }
        #expect(PairFact.read(Array("{\"later\":{}}".utf8)) == nil)
    }

    @Test("A message that nobody has seen gives up its number to the other side's; one that was sent keeps it")
    func adoption() {
        var file = DispatchMachine([Self.message()], lines: ["desk": DispatchOutbox([Self.message()])])
        let theirs = OutboxMessage(id: Self.message().id, kind: .alert, body: [2], createdAt: Self.start)
        #expect(file.adopt(theirs)?.body == [1])
        #expect(file.decided.map(\.body) == [[2]] && file.lines["desk"]?.current?.body == [2])
        file.attempted(theirs.id, by: "desk", at: Self.start)
        #expect(file.adopt(Self.message()) == nil)
        #expect(file.decided.map(\.body) == [[2]])
    }

    @Test("NFR-05: a canary in time is ok, more than a second over its budget late, unheard or unflown missed")
    func canaries() {
        let budget = Duration.seconds(3.5)
        #expect(CanaryOutcome(after: .milliseconds(4500), budget: budget) == .ok(.milliseconds(4500)))
        #expect(CanaryOutcome(after: .milliseconds(4501), budget: budget) == .late(.milliseconds(4501)))
        #expect(CanaryOutcome(after: nil, budget: budget) == .missed)
        var counts = CanaryCounts()
        #expect(counts.availability == nil)
        for outcome in [CanaryOutcome.ok(.seconds(3)), .ok(.seconds(3)), .late(.seconds(5)), .missed] { counts.note(outcome) }
        #expect(counts.availability == 0.5)
        #expect(CanaryPlan.missed(from: Self.start, to: Self.start + .seconds(15)).isEmpty)
        #expect(CanaryPlan.missed(from: Self.start, to: Self.start + .seconds(100)).values.reduce(0, +) == 8)
        let day = CanaryPlan.missed(from: Self.start - .seconds(86_400 * 400), to: Self.start)
        #expect(day.count <= Int(CanaryPlan.keptHours) + 1)
    }
}
