// A sensor that comes on for some seconds of a minute calls nobody, and no heart that stops is hidden by that.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Supervision, torn averages")
struct TornAverageTests {
    private static let minute = Duration.seconds(60)

    /// A monitor that sends averages each minute, its sensors on until 0 s and then off; the person has been warned at 180 s.
    private static func silent(_ rules: SupervisionRules = SupervisionRules(), own: [Metric: Bounds] = [:]) -> SupervisionStory {
        var story = SupervisionStory(rules, own: own, subscribed: false)
        story.subscribe(0, own: own, interval: minute)
        story.upload(0, [.heartRate: 56, .respirationRate: 12, .oxygenSaturation: 97], interval: minute)
        story.pass(181)
        return story
    }

    @Test("SOS-25, ING-08: a lone heart rate of 11.5 in a minute in which all other sensors are off is no reading and no sign of life")
    func passedOver() {
        var story = Self.silent()
        story.upload(240, [.heartRate: 11.5], interval: Self.minute)
        story.pass(100_000)
        #expect(story.list == ["180.000 signal-lost -", "240.000 silence-contacts -"], "the contacts look at once, not after 300 s")
        #expect(story.machine.state.latest[.heartRate]?.value == 56 && story.machine.state.standing == .signalLost)
    }

    @Test("SOS-25: contacts who know of the silence are not told of it a second time")
    func toldOnce() {
        var story = Self.silent()
        story.pass(500)
        story.upload(540, [.heartRate: 11.5], interval: Self.minute)
        story.pass(100_000)
        #expect(story.list == ["180.000 signal-lost -", "480.000 silence-contacts -"])
    }

    @Test("SOS-25: where silence calls an ambulance, a torn average calls it at once")
    func callsByOption() {
        var rules = SupervisionRules()
        rules.silenceCallsAmbulance = true
        var story = Self.silent(rules)
        story.upload(240, [.heartRate: 11.5], interval: Self.minute)
        story.pass(244)
        #expect(story.list.last == "243.500 dispatched oxygen-saturation")
    }

    @Test(
        "SOS-05, SOS-15: a heart that fails as the electrodes are put on again is called for by the second average, whatever the silence was",
        arguments: [200.0, 239.9, 600, 5000, 90_000])
    func arrest(at begin: Double) {
        var story = Self.silent()
        for minute in 0..<10 { story.upload(begin + Double(minute) * 60, [.heartRate: 20], interval: Self.minute) }
        story.pass(begin + 700)
        let calls = story.actions.filter { $0.listed == "dispatched" }
        #expect(calls.map(\.at) == [SupervisionStory.at(begin + 63.5)])
        #expect(calls.first?.episode?.trigger.at == SupervisionStory.at(begin + 60))
    }

    /// Everything that makes a low reading after a silence one that is believed at once.
    enum Believed: String, CaseIterable, CustomTestStringConvertible {
        case fastSource, unknownInterval, otherSensor, twoReadings, aboveTheBound, noRate, onlyTwoSensors, neverHeard, notYetSilent
        case onTheCharger

        var testDescription: String { rawValue }
    }

    @Test("SOS-09, SOS-15: nothing else is doubted: each of these opens an alert at its first reading", arguments: Believed.allCases)
    func believed(why: Believed) {
        var story = Self.silent(own: [.oxygenSaturation: Bounds(low: 90, high: nil)])
        var at = 240.0
        switch why {
        case .fastSource: story.upload(at, [.heartRate: 20], interval: .seconds(10))
        case .unknownInterval: story.upload(at, [.heartRate: 20])
        case .otherSensor: story.upload(at, [.heartRate: 20, .respirationRate: 5], interval: Self.minute)
        case .twoReadings:
            let samples = [239.0, 240].map { Sample(type: .heartRate, at: SupervisionStory.at($0), value: 20) }
            story.upload(at, samples, interval: Self.minute)
        case .aboveTheBound: story.upload(at, [.heartRate: 180], interval: Self.minute)
        case .noRate: story.upload(at, [.oxygenSaturation: 60], interval: Self.minute)
        case .onlyTwoSensors:
            story.upload(240, [.heartRate: 60, .respirationRate: 12], interval: Self.minute)
            at = 500
            story.upload(at, [.heartRate: 20], interval: Self.minute)
        case .neverHeard:
            story = SupervisionStory()
            story.pass(100)
            story.upload(at, [.heartRate: 20], interval: Self.minute)
        case .notYetSilent:
            at = 179.999
            story = SupervisionStory()
            story.upload(0, [.heartRate: 56, .respirationRate: 12, .oxygenSaturation: 97], interval: Self.minute)
            story.upload(at, [.heartRate: 20], interval: Self.minute)
        case .onTheCharger:
            story.charge(200)
            story.upload(at, [.heartRate: 20], interval: Self.minute)
        }
        let opened = story.actions.filter { $0.listed == "opened" }
        #expect(opened.map(\.at) == [SupervisionStory.at(at)])
    }

    @Test("SOS-25, CON-32: in an alert that runs, silence and torn averages change nothing: the call goes out")
    func runningAlert() {
        var story = SupervisionStory()
        story.upload(0, [.heartRate: 56, .respirationRate: 12, .oxygenSaturation: 97], interval: Self.minute)
        story.upload(60, [.heartRate: 30], interval: Self.minute)
        story.upload(120, [.heartRate: 11.5], interval: Self.minute)
        story.pass(400)
        #expect(story.list == ["60.000 opened heart-rate", "63.000 confirmed heart-rate", "63.500 dispatched heart-rate"])
    }

    @Test("SOS-28: the doubt survives a restart: the second average is believed by the next process")
    func restart() throws {
        var story = Self.silent()
        story.upload(240, [.heartRate: 11.5], interval: Self.minute)
        let written = try JSONEncoder().encode(story.machine.state)
        let state = try JSONDecoder().decode(Supervision.State.self, from: written)
        #expect(state == story.machine.state)
        story.machine = Supervision(rules: story.machine.rules, state: state)
        story.upload(300, [.heartRate: 11.5], interval: Self.minute)
        #expect(story.list.last == "300.000 opened heart-rate")
    }

    @Test("SOS-25: the next silence has a torn average of its own, once the sensors were back between them")
    func nextSilence() {
        var story = Self.silent()
        story.upload(240, [.heartRate: 11.5], interval: Self.minute)
        story.upload(300, [.heartRate: 56, .respirationRate: 12, .oxygenSaturation: 97], interval: Self.minute)
        story.upload(540, [.heartRate: 14], interval: Self.minute)
        #expect(!story.machine.emergencyRuns)
        #expect(story.list.suffix(2) == ["480.000 signal-lost -", "540.000 silence-contacts -"])
    }
}
