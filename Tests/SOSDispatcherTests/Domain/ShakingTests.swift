// Repetitive shaking motion as in a seizure.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Supervision, shaking")
struct ShakingTests {
    private static func calling() -> SupervisionRules {
        var rules = SupervisionRules()
        rules.seizureCallsAmbulance = true
        return rules
    }

    @Test("SOS-23: shaking alerts the contacts of whoever switched it on, at once; no ambulance is called by default")
    func contacts() {
        var story = SupervisionStory()
        story.shake(5)
        #expect(story.actions.isEmpty, "not switched on")
        story.prefer(6, shaking: true)
        story.shake(10, lasting: 12)
        #expect(story.actions.map(\.kind) == [.shakingAlarm] && story.actions.map(\.since) == [SupervisionStory.at(10)])
        #expect(!story.machine.emergencyRuns)
        story.prefer(2000, shaking: false)
        story.shake(2001)
        #expect(story.actions.count { $0.kind == .shakingAlarm } == 1)
    }

    @Test("SOS-23, SOS-24: reports that follow each other are one alarm; after 600 s without one the next is another")
    func oneAlarm() {
        var story = SupervisionStory()
        story.prefer(0, shaking: true)
        for second in stride(from: 10.0, through: 1000, by: 5) { story.shake(second) }
        #expect(story.actions.count { $0.kind == .shakingAlarm } == 1)
        story.shake(1599.999)
        #expect(story.actions.count { $0.kind == .shakingAlarm } == 1)
        story.shake(2200)
        #expect(story.actions.count { $0.kind == .shakingAlarm } == 2)
    }

    @Test("SOS-09, SOS-23: shaking that is older than 60 s on arrival alarms nobody, nor does an impossible one, nor one while paused")
    func passedOver() {
        var story = SupervisionStory()
        story.prefer(0, shaking: true)
        story.upload(100, [Sample(type: .shaking, at: SupervisionStory.at(39.999), value: 5)])
        story.shake(101, lasting: -1)
        story.shake(101, lasting: .nan)
        #expect(!story.actions.contains { $0.kind == .shakingAlarm })
        story.upload(102, [Sample(type: .shaking, at: SupervisionStory.at(42), value: nil)])
        #expect(story.actions.contains { $0.kind == .shakingAlarm }, "exactly 60 s counts, and how long it lasted need not be known")
        story.pause(1000)
        story.shake(1001)
        #expect(story.actions.count { $0.kind == .shakingAlarm } == 1)
    }

    @Test("SOS-25: shaking is no sign of life: vital signs are")
    func noSignOfLife() {
        var story = SupervisionStory()
        story.prefer(0, shaking: true)
        story.shake(29)
        story.pass(31)
        #expect(story.list == ["30.000 signal-lost -"])
        story.shake(2000)
        #expect(story.machine.state.stage == .suspended && story.actions.last?.kind == .shakingAlarm)
    }

    @Test("SOS-22, SOS-23: I am fine tells the contacts that it was nothing, once")
    func calledOff() {
        var story = SupervisionStory()
        story.prefer(0, shaking: true)
        story.heart(9, 80)
        story.shake(10)
        story.answer(12, .fine)
        story.answer(13, .falseAlarm)
        #expect(story.actions.map(\.kind) == [.shakingAlarm, .shakingCalledOff])
        story.answer(3000, .fine)
        #expect(story.actions.count { $0.kind == .shakingCalledOff } == 1)
    }

    @Test("SOS-23, CON-31: by option shaking calls an ambulance too, with the prompt before it; normal values do not make it transient")
    func ambulance() {
        var story = SupervisionStory(Self.calling())
        story.prefer(0, shaking: true)
        story.heart(9, 80)
        story.shake(10, lasting: 12)
        story.heart(11, 80)
        story.pass(20)
        #expect(story.list == ["10.000 opened shaking", "13.000 confirmed shaking", "13.500 dispatched shaking"])
        #expect(story.actions.first?.kind == .shakingAlarm)
        #expect(story.machine.state.episode?.trigger.kind == .shaking)
        story.acknowledge(20)
        for second in stride(from: 30.0, through: 800, by: 10) { story.heart(second, 80) }
        #expect(story.list.last == "730.000 closed shaking", "600 s after the last report all is normal, 120 s later it is closed")
    }

    @Test("SOS-14, SOS-23: I am fine mutes the shaking that goes on; a heart that fails alerts all the same")
    func muted() {
        var story = SupervisionStory(Self.calling())
        story.prefer(0, shaking: true)
        story.heart(9, 80)
        story.shake(10)
        story.answer(12, .fine)
        story.shake(15)
        story.heart(16, 80)
        story.shake(20)
        #expect(story.list == ["10.000 opened shaking", "12.000 muted shaking"])
        story.heart(21, 30)
        #expect(story.list.last == "21.000 opened heart-rate")
    }

    @Test("SOS-24: shaking in a running emergency is one more parameter of it, not a second emergency")
    func inAnEmergency() {
        var story = SupervisionStory(Self.calling())
        story.prefer(0, shaking: true)
        story.heart(10, 30)
        story.pass(14)
        story.shake(15)
        #expect(story.list.count { $0.contains("opened") } == 1)
        #expect(story.actions.last?.worse?.breaches == [Breach(.metric(.shaking), .above)])
    }
}
