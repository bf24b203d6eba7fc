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
}
