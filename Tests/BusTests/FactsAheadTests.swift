// What comes before its turn: handed on ahead once a consumer has been behind for a while, kept within bounds, never handed on twice.

import Contracts
import Testing

@testable import Bus

@Suite("Facts ahead of their turn")
struct FactsAheadTests {
    private let start = ContinuousClock.now

    private func event(_ sequence: Int64, of stream: String = "s", bytes: Int = 1) -> StreamEvent {
        let header = StreamHeader(
            stream: stream, epoch: "e", sequence: sequence, head: sequence, type: "t.v1", subject: "", at: Timestamp(milliseconds: 1),
            trace: "")
        return StreamEvent(header: header, payload: Array(repeating: 0x20, count: bytes))
    }

    @Test(
        "P6: what came live while a long gap was replayed was heard in its turn alone: once behind for a while, it is handed on at once, each once"
    )
    func ahead() {
        var facts = FactsAhead()
        facts.note(event(7))
        #expect(facts.takeAhead(at: start).isEmpty && !facts.isBehind, "nothing is missing")
        facts.fellBehind(at: start)
        facts.fellBehind(at: start + .seconds(9))
        #expect(facts.takeAhead(at: start + BusLimits.aheadTimeout - .milliseconds(1)).isEmpty, "a lost frame is there again in milliseconds")
        #expect(facts.takeAhead(at: start + BusLimits.aheadTimeout).map(\.header.sequence) == [7])
        #expect(facts.takeAhead(at: start + BusLimits.aheadTimeout).isEmpty)
        facts.note(event(8))
        facts.caughtUp()
        #expect(facts.takeAhead(at: start + .seconds(60)).isEmpty)
    }

    @Test(
        "What has no place and was left for later is handed on once its stream is current; what has one is applied in it, and not handed on"
    )
    func current() {
        var facts = FactsAhead()
        facts.fellBehind(at: start)
        facts.note(event(0))
        facts.note(event(5))
        for event in facts.takeAhead(at: start + .seconds(1)) where event.header.sequence == 0 { facts.leave(event) }
        #expect(facts.takeAhead(at: start + .seconds(2)).isEmpty, "it was asked about")
        facts.note(event(6))
        facts.note(event(0, of: "other"))
        #expect(facts.takeCurrent { $0 == "s" }.map(\.header.sequence) == [0])
        #expect(facts.takeCurrent { $0 == "other" }.map(\.header.stream) == ["other"])
        #expect(facts.takeCurrent { _ in true }.isEmpty)
    }

    @Test("The newest are kept within both bounds")
    func bounds() {
        var facts = FactsAhead()
        facts.fellBehind(at: start)
        for sequence in 1...5 { facts.note(event(Int64(sequence), bytes: 10)) }
        facts.keepNewest(frames: 3, bytes: 100)
        facts.keepNewest(frames: 10, bytes: 25)
        #expect(facts.takeAhead(at: start + .seconds(1)).map(\.header.sequence) == [4, 5])
    }
}
