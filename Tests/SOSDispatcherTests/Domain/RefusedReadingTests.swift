// What ingest refuses may alarm, and takes back nothing that is stored (`docs/sos-rules.md` §2).

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Refused readings")
struct RefusedReadingTests {
    private static let called = ["0.000 opened heart-rate", "3.000 confirmed heart-rate", "3.500 dispatched heart-rate"]
    private static let ended = ["0.000 opened heart-rate", "1.000 transient heart-rate"]

    private static func heart(_ seconds: Double, _ value: Double) -> Sample {
        Sample(type: .heartRate, at: SupervisionStory.at(seconds), value: value)
    }

    @Test("SOS-15: a healthy entry of the year 9999 beside each critical one ended the alert each time: the call goes out after 3.5 s")
    func farFuture() {
        var story = SupervisionStory()
        for second in [0.0, 1, 2, 3] {
            story.heart(second, 30)
            // Ingest dates it anew.
            story.upload(second, [Self.heart(second, 70)], isRefused: true)
        }
        story.pass(4)
        #expect(story.list == Self.called)
    }

    @Test("SOS-15: nor does it end the alert by way of a critical one that is refused too")
    func farFutureAndCritical() {
        var story = SupervisionStory()
        story.heart(0, 30)
        story.upload(0, [Self.heart(-1, 31), Self.heart(0, 70)], isRefused: true)
        story.pass(4)
        #expect(story.list == Self.called)
    }

    @Test("SOS-12: a device whose clock is ahead, so that all it sends is refused, ends what it began itself", arguments: [false, true])
    func wrongClock(_ wasRight: Bool) {
        var story = SupervisionStory()
        if wasRight { story.heart(-0.5, 70) }
        story.upload(0, [Self.heart(0, 30)], isRefused: true)
        story.upload(1, [Self.heart(1, 70)], isRefused: true)
        story.pass(4)
        #expect(story.list == Self.ended)
    }

    @Test("SOS-12: what is stored ends what was refused, and so does what is refused since a clock was set back", arguments: [false, true])
    func setBack(_ isSetBack: Bool) {
        var story = SupervisionStory()
        story.upload(0, [Self.heart(0, 30)], isRefused: !isSetBack)
        story.upload(1, received: isSetBack ? -3600 : 1, [Self.heart(isSetBack ? -3600 : 1, 70)], isRefused: isSetBack)
        story.pass(4)
        #expect(story.list == Self.ended)
    }

    @Test("SOS-38: a healthy entry of the year 9999 beside a doubted one ended the doubt: it is called for")
    func doubt() {
        var story = SupervisionStory()
        for second in [0.0, 60] {
            story.upload(second, [.heartRate: 56, .respirationRate: 12, .oxygenSaturation: 97], interval: .seconds(60))
        }
        story.upload(120, [.heartRate: 20], interval: .seconds(60))
        story.upload(120, [Self.heart(120, 70)], interval: .seconds(60), isRefused: true)
        story.pass(150)
        #expect(story.list == ["120.000 doubted heart-rate", "140.000 opened heart-rate", "140.000 dispatched heart-rate"])
    }
}
