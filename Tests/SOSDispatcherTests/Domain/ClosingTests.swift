// How an emergency ends once help was called: by values, or by an hour of silence.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Supervision, closing")
struct ClosingTests {
    @Test("An acknowledged emergency closes after 120 s of normal values")
    func closes() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.acknowledge(14)
        for second in stride(from: 20, through: 130, by: 10) { story.heart(Double(second), 80) }
        story.heart(139.999, 80)
        #expect(story.machine.state.stage == .dispatched)
        story.heart(140, 80)
        #expect(story.list.last == "140.000 closed heart-rate")
    }

    @Test("A critical value in the 120 s begins them anew; it raises no second emergency")
    func closingBeginsAnew() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.acknowledge(14)
        for second in stride(from: 20, through: 250, by: 10) { story.heart(Double(second), second == 100 ? 125 : 80) }
        #expect(story.list.count == 5)
        #expect(story.list.last == "230.000 closed heart-rate")
    }

    @Test("Closing goes by values alone: readings that come more seldom than the silence limit close it too")
    func closingBySeldomReadings() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.acknowledge(14)
        for second in stride(from: 70, through: 130, by: 60) { story.heart(Double(second), 80) }
        story.pass(189)
        #expect(story.machine.state.stage == .dispatched)
        story.heart(190, 80)
        #expect(story.list.last == "190.000 closed heart-rate")
    }

    @Test("One normal value and then silence close nothing; the next normal value does")
    func closingWaitsForASignal() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.acknowledge(14)
        story.heart(20, 80)
        story.pass(500)
        #expect(story.machine.state.stage == .dispatched)
        story.heart(501, 80)
        #expect(story.list.last == "501.000 closed heart-rate")
    }

    @Test("SOS-25: an hour without any value closes an acknowledged emergency and warns; the next critical value calls again")
    func closedBySilence() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.acknowledge(14)
        story.pass(3639.999)
        #expect(story.machine.state.stage == .dispatched)
        story.pass(3640)
        #expect(story.list.suffix(2) == ["3640.000 closed heart-rate", "3640.000 signal-lost heart-rate"])
        story.heart(4000, 130)
        story.pass(4004)
        #expect(story.list.last == "4003.500 dispatched heart-rate")
    }

    @Test("SOS-19: an unacknowledged call outlasts any silence; the hour counts from the acknowledgement")
    func silenceBeforeTheAcknowledgement() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.pass(100_000)
        #expect(story.machine.state.stage == .dispatching)
        story.acknowledge(100_000)
        story.pass(103_599.999)
        #expect(story.machine.state.stage == .dispatched)
        story.pass(103_600)
        #expect(story.machine.state.stage == .suspended)
    }

    @Test("SOS-21, SOS-25: the device taken off after a false alarm closes the emergency and warns")
    func silenceAfterStandDown() {
        var story = SupervisionStory()
        story.heart(10, 130)
        story.answer(15, .falseAlarm)
        story.pass(39.999)
        #expect(story.machine.state.stage == .stoodDown)
        story.pass(1000)
        #expect(story.list.suffix(3) == ["40.000 signal-lost heart-rate", "40.000 closed heart-rate", "340.000 silence-contacts -"])
    }

    @Test("A sensor that was taken off keeps no emergency open: its value is forgotten after 600 s, or three of its own long intervals")
    func valuesAreForgotten() {
        let own: [Metric: Bounds] = [.oxygenSaturation: Bounds(low: 90, high: nil)]
        for (interval, closed) in [(nil, "740.000"), (Duration.seconds(300), "1040.000")] {
            var story = SupervisionStory(own: own)
            story.upload(10, [.oxygenSaturation: 70], interval: interval)
            story.acknowledge(14)
            for second in stride(from: 20, through: 1200, by: 10) { story.heart(Double(second), 80) }
            #expect(story.list.contains("\(closed) closed oxygen-saturation"))
        }
    }

    @Test("In an acknowledged emergency a new critical parameter is an update, also after a long silence")
    func updatedAfterSilence() {
        var story = SupervisionStory(own: [.oxygenSaturation: Bounds(low: 90, high: nil)])
        story.heart(10, 130)
        story.acknowledge(14)
        story.upload(2000, [.oxygenSaturation: 70])
        #expect(story.actions.last?.worse?.breaches == [Breach(.metric(.oxygenSaturation), .below)])
    }

    @Test("Unacknowledged, it is not closed however long values are normal; once acknowledged, the next normal value closes it")
    func notClosedUnacknowledged() {
        var story = SupervisionStory()
        story.heart(10, 130)
        for second in stride(from: 20, through: 400, by: 10) { story.heart(Double(second), 80) }
        #expect(story.machine.state.stage == .dispatching)
        story.acknowledge(405)
        story.heart(410, 80)
        #expect(story.list.suffix(2) == ["405.000 acknowledged heart-rate", "410.000 closed heart-rate"])
    }

    @Test("Help is here: repeating stops without an acknowledgement, and 120 s of normal values close it")
    func helpIsHere() {
        var story = SupervisionStory()
        story.heart(1, 20)
        #expect(story.answer(9, .helpIsHere).asksBack)
        #expect(!story.answer(10, .helpIsHere).asksBack)
        for second in stride(from: 20, through: 150, by: 10) { story.heart(Double(second), 80) }
        #expect(!story.list.contains { $0.contains("acknowledged") })
        #expect(story.list.last == "140.000 closed heart-rate")
    }
}
