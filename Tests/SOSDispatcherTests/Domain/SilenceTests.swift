// Nothing is heard of a person: the person, the contacts, and by option an ambulance; and what is no silence.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Supervision, silence and charging")
struct SilenceTests {
    private static func calling() -> SupervisionRules {
        var rules = SupervisionRules()
        rules.silenceCallsAmbulance = true
        return rules
    }

    @Test("SOS-25, CON-32: contacts are told 300 s after the person was warned, once; data that return end it")
    func contacts() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(339.999)
        #expect(story.list == ["40.000 signal-lost heart-rate"])
        story.pass(100_000)
        #expect(story.list == ["40.000 signal-lost heart-rate", "340.000 silence-contacts -"])
        #expect(story.actions.map(\.since) == [SupervisionStory.at(10), SupervisionStory.at(10)], "both name the last sign of life")
        #expect(story.machine.state.standing == .signalLost)
        story.heart(100_001, 80)
        #expect(story.list.last == "100001.000 signal-returned heart-rate")
        story.pass(200_000)
        #expect(
            story.list.suffix(2) == ["100031.000 signal-lost heart-rate", "100331.000 silence-contacts -"],
            "the next silence is another one")
    }

    @Test("SOS-34: what is measured each two hours is on demand after three gaps: it returned, and its silence says nothing any more")
    func onDemand() {
        var story = SupervisionStory()
        for second in [10.0, 7210, 14_410] { story.heart(second, 80) }
        story.pass(21_000)
        let warned = { story.list.filter { $0.hasSuffix("signal-lost heart-rate") }.count }
        #expect(warned() == 3)
        story.heart(21_610, 80)
        #expect(story.list.last == "21610.000 signal-returned heart-rate")
        #expect(story.machine.state.stage == .monitoring && story.machine.state.silences == nil)
        story.pass(100_000)
        #expect(story.list.last == "21610.000 signal-returned heart-rate")
    }

    @Test("SOS-34, SOS-25: two heart rates typed in 100 s apart do not hide that a watch of 1 s stopped: it is noticed after 30 s")
    func typedIn() {
        var story = SupervisionStory()
        for second in stride(from: 1.0, through: 200, by: 1) {
            story.upload(second, [Sample(type: .heartRate, at: SupervisionStory.at(second), value: 80)], interval: .seconds(1))
            if second == 99 || second == 199 { story.typed(second + 0.5, 72) }
        }
        #expect(story.machine.deadlines == [.metric(.heartRate): SupervisionStory.at(230)])
        story.pass(230)
        #expect(story.list == ["230.000 signal-lost heart-rate"])
        #expect(story.machine.state.standing == .signalLost)
        story.typed(240, 72)
        story.pass(531)
        #expect(story.list == ["230.000 signal-lost heart-rate", "530.000 silence-contacts -"], "a further one brings nothing back")
        #expect(story.machine.state.standing == .signalLost)
    }

    @Test("SOS-34, SOS-25: a heart rate typed in after joining does not stand for the watch that never delivered")
    func typedWhileJoining() {
        var story = SupervisionStory()
        story.typed(10, 72)
        #expect(story.machine.state.signals(by: story.machine.rules).map(\.standing).allSatisfy { $0 == .neverSeen })
        story.pass(30)
        #expect(story.list == ["30.000 signal-lost -"])
        #expect(story.machine.state.standing == .signalLost)
    }

    @Test("SOS-34, SOS-05: a critical heart rate that is typed in is called for, also where nothing else is heard")
    func typedAndCritical() {
        var story = SupervisionStory()
        story.pass(40)
        story.typed(50, 30)
        story.pass(53.5)
        #expect(
            story.list == [
                "30.000 signal-lost -", "50.000 opened heart-rate", "53.000 confirmed heart-rate", "53.500 dispatched heart-rate",
            ])
    }

    @Test("SOS-34: whose only device was removed is not protected from that moment on, though it was heard a second ago")
    func deviceRemoved() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(11)
        let (state, rules) = (story.machine.state, story.machine.rules)
        let ofNoDevice = NeededAbility.missing(in: []) { Thresholds(own: [:], rules: rules).watches($0) }
        #expect(!state.isProtected(by: rules, missing: ofNoDevice))
        #expect(state.isProtected(by: rules, missing: [.positionSource]), "the watch is there, and the place is not known")
        #expect(state.isProtected(by: rules, missing: []))
        #expect(state.isProtected(by: rules, missing: nil), "ingest does not say")
    }

    @Test("SOS-25: of whom was heard by nothing but a parameter that is no longer watched neither the person nor contacts were ever warned")
    func unwatched() {
        let oxygen: [Metric: Bounds] = [.oxygenSaturation: Bounds(low: 90, high: nil)]
        var story = SupervisionStory(own: oxygen)
        story.upload(10, [.oxygenSaturation: 97])
        story.subscribe(20)
        story.upload(25, [.oxygenSaturation: 97])
        story.pass(10_000)
        #expect(story.list == ["50.000 signal-lost -", "350.000 silence-contacts -"])
        #expect(story.machine.state.standing == .signalLost)
        story.heart(10_001, 80)
        #expect(story.list.last == "10001.000 signal-returned -" && story.machine.state.standing == .monitoring)

        story = SupervisionStory(own: oxygen)
        story.upload(10, [.oxygenSaturation: 97], interval: .seconds(60))
        story.subscribe(20)
        story.pass(10_000)
        #expect(story.list.first == "200.000 signal-lost -", "what declared a minute has three")

        story = SupervisionStory(own: oxygen)
        story.upload(10, [.oxygenSaturation: 97])
        story.subscribe(200)
        story.pass(10_000)
        #expect(
            story.list == ["40.000 signal-lost oxygen-saturation", "230.000 signal-lost -", "340.000 silence-contacts -"],
            "contacts hear of the silence that was there already")

        story = SupervisionStory(own: oxygen)
        story.upload(10, [.oxygenSaturation: 97])
        story.charge(15)
        story.subscribe(20)
        story.pass(10_000)
        #expect(story.list.isEmpty && story.machine.state.standing == .charging)
    }

    @Test("SOS-25: of whoever had their data erased and was not heard after it neither the person nor contacts were ever warned")
    func erased() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.machine.forgetMeasured(at: SupervisionStory.at(20))
        story.pass(10_000)
        #expect(story.list == ["50.000 signal-lost -", "350.000 silence-contacts -"])
        story.heart(10_001, 80)
        #expect(story.list.last == "10001.000 signal-returned -" && story.machine.state.standing == .monitoring)

        story = SupervisionStory()
        story.upload(10, [.heartRate: 80], interval: .seconds(60))
        story.machine.forgetMeasured(at: SupervisionStory.at(20))
        story.heart(100, 80)
        story.machine.forgetMeasured(at: SupervisionStory.at(101))
        story.pass(10_000)
        #expect(story.list.first == "131.000 signal-lost -", "what was heard declared nothing any more")

        story = SupervisionStory()
        story.heart(10, 80)
        story.charge(15)
        story.machine.forgetMeasured(at: SupervisionStory.at(20))
        story.pass(10_000)
        #expect(story.list.isEmpty, "off its charger it joins by itself")
    }

    @Test("SOS-25: data that return before the contacts are told spare them")
    func spared() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.heart(300, 80)
        story.pass(329)
        #expect(story.list == ["40.000 signal-lost heart-rate", "300.000 signal-returned heart-rate"])
    }

    @Test("SOS-25: by default silence calls nobody; by option it is an emergency of its own kind, named after the last entry heard")
    func ambulance() throws {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(1000)
        #expect(!story.machine.emergencyRuns)
        story = SupervisionStory(Self.calling())
        story.heart(10, 80)
        story.pass(1000)
        #expect(
            story.list == [
                "40.000 signal-lost heart-rate", "340.000 silence-contacts -", "340.000 opened heart-rate", "343.000 confirmed heart-rate",
                "343.500 dispatched heart-rate",
            ])
        let episode = try #require(story.machine.state.episode)
        #expect(episode.trigger.kind == .silence && episode.trigger.at == SupervisionStory.at(10) && episode.parameters == [.silence])
        #expect(episode.receivedAt == SupervisionStory.at(340))
        let person = PersonID.random()
        #expect(String(decoding: EmergencyName.text(person: person, trigger: episode.trigger), as: UTF8.self).contains("|silence|"))
    }

    @Test("SOS-12, SOS-25: data that return within 3 s make the silence a transient; the next one begins anew")
    func transient() {
        var story = SupervisionStory(Self.calling())
        story.heart(10, 80)
        story.heart(342, 80)
        #expect(
            story.list.suffix(3) == ["340.000 opened heart-rate", "342.000 signal-returned heart-rate", "342.000 transient heart-rate"])
        // 332 s between two readings are this source's interval by all that is known: 342 + 3 × 332 + 300 + 3.5.
        story.pass(10_000)
        #expect(
            story.list.suffix(5) == [
                "1338.000 signal-lost heart-rate", "1638.000 silence-contacts -", "1638.000 opened heart-rate",
                "1641.000 confirmed heart-rate", "1641.500 dispatched heart-rate",
            ])
    }

    @Test("SOS-14, SOS-25: I am fine while silent calls nobody, and the same silence does not ask again")
    func fine() {
        var story = SupervisionStory(Self.calling())
        story.heart(10, 80)
        story.answer(342, .fine)
        story.pass(100_000)
        #expect(story.list.suffix(3) == ["340.000 silence-contacts -", "340.000 opened heart-rate", "342.000 muted heart-rate"])
        #expect(story.machine.state.stage == .suspended)
    }

    @Test("SOS-25: where nothing was ever heard, contacts are told but no ambulance can be called")
    func neverHeard() {
        var story = SupervisionStory(Self.calling())
        story.pass(100_000)
        #expect(story.list == ["30.000 signal-lost -", "330.000 silence-contacts -"])
        #expect(story.actions.allSatisfy { $0.since == nil })
    }

    @Test("SOS-25: after an hour of silence closed an acknowledged emergency, contacts are not told again: they know")
    func afterAnEmergency() {
        var story = SupervisionStory(Self.calling())
        story.heart(10, 130)
        story.acknowledge(14)
        story.pass(100_000)
        #expect(story.list.suffix(2) == ["3640.000 closed heart-rate", "3640.000 signal-lost heart-rate"])
    }

    @Test("SOS-28: what fell due while the dispatcher was down is told once, after it has listened for a while")
    func afterARestart() throws {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(50)
        let written = try JSONEncoder().encode(story.machine.state)
        story.machine = Supervision(rules: story.machine.rules, state: try JSONDecoder().decode(Supervision.State.self, from: written))
        story.machine.listeningAgain(at: SupervisionStory.at(900))
        story.pass(929.999)
        #expect(story.list == ["40.000 signal-lost heart-rate"])
        story.pass(100_000)
        #expect(story.list == ["40.000 signal-lost heart-rate", "930.000 silence-contacts -"])
    }

    @Test("SOS-25: contacts that fall due while nobody can be heard are put off until somebody can")
    func nobodyHeard() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(50)
        for second in [100.0, 340, 640, 940] {
            story.machine.putOffContacts(at: SupervisionStory.at(second))
            story.pass(second)
        }
        #expect(story.list == ["40.000 signal-lost heart-rate"])
        story.pass(1240)
        #expect(story.list.last == "1240.000 silence-contacts -")
    }

    @Test("SOS-04, SOS-25: a pause is no silence, of supervision or of the recording; contacts of a silence before it are not told")
    func paused() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(50)
        story.pause(60)
        story.pass(1000)
        #expect(story.list == ["40.000 signal-lost heart-rate"] && story.machine.state.standing == .paused)
        story = SupervisionStory()
        story.heart(10, 80)
        story.pass(50)
        story.note(story.machine.monitoring(isPaused: true, declaredInterval: nil, at: SupervisionStory.at(60)))
        story.pass(1000)
        #expect(story.list == ["40.000 signal-lost heart-rate"] && story.machine.state.standing == .paused)
        story.note(story.machine.monitoring(isPaused: false, declaredInterval: nil, at: SupervisionStory.at(1000)))
        story.pass(2000)
        #expect(story.list.suffix(2) == ["1030.000 signal-lost -", "1330.000 silence-contacts -"])
    }

    // MARK: Charging

    @Test("SOS-27: a wearable on charge suspends supervision, the person is told once, and nobody takes it for a silence")
    func charging() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.charge(20)
        story.charge(25)
        #expect(story.actions.map(\.kind) == [.charging])
        #expect(story.machine.state.stage == .suspended && story.machine.state.standing == .charging)
        story.pass(100_000)
        #expect(story.list.isEmpty)
        story.charge(100_000, false)
        story.heart(100_010, 80)
        #expect(story.list.isEmpty && story.machine.state.standing == .monitoring)
    }

    @Test("SOS-25, SOS-27: off the charger and not worn, it is a silence like any other")
    func offTheCharger() {
        var story = SupervisionStory()
        story.charge(20)
        story.charge(1000, false)
        story.pass(5000)
        #expect(story.list == ["1030.000 signal-lost -", "1330.000 silence-contacts -"])
    }

    @Test("SOS-27: what a device on charge still delivers is judged; then it is on charge again, and no contact hears of that")
    func deliversOnCharge() {
        var story = SupervisionStory()
        story.charge(20)
        story.heart(30, 80)
        story.pass(100_000)
        #expect(story.actions.map(\.kind) == [.charging, .charging])
        story.heart(100_001, 30)
        story.pass(100_010)
        #expect(story.list.last == "100004.500 dispatched heart-rate")
    }

    @Test("SOS-27: contacts that were about to be told of a silence are not, once the device turns out to be on charge")
    func chargingExplainsSilence() {
        var story = SupervisionStory()
        story.heart(10, 80)
        story.pass(50)
        story.charge(60)
        story.pass(100_000)
        #expect(story.list == ["40.000 signal-lost heart-rate"])
    }

    @Test(
        "CON-32, SOS-25, SOS-33: put on charge in an alert, the alert goes on to the call; called off, it is charging, not lost, and the low heart is asked about once more"
    )
    func chargingInAnAlert() {
        var story = SupervisionStory()
        story.heart(10, 30)
        story.charge(11)
        story.pass(20)
        #expect(story.list.last == "13.500 dispatched heart-rate")
        story.answer(30, .falseAlarm)
        story.pass(89.999)
        #expect(story.actions.suffix(2).map(\.kind) == [.closed, .charging])
        // 30 bpm is severe: its mute lasts 60 s, and nothing was heard since.
        story.pass(90)
        #expect(story.list.last == "90.000 asked-again heart-rate")
        story.answer(95, .fine)
        story.pass(100_000)
        #expect(story.list.last == "95.000 muted heart-rate", "the same silence is asked about once")
        #expect(story.machine.state.standing == .charging)
    }

    @Test("SOS-04, SOS-27: charging while paused or not subscribed says nothing")
    func chargingWhilePaused() {
        var story = SupervisionStory()
        story.pause(10)
        story.charge(20)
        var stranger = SupervisionStory(subscribed: false)
        stranger.charge(20)
        #expect(story.actions.isEmpty && stranger.actions.isEmpty)
    }
}
