// How long facts were on their way, whatever the clocks of two machines say.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Delay on the way")
struct TransitDelayTests {
    /// One fact: when it arrives here, when ingest received it by its own clock, and what that says of the way, in seconds.
    typealias Fact = (arrives: Double, received: Double, delay: Double)

    @Test(
        "SOS-09: an ingest whose clock is behind silenced everybody: only what waited longer than others is late",
        arguments: [
            ("the clocks agree", [(0, 0, 0), (1, 1, 0), (100, 99, 1)]),
            ("ingest is behind, by as much as may be", [(0, -65, 0), (1, -64, 0), (2, -63, 0)]),
            ("it is ahead", [(0, 3600, 0), (1, 3601, 0), (90, 3602, 88)]),
            ("this side stood still, and caught up", [(0, -90, 0), (1, -89, 0), (91, -88, 89), (91, -30, 31), (92, 2, 0)]),
            ("for hours", [(0, 0, 0), (7200, 1, 7199), (7200, 7200, 0)]),
            ("ingest's clock was set back by an hour", [(0, 0, 0), (1, -3599, 0), (2, -3598, 0)]),
            ("and forth", [(0, 0, 0), (1, 3601, 0), (2, 2, 0), (3, 3, 0)]),
            ("while nobody sent, so that the first seems to have waited", [(0, 0, 0), (200, 110, 90), (270, 180, 0)]),
            ("slowly", [(0, 0, 0), (61, 60, 1), (122, 120, 1), (183, 180, 1)]),
            ("a little disorder is none", [(0, 0, 0), (1, -8, 9), (80, 0, 80)]),
        ] as [(String, [TransitDelayTests.Fact])])
    func delays(_ what: String, _ facts: [Fact]) {
        var transit = TransitDelay()
        for fact in facts {
            let delay = transit.note(receivedAt: SupervisionStory.at(fact.received), at: SupervisionStory.at(fact.arrives))
            #expect(delay == .milliseconds(Int64(fact.delay * 1000)), "\(what): \(fact)")
        }
    }

    private static func header(_ stream: String, _ received: Double, isReplayed: Bool = false) -> StreamHeader {
        StreamHeader(
            stream: stream, epoch: "e", sequence: 1, head: isReplayed ? 2 : 1, type: SamplesRecorded.type, subject: "",
            at: SupervisionStory.at(received), trace: "")
    }

    /// One fact each second with ingest's clock behind by 45 s, so that this is known.
    private static func known() -> TransitDelay {
        var transit = TransitDelay()
        for second in 0...11 {
            let now = SupervisionStory.at(Double(second))
            transit.compare(wall: now, at: now)
            transit.note(Self.header("a", Double(second) - 45), at: now)
        }
        return transit
    }

    private static func received(_ transit: TransitDelay, _ seconds: Double, at now: Double) -> Double? {
        transit.received(SupervisionStory.at(seconds), at: SupervisionStory.at(now)).map {
            Double($0.milliseconds - SupervisionStory.start.milliseconds) / 1000
        }
    }

    @Test("When something was received is told only by what came at once for ten seconds")
    func received() {
        #expect(Self.received(Self.known(), -34, at: 11) == 11)
        #expect(Self.received(Self.known(), -44, at: 11) == 1, "it waited")
        #expect(Self.received(Self.known(), 300, at: 11) == 11, "never later than now")

        var transit = TransitDelay()
        transit.note(Self.header("a", 0), at: SupervisionStory.at(0))
        transit.note(Self.header("a", 1), at: SupervisionStory.at(1))
        #expect(Self.received(transit, 5, at: 5) == nil, "not long enough")
    }

    @Test("SOS-28: what was replayed after a start looked as if it were of now")
    func replayed() {
        var transit = TransitDelay()
        // The last facts of streams that have said nothing for minutes; their replay takes a while.
        for (stream, received, arrives) in [("a", -300, 0), ("b", -200, 12), ("c", -100, 24)] as [(String, Double, Double)] {
            transit.note(Self.header(stream, received, isReplayed: true), at: SupervisionStory.at(arrives))
            transit.note(Self.header(stream, received), at: SupervisionStory.at(arrives))
            #expect(Self.received(transit, received, at: arrives) == nil)
        }
    }

    @Test("After a step of this machine's clock, or of ingest's while it was not heard, nothing is known")
    func stepped() {
        var transit = Self.known()
        transit.compare(wall: SupervisionStory.at(57), at: SupervisionStory.at(12))
        #expect(Self.received(transit, -33, at: 12) == nil)

        transit = Self.known()
        transit.note(Self.header("a", 25, isReplayed: true), at: SupervisionStory.at(40))
        #expect(Self.received(transit, 25, at: 40) == nil)
    }
}
