// A reading that may be torn delays a call and never ends it; what comes after a silence is believed at once (SOS-38).

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Supervision, torn averages")
struct TornAverageTests {
    private static let minute = Duration.seconds(60)

    /// A monitor that sends averages each minute; the last complete one at 60 s.
    private static func worn(_ rules: SupervisionRules = SupervisionRules(), own: [Metric: Bounds] = [:]) -> SupervisionStory {
        var story = SupervisionStory(rules, own: own)
        for second in [0.0, 60] {
            story.upload(second, [.heartRate: 56, .respirationRate: 12, .oxygenSaturation: 97], interval: minute)
        }
        return story
    }

    @Test("R4, SOS-38: a last reading of 20 with nothing after it called nobody: it is asked about at once and called for 20 s later")
    func lastReading() {
        var story = Self.worn()
        story.upload(120, [.heartRate: 20], interval: Self.minute)
        story.pass(160)
        #expect(story.list == ["120.000 doubted heart-rate", "140.000 opened heart-rate", "140.000 dispatched heart-rate"])
    }

    @Test("R4, SOS-38: after an announced silence the first 20 was ignored for 33.7 s: it is believed and called for in time")
    func afterSilence() {
        var story = Self.worn()
        story.upload(600, [.heartRate: 20], interval: Self.minute)
        story.pass(604)
        #expect(story.list.suffix(2) == ["603.000 confirmed heart-rate", "603.500 dispatched heart-rate"])
    }

    @Test("SOS-38: a plausible reading in range, or an answer, ends the doubt; a critical one is called for the faster way")
    func ends() {
        var story = Self.worn()
        story.upload(120, [.heartRate: 20], interval: Self.minute)
        story.upload(130, [.heartRate: 58], interval: Self.minute)
        story.pass(170)
        #expect(story.list == ["120.000 doubted heart-rate", "130.000 doubt-ended heart-rate"])
        story = Self.worn()
        story.upload(120, [.heartRate: 20], interval: Self.minute)
        story.answer(125, .fine)
        story.pass(150)
        #expect(story.list == ["120.000 doubted heart-rate", "125.000 doubt-ended heart-rate"])
        story = Self.worn()
        story.upload(120, [.heartRate: 20], interval: Self.minute)
        story.upload(125, [.heartRate: 21], interval: Self.minute)
        story.pass(150)
        #expect(story.list.suffix(3) == ["125.000 opened heart-rate", "128.000 confirmed heart-rate", "128.500 dispatched heart-rate"])
    }

    @Test("SOS-38: the doubt survives a restart")
    func restart() throws {
        var story = Self.worn()
        story.upload(120, [.heartRate: 20], interval: Self.minute)
        let written = try JSONEncoder().encode(story.machine.state)
        let state = try JSONDecoder().decode(Supervision.State.self, from: written)
        #expect(state == story.machine.state)
        story.machine = Supervision(rules: story.machine.rules, state: state)
        story.pass(150)
        #expect(story.list.last == "140.000 dispatched heart-rate")
    }

    /// Everything that makes a low reading one that is believed at once.
    enum Believed: String, CaseIterable, CustomTestStringConvertible {
        case fastSource, otherSensor, twoReadings, aboveTheBound, onlyTwoSensors, firstEver, secondTorn

        var testDescription: String { rawValue }
    }

    @Test("SOS-09, SOS-15: nothing else is doubted: each of these opens an alert at its first reading", arguments: Believed.allCases)
    func believed(why: Believed) {
        var story = Self.worn()
        let at = 120.0
        switch why {
        case .fastSource:
            story = SupervisionStory()
            story.upload(100, [.heartRate: 56, .respirationRate: 12, .oxygenSaturation: 97], interval: .seconds(10))
            story.upload(at, [.heartRate: 20], interval: .seconds(10))
        case .otherSensor: story.upload(at, [.heartRate: 20, .respirationRate: 5], interval: Self.minute)
        case .twoReadings:
            let samples = [119.0, 120].map { Sample(type: .heartRate, at: SupervisionStory.at($0), value: 20) }
            story.upload(at, samples, interval: Self.minute)
        case .aboveTheBound: story.upload(at, [.heartRate: 180], interval: Self.minute)
        case .onlyTwoSensors:
            story = SupervisionStory()
            story.upload(60, [.heartRate: 60, .respirationRate: 12], interval: Self.minute)
            story.upload(at, [.heartRate: 20], interval: Self.minute)
        case .firstEver:
            story = SupervisionStory()
            story.upload(at, [.heartRate: 20], interval: Self.minute)
        case .secondTorn:
            story.upload(110, [.heartRate: 20], interval: Self.minute)
            story.upload(at, [.heartRate: 20], interval: Self.minute)
        }
        #expect(story.actions.filter { $0.listed == "opened" }.map(\.at) == [SupervisionStory.at(at)])
    }
}
