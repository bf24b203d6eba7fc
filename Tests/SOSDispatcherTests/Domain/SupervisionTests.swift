// Table SOS-S, row by row, and what the table leaves open.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Supervision")
struct SupervisionTests {
    // MARK: The rows of the table

    @Test("SOS-11, SOS-15: a critical entry alerts, is confirmed after 3 s and dispatched at t0 + 3.5 s")
    func sustained() {
        var story = SupervisionStory()
        story.heart(10, 30)
        #expect(story.machine.state.stage == .alerted)
        story.pass(20)
        #expect(story.list == ["10.000 opened heart-rate", "13.000 confirmed heart-rate", "13.500 dispatched heart-rate"])
        #expect(story.machine.state.stage == .dispatching)
    }

    @Test("SOS-12: back in range before 3 s is transient and calls nobody", arguments: [0.001, 1, 2.999])
    func transient(after seconds: Double) {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.heart(10 + seconds, 80)
        story.heart(20, 80)
        #expect(story.list.map { $0.split(separator: " ")[1] } == ["opened", "transient"])
        #expect(story.machine.state.stage == .monitoring)
    }

    @Test("SOS-12: exactly 3 s after t0 is too late to be transient, the call is due even if values recover")
    func recoveredTooLate() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.heart(13, 80)
        story.pass(14)
        #expect(story.list == ["10.000 opened heart-rate", "13.000 confirmed heart-rate", "13.500 dispatched heart-rate"])
    }

    @Test("SOS-14: I am fine mutes the episode, while alerted and while confirmed", arguments: [1, 3.2, 3.499])
    func fine(after seconds: Double) {
        var story = SupervisionStory()
        story.heart(10, 130)
        let outcome = story.answer(10 + seconds, .fine)
        #expect(!outcome.alreadyDispatched)
        for second in stride(from: 10 + seconds.rounded(.up), to: 60, by: 5) { story.heart(second, 131) }
        #expect(story.list.last?.hasSuffix("muted heart-rate") == true)
        #expect(story.machine.state.stage == .monitoring)
        #expect(!story.machine.emergencyRuns)
    }

    @Test("SOS-14: I am fine at exactly t0 + 3.5 s comes after the call and cancels it")
    func fineTooLate() {
        var story = SupervisionStory()
        story.heart(10, 130)
        let outcome = story.answer(13.5, .fine)
        #expect(outcome.alreadyDispatched)
        #expect(story.list.suffix(2) == ["13.500 dispatched heart-rate", "13.500 cancelled heart-rate"])
    }

    @Test("SOS-14: I need help calls at once")
    func help() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.answer(10.4, .help)
        story.pass(20)
        #expect(story.list == ["10.000 opened heart-rate", "10.400 dispatched heart-rate"])
    }

    @Test("Help of somebody who is not supervised is refused, and nothing happens")
    func helpOfAStranger() {
        var story = SupervisionStory(subscribed: false)
        #expect(story.answer(1, .help).refusal?.code == .notFound)
        #expect(story.actions.isEmpty)
    }

    @Test("SOS-19: the acknowledgement ends the dispatching; a second one changes nothing")
    func acknowledged() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.acknowledge(14)
        story.acknowledge(15)
        #expect(story.list.last == "14.000 acknowledged heart-rate")
        #expect(story.machine.state.stage == .dispatched)
    }

    @Test("SOS-21: after the call, an abort stands down, whether acknowledged or not", arguments: [true, false])
    func standDown(acknowledged: Bool) {
        var story = SupervisionStory()
        story.heart(10, 130)
        if acknowledged { story.acknowledge(13.6) }
        let outcome = story.answer(15, .falseAlarm)
        #expect(outcome.alreadyDispatched)
        #expect(story.list.last == "15.000 cancelled heart-rate")
        story.heart(16, 131)
        #expect(story.machine.state.stage == .stoodDown)
        story.heart(17, 100)
        #expect(story.list.last == "17.000 closed heart-rate")
        #expect(story.machine.state.stage == .monitoring)
    }

    @Test("SOS-25: 30 s without vital data suspend, data resume")
    func silence() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(39.999)
        #expect(story.machine.state.stage == .monitoring)
        story.pass(40)
        #expect(story.machine.state.stage == .suspended)
        story.pass(4000)
        story.heart(5000, 80)
        #expect(story.list == ["40.000 signal-lost heart-rate", "340.000 silence-contacts -", "5000.000 signal-returned heart-rate"])
    }

    @Test("SOS-25: a source that declared a long interval may be silent for three of them")
    func silenceOfASlowSource() {
        var story = SupervisionStory()
        story.upload(10, [.heartRate: 80], interval: .seconds(60))
        story.pass(189.999)
        #expect(story.machine.state.stage == .monitoring)
        story.pass(190)
        #expect(story.list == ["190.000 signal-lost heart-rate"])
    }

    @Test("SOS-25: silence while alerted goes on to the call")
    func silenceWhileAlerted() {
        var rules = SupervisionRules()
        (rules.signalLost, rules.sustain, rules.dispatchAt) = (.seconds(2), .seconds(3), .milliseconds(3500))
        var story = SupervisionStory(rules)
        story.heart(1, 30)
        story.pass(60)
        #expect(story.list == ["1.000 opened heart-rate", "4.000 confirmed heart-rate", "4.500 dispatched heart-rate"])
    }

    @Test("SOS-25: the first critical entry after a silence alerts at once")
    func criticalAfterSilence() {
        var story = SupervisionStory()
        story.pass(100)
        story.heart(200, 20)
        #expect(story.list == ["30.000 signal-lost -", "200.000 signal-returned -", "200.000 opened heart-rate"])
    }

    @Test("SOS-04: nothing is compared while paused, and the pause is no silence")
    func pause() {
        var story = SupervisionStory()
        #expect(story.pause(1).refusal == nil)
        story.heart(2, 20)
        story.pass(1000)
        story.resume(1000)
        #expect(story.list.isEmpty)
        story.heart(1001, 20)
        #expect(story.list == ["1001.000 opened heart-rate"])
    }

    @Test("SOS-04, SOS-25: whoever resumes without a device is warned again, and so is whoever subscribes anew")
    func warnedAgain() {
        var story = SupervisionStory()
        story.pass(100)
        story.pause(100)
        story.resume(200)
        story.pass(300)
        story.unsubscribe(300)
        story.subscribe(400)
        story.pass(500)
        #expect(story.list == ["30.000 signal-lost -", "230.000 signal-lost -", "430.000 signal-lost -"])
    }

    @Test("SOS-04: a pause during an emergency is refused")
    func pauseRefused() {
        var story = SupervisionStory()
        story.heart(1, 20)
        #expect(story.pause(2).refusal?.code == .conflict)
        story.pass(9)
        #expect(story.machine.state.stage == .dispatching)
    }

    @Test("SOS-03: unsubscribing ends supervision at once")
    func unsubscribe() {
        var story = SupervisionStory()
        story.heart(1, 80)
        story.unsubscribe(2)
        story.heart(3, 20)
        story.pass(1000)
        #expect(story.actions.isEmpty)
        #expect(story.machine.state.stage == .off)
    }

    @Test("SOS-03: a running emergency is completed after unsubscribing")
    func unsubscribeInEmergency() {
        var story = SupervisionStory()
        story.heart(1, 20)
        story.unsubscribe(2)
        story.heart(2.5, 80)
        story.acknowledge(6)
        #expect(
            story.list == [
                "1.000 opened heart-rate", "4.000 confirmed heart-rate", "4.500 dispatched heart-rate",
                "6.000 acknowledged heart-rate", "6.000 closed heart-rate",
            ])
        #expect(story.machine.state.stage == .off)
    }

    // MARK: Mute and re-arm

    @Test("SOS-14: another critical parameter alerts in spite of the mute")
    func rearmsWhenWorse() {
        var story = SupervisionStory(own: [.oxygenSaturation: Bounds(low: 85, high: nil)])
        story.heart(1, 20)
        story.answer(2, .fine)
        story.upload(3, [.heartRate: 20, .oxygenSaturation: 80])
        #expect(story.list.last == "3.000 opened oxygen-saturation")
    }

    @Test("SOS-35: help while muted is an emergency of its own")
    func helpWhileMuted() {
        var story = SupervisionStory()
        story.heart(1, 20)
        story.answer(2, .fine)
        story.answer(9, .help)
        #expect(story.list.suffix(2) == ["9.000 opened help", "9.000 dispatched help"])
    }

    @Test("After a stand-down another critical parameter opens a new emergency")
    func worseAfterStandDown() {
        var story = SupervisionStory(own: [.oxygenSaturation: Bounds(low: 85, high: nil)])
        story.heart(1, 20)
        story.answer(5, .falseAlarm)
        story.upload(6, [.heartRate: 20, .oxygenSaturation: 80])
        #expect(story.list.suffix(2) == ["6.000 closed heart-rate", "6.000 opened oxygen-saturation"])
    }

    @Test("SOS-24: however many entries and parameters are critical, one episode has one emergency; a new parameter updates it")
    func oneEmergency() {
        var story = SupervisionStory(own: [.oxygenSaturation: Bounds(low: 85, high: nil)])
        for second in 1...30 { story.upload(Double(second), [.heartRate: 20, .oxygenSaturation: second < 10 ? 95 : 70]) }
        #expect(story.list.count { $0.contains("opened") } == 1)
        #expect(story.actions.compactMap(\.worse).map(\.breaches) == [[Breach(.metric(.oxygenSaturation), .below)]])
    }

    // MARK: Which entries count

    @Test("SOS-09: an entry older than 60 s on arrival starts no alert, ends none and is no sign of life")
    func backlog() {
        var story = SupervisionStory()
        let old = Sample(type: .heartRate, at: SupervisionStory.at(-50.001), value: 20)
        story.upload(10, [old])
        story.pass(30)
        #expect(story.list == ["10.000 late-critical heart-rate", "30.000 signal-lost -"])
        story.heart(40, 20)
        story.upload(41, [Sample(type: .heartRate, at: SupervisionStory.at(-30), value: 80)])
        story.pass(50)
        #expect(story.list.last == "43.500 dispatched heart-rate")
    }

    @Test("SOS-09: an entry of exactly 60 s counts")
    func ageIsInclusive() {
        var story = SupervisionStory()
        story.upload(10, [Sample(type: .heartRate, at: SupervisionStory.at(-50), value: 20)])
        #expect(story.list == ["10.000 opened heart-rate"])
    }

    @Test("SOS-09: an ingest clock that was set back hides no critical entry")
    func clockSetBack() {
        var story = SupervisionStory()
        story.heart(10_000, 80)
        story.upload(10_001, received: 6400, [Sample(type: .heartRate, at: SupervisionStory.at(6400), value: 20)])
        #expect(story.list.last == "10001.000 opened heart-rate")
        // Not even where the machine's own time line stands still until that clock has caught up.
        var other = SupervisionStory()
        other.heart(10_000, 80)
        other.upload(6400, [Sample(type: .heartRate, at: SupervisionStory.at(6400), value: 20)])
        #expect(other.list.last == "10000.000 opened heart-rate")
    }

    @Test("A harmless entry that arrives late does not hide a newer critical one")
    func lateNewsIsOld() {
        var story = SupervisionStory()
        story.heart(10, 20)
        story.upload(11, [Sample(type: .heartRate, at: SupervisionStory.at(9), value: 80)])
        story.pass(20)
        #expect(story.list.last == "13.500 dispatched heart-rate")
    }

    @Test("A clock ahead does not hide what comes after it was set right")
    func futureEntries() {
        var story = SupervisionStory()
        story.upload(10, [Sample(type: .heartRate, at: SupervisionStory.at(60), value: 80)])
        story.heart(11, 20)
        story.heart(12, 80)
        #expect(story.list == ["11.000 opened heart-rate", "12.000 transient heart-rate"])
    }

    @Test("An upload is one instant: critical and harmless again inside it is transient at once")
    func uploadIsOneInstant() {
        var story = SupervisionStory()
        story.upload(
            10,
            [
                Sample(type: .heartRate, at: SupervisionStory.at(1), value: 20),
                Sample(type: .heartRate, at: SupervisionStory.at(2), value: 80),
            ])
        #expect(story.list == ["10.000 opened heart-rate", "10.000 transient heart-rate"])
        #expect(story.actions.first?.episode?.trigger.at == SupervisionStory.at(1))
    }

    @Test("Entries that nobody watches neither alarm nor keep awake")
    func unwatched() {
        var story = SupervisionStory()
        for second in stride(from: 5.0, to: 40, by: 5) { story.upload(second, [.distance: 1, .cuffBloodPressureMaxForTests: 399]) }
        #expect(story.list == ["30.000 signal-lost -"])
    }

    @Test("New bounds count from the next upload on")
    func newBounds() {
        var story = SupervisionStory()
        story.heart(10, 115)
        story.subscribe(11, own: [.heartRate: Bounds(low: nil, high: 110)])
        #expect(story.list.isEmpty)
        story.heart(12, 115)
        #expect(story.list == ["12.000 opened heart-rate"])
    }
}

extension Metric {
    static let cuffBloodPressureMaxForTests = Metric(code: "cuff-blood-pressure-max").unsafelyUnwrapped
}
