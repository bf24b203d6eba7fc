// What has the form of a reading and is none: supervision holds by itself, whatever ingest lets through.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Plausibility")
struct PlausibilityTests {
    @Test(
        "ING-08, SOS-25: a zero, an impossible value and no number are no readings: they alert nobody, end no alert, and are silence",
        arguments: [0, -1, 351, 1e300, .infinity, -.infinity, .nan] as [Double])
    func impossible(value: Double) {
        var story = SupervisionStory()
        for second in stride(from: 1.0, through: 29, by: 1) { story.heart(second, value) }
        story.pass(31)
        #expect(story.list == ["30.000 signal-lost -"])
        story.heart(40, 30)
        story.heart(41, value)
        story.pass(44)
        #expect(story.list.last == "43.500 dispatched heart-rate")
    }

    @Test("SOS-09: a zero in an upload takes nothing from the readings beside it")
    func besideReadings() {
        var story = SupervisionStory()
        story.upload(10, [.bloodPressureMax: 0, .heartRate: 30])
        #expect(story.list == ["10.000 opened heart-rate"])
    }

    @Test("SOS-09: entries that come late, from the future or out of order start an alert only while they are fresh")
    func lateAndFuture() {
        var story = SupervisionStory()
        let old = [61.0, 3600, 86_400, 1e9].map { Sample(type: .heartRate, at: SupervisionStory.at(1000 - $0), value: 20) }
        story.upload(1000, received: 1000, old)
        #expect(!story.machine.emergencyRuns)
        story.upload(1001, [Sample(type: .heartRate, at: SupervisionStory.at(1061), value: 20)])
        #expect(story.machine.emergencyRuns, "a device whose clock is ahead is heard")
    }

    /// Readings each 5 s with exactly one value.
    private static func stuck(_ metric: Metric, _ value: Double, readings: Int = 200, own: [Metric: Bounds] = [:]) -> SupervisionStory {
        var story = SupervisionStory(own: own)
        for number in 0..<readings { story.upload(Double(number) * 5, [metric: value]) }
        return story
    }

    @Test("SOS-25: a source that sends one value to its last digit for 10 minutes is stuck: from then on it is silence")
    func frozen() {
        var story = Self.stuck(.heartRate, 72.483_91)
        // The 121st reading, at 600 s, is the first that is no reading any more; the one before it was at 595 s.
        story.pass(1000)
        #expect(story.list == ["625.000 signal-lost heart-rate", "925.000 silence-contacts -"])
        story.heart(1001, 72.9)
        #expect(story.list.last == "1001.000 signal-returned heart-rate", "it moves again")
    }

    @Test(
        "SOS-25: a steady heart is never called stuck: whole numbers, halves, tenths and hundredths may stay as they are",
        arguments: [60, 72, 72.5, 72.1, 72.25] as [Double])
    func steadyHeart(value: Double) {
        #expect(Self.stuck(.heartRate, value, readings: 2000).actions.isEmpty)
    }

    @Test("SOS-25: what can stand still in a living body is never called stuck", arguments: ["body-temperature", "oxygen-saturation"])
    func whatStandsStill(code: String) throws {
        let metric = try #require(Metric(code: code))
        let watched = [metric: Bounds(low: 30, high: nil)]
        #expect(Self.stuck(metric, 36.888_888_888, readings: 1000, own: watched).actions.isEmpty)
    }

    @Test("SOS-25: fewer than 120 readings, or less than 10 minutes, are not enough to call a source stuck")
    func notEnough() {
        var seldom = SupervisionStory()
        for number in 0..<119 { seldom.upload(Double(number) * 20, [.heartRate: 72.483_91]) }
        var often = SupervisionStory()
        for number in 0..<1199 { often.upload(Double(number) * 0.5, [.heartRate: 72.483_91]) }
        #expect(seldom.actions.isEmpty && often.actions.isEmpty)
    }

    @Test("R4, SOS-34, SOS-38: a stuck heart rate ended in silence while another parameter was heard: it is warned of")
    func otherParameter() {
        var story = SupervisionStory()
        for number in 0..<400 { story.upload(Double(number) * 5, [.heartRate: 72.483_91, .oxygenSaturation: Double(95 + number % 3)]) }
        #expect(story.list.first == "625.000 signal-lost heart-rate")
    }

    @Test("SOS-25: a stuck value that is critical alerts, is called for, and keeps its alert: improbable is not harmless")
    func frozenAndCritical() {
        let story = Self.stuck(.heartRate, 130.483_91, readings: 400)
        #expect(story.list == ["0.000 opened heart-rate", "3.000 confirmed heart-rate", "3.500 dispatched heart-rate"])
        #expect(story.machine.state.stage == .dispatching)
    }

    @Test("SOS-12: a stuck value takes back no alert of another parameter, and closes no emergency")
    func frozenSuppressesNothing() {
        var story = SupervisionStory(own: [.oxygenSaturation: Bounds(low: 90, high: nil)])
        for number in 0..<200 { story.upload(Double(number) * 5, [.heartRate: 72.483_91, .oxygenSaturation: 97]) }
        story.upload(1000, [.oxygenSaturation: 80])
        for second in 1001...1002 { story.upload(Double(second), [.heartRate: 72.483_91]) }
        story.acknowledge(1010)
        story.upload(1011, [.oxygenSaturation: 97])
        for second in stride(from: 1020.0, through: 1600, by: 5) { story.upload(second, [.heartRate: 72.483_91]) }
        #expect(
            story.list.map { $0.split(separator: " ")[1] }.filter { !$0.contains("signal") && !$0.contains("silence") } == [
                "opened", "confirmed", "dispatched", "acknowledged",
            ])
        story.upload(1601, [.heartRate: 80])
        // Of the saturation nothing was heard for ten minutes: now that nobody is called for any more, the person is told.
        #expect(story.list.suffix(2) == ["1601.000 closed oxygen-saturation", "1601.000 signal-lost oxygen-saturation"])
    }
}
