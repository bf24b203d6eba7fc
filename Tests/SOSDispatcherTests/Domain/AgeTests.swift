// How old a reading is, by which clock.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Age of a reading")
struct AgeTests {
    private static func heart(_ seconds: Double, _ value: Double) -> Sample {
        Sample(type: .heartRate, at: SupervisionStory.at(seconds), value: value)
    }

    @Test(
        "SOS-09: ingest's clock was two minutes ahead, or the device's hours behind, and nobody was watched: who says sentAt is called for",
        arguments: [(120, 0), (0, -7200), (120, -7200), (-120, 0), (0, 500)] as [(Double, Double)])
    func wrongClock(_ server: Double, _ device: Double) {
        var told = SupervisionStory()
        told.upload(10_000, received: 10_000 + server, sent: 10_000.2 + device, [Self.heart(10_000 + device, 30)])
        told.pass(10_004)
        #expect(told.list.suffix(3).map { $0.split(separator: " ")[1] } == ["opened", "confirmed", "dispatched"])
        #expect(told.list.last == "10003.500 dispatched heart-rate")
        guard server > 0 || device < 0 else { return }
        var untold = SupervisionStory()
        untold.upload(10_000, received: 10_000 + server, [Self.heart(10_000 + device, 30)])
        untold.pass(10_004)
        #expect(!untold.list.contains { $0.contains("dispatched") }, "without it the reading is old")
    }

    @Test(
        "SOS-09: a reading of five minutes ago whose upload says so is old by both clocks, also where ingest's is ahead",
        arguments: [0, 300, -200] as [Double])
    func old(_ server: Double) {
        var story = SupervisionStory()
        story.upload(10_000, received: 10_000 + server, sent: 10_000, [Self.heart(9700, 30)])
        story.pass(10_004)
        #expect(!story.list.contains { $0.contains("opened") })
    }

    @Test(
        "SOS-09: a sentAt ahead of the clock that dated the entries silenced readings of now: what is fresh by one clock is called for",
        arguments: [61, 300, 600, -61, -600] as [Double], [0, 59] as [Double])
    func wrongSending(_ ahead: Double, _ age: Double) {
        var story = SupervisionStory()
        story.upload(10_000, sent: 10_000 + ahead, [Self.heart(10_000 - age, 30)])
        story.pass(10_004)
        #expect(story.list.last == "10003.500 dispatched heart-rate")
        let measured = SupervisionStory.at(10_000 - (ahead < 0 ? 0 : age))
        #expect(story.machine.state.sources[""]?.latest[.heartRate]?.measured == measured)
        #expect(story.machine.state.lastHeard?.measured == measured)
    }

    @Test("SOS-37: of a batch that lies ahead and comes with the newest first, the newest is judged last", arguments: [false, true])
    func newestFirst(_ isCritical: Bool) {
        var story = SupervisionStory()
        let (first, last) = isCritical ? (70.0, 30.0) : (30.0, 70.0)
        story.upload(10_000, [Self.heart(10_030, last), Self.heart(10_029, first)])
        #expect(story.machine.state.sources[""]?.latest[.heartRate]?.value == last)
        story.pass(10_004)
        #expect(story.list.contains { $0.contains("dispatched") } == isCritical)
    }

    @Test("A reading that its upload dates later than itself is of now, and holds for as long as any other")
    func sentBefore() {
        var story = SupervisionStory()
        story.upload(10_000, sent: 9990, [Self.heart(10_000, 30)])
        #expect(story.list.last == "10000.000 opened heart-rate")
        #expect(story.machine.state.sources[""]?.latest[.heartRate]?.measured == SupervisionStory.at(10_000))
        #expect(story.machine.state.lastHeard?.measured == SupervisionStory.at(10_000))
    }

    @Test("SOS-20: a place is told with the age that its device says, whichever clock is wrong")
    func place() {
        let place = Position(latitude: 45.5, longitude: 9.25, accuracy: 10)
        let entry = Sample(type: .heartRate, at: SupervisionStory.at(1000), value: 30, position: place)
        var subscriber = Subscriber()
        subscriber.note(
            Supervision.Upload(
                at: SupervisionStory.at(1000), receivedAt: SupervisionStory.at(1120), sentAt: SupervisionStory.at(1001), entries: [entry]),
            watches: { _ in true })
        #expect(subscriber.places.places.map(\.at) == [SupervisionStory.at(1119)])
        #expect(subscriber.places.knowledge(at: SupervisionStory.at(1120)) == .trusted)
    }
}
