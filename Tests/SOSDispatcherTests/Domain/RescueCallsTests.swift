// Calls for help and falls, in every state (SOS-35, SOS-36).

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Calls for help and falls")
struct RescueCallsTests {
    // MARK: Manual SOS

    @Test(
        "R10, SOS-35: help without an alert was 409: it calls at once, monitored, paused, charging and silent; by a device's event too",
        arguments: ["monitoring", "paused", "charging", "silent", "device"])
    func manual(state: String) {
        var story = SupervisionStory()
        story.heart(0, 70)
        switch state {
        case "paused": story.pause(1)
        case "charging": story.charge(1)
        case "silent": story.pass(100)
        default: break
        }
        if state == "device" {
            story.upload(200, [Sample(type: .help, at: SupervisionStory.at(190), value: nil)])
        } else {
            story.answer(200, .help)
        }
        #expect(story.list.suffix(2) == ["200.000 opened help", "200.000 dispatched help"])
        #expect(story.machine.state.stage == .dispatching)
    }

    @Test("SOS-35: within 10 s it is one call; later a new alert under the same reference; older than 900 s contacts alone")
    func repeated() {
        var story = SupervisionStory()
        story.answer(1, .help)
        story.answer(11, .help)
        story.answer(12, .help)
        #expect(story.list.map { $0.split(separator: " ")[0] } == ["1.000", "1.000", "12.000"])
        #expect(Set(story.actions.compactMap { $0.episode?.trigger }).count == 1)
        var old = SupervisionStory()
        old.upload(1000, [Sample(type: .help, at: SupervisionStory.at(99), value: nil)])
        #expect(old.list.last == "1000.000 help-contacts -" && !old.machine.emergencyRuns)
    }

    @Test("SOS-35: values in range never close a manual emergency; help is here, said again, lets them")
    func manualStays() {
        var story = SupervisionStory()
        story.answer(1, .help)
        story.acknowledge(2)
        for second in 3...300 { story.heart(Double(second), 70) }
        #expect(story.machine.state.stage == .dispatched)
        story.answer(301, .helpIsHere)
        story.heart(302, 70)
        #expect(story.list.last == "302.000 closed help")
    }

    // MARK: Falls

    @Test(
        "SOS-36: a fall asks for 20 s, then contacts and ambulance; contacts alone where the person wants that; not while sport pauses it")
    func fall() {
        var story = SupervisionStory()
        story.heart(0, 70)
        story.upload(1, [Sample(type: .fall, at: SupervisionStory.at(1), value: nil)])
        #expect(story.actions.isEmpty, "not switched on")
        story.prefer(2, shaking: false, falls: Supervision.FallWatch())
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.pass(26)
        #expect(story.list == ["5.000 fell fall", "25.000 fall-contacts fall", "25.000 opened fall", "25.000 dispatched fall"])
        story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch(callsAmbulance: false))
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.pass(26)
        #expect(story.list == ["5.000 fell fall", "25.000 fall-contacts fall"])
        story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch(pausedUntil: SupervisionStory.at(100)))
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        #expect(story.actions.isEmpty)
    }

    @Test("SOS-36: an answer ends a fall; a breach goes its own, faster way; during a call a fall is an update")
    func fallBeside() {
        var story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.heart(6, 30)
        story.pass(26)
        #expect(story.list.suffix(3) == ["9.500 dispatched heart-rate", "25.000 fall-contacts fall", "25.000 worse fall"])
        story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.answer(10, .fine)
        story.pass(27)
        #expect(story.list == ["5.000 fell fall", "10.000 fall-ended fall"])
    }

    @Test("SOS-36: an impact and 20 s without movement are a fall, movement is none")
    func judged() {
        func walk(_ after: [(Double, Double)]) -> [String] {
            var story = SupervisionStory()
            story.prefer(0, shaking: false, falls: Supervision.FallWatch())
            for (second, value) in [(10, 4.0)] + after { story.upload(second, [.acceleration: value]) }
            story.pass(29.999)
            story.pass(31)
            return story.list.filter { $0.contains("fall") }
        }
        #expect(walk([(12, 2), (16, 1), (20, 1.01)]).first == "16.000 fell fall")
        #expect(walk([(12, 2), (16, 1), (20, 1.01)]).last == "30.000 dispatched fall")
        #expect(walk([(16, 1.5), (20, 1)]).isEmpty)
        #expect(walk([(16, 1), (20, 1.5)]) == ["16.000 fell fall", "20.000 fall-ended fall"])
    }
}
