// A person's pause of all recording: silence says nothing then, and an emergency that runs goes on.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite struct MonitoringPauseTests {
    @Test("ACC-28, SOS-25: while monitoring is paused silence is the person's own; after resuming it counts anew")
    func silence() {
        var story = SupervisionStory()
        story.heart(10, 60)
        story.monitoring(20, isPaused: true)
        story.pass(5000)
        #expect(story.list.isEmpty && story.machine.state.stage == .monitoring)
        story.monitoring(5000, isPaused: false)
        story.pass(5029.999)
        #expect(story.list.isEmpty)
        story.pass(5030)
        #expect(story.list == ["5030.000 signal-lost -"])
    }

    @Test("SOS-25: the device's declared interval counts after resuming too; saying it twice changes nothing")
    func interval() {
        var story = SupervisionStory()
        story.monitoring(20, isPaused: true)
        story.monitoring(25, isPaused: true)
        story.monitoring(100, isPaused: false, interval: .seconds(60))
        story.monitoring(200, isPaused: false, interval: .seconds(600))
        story.pass(1000)
        #expect(story.list == ["280.000 signal-lost -", "580.000 silence-contacts -"])
    }

    @Test("SOS-25: an alert goes on to the call, whoever pauses monitoring")
    func alert() {
        var story = SupervisionStory()
        story.heart(10, 30)
        story.monitoring(11, isPaused: true)
        story.pass(20)
        #expect(story.list == ["10.000 opened heart-rate", "13.000 confirmed heart-rate", "13.500 dispatched heart-rate"])
        story.acknowledge(21)
        story.pass(10_000)
        #expect(
            story.list.suffix(2) == ["21.000 acknowledged heart-rate", "3640.000 closed heart-rate"], "closed by silence, without a warning"
        )
        #expect(story.machine.state.stage == .monitoring)
    }

    @Test("SOS-04: paused supervision stays paused when monitoring resumes, and a fresh reading is heard as ever")
    func both() {
        var story = SupervisionStory()
        story.pause(5)
        story.monitoring(6, isPaused: true)
        story.monitoring(7, isPaused: false)
        story.pass(1000)
        #expect(story.list.isEmpty && story.machine.state.stage == .paused)
        story.resume(1000)
        story.heart(1001, 30)
        #expect(story.list == ["1001.000 opened heart-rate"])
    }
}

extension SupervisionStory {
    mutating func monitoring(_ seconds: Double, isPaused: Bool, interval: Duration? = nil) {
        note(machine.monitoring(isPaused: isPaused, declaredInterval: interval, at: Self.at(seconds)))
    }
}
