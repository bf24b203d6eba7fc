// Which pages make one snapshot.

import Contracts
import Testing

@testable import Bus

@Suite("Pages of a snapshot")
struct SnapshotPagesTests {
    private func reply(_ sequence: Int64, of epoch: String = "e", next: String?) -> SnapshotStream.Reply {
        SnapshotStream.Reply(epoch: epoch, sequence: sequence, facts: [], next: next)
    }

    @Test("S5: the position comes with the last page, and is the first one's: what changed since then is replayed")
    func position() throws {
        var pages = SnapshotPages()
        let taken = [reply(7, next: "a"), reply(9, next: "b"), reply(12, next: nil)].map { pages.take($0, of: "s") }
        #expect(taken.map { $0?.isFirst } == [true, false, false])
        #expect(taken.map { $0?.next } == [nil, nil, StreamPosition(stream: "s", epoch: "e", next: 8)])
        let whole = pages.take(reply(3, next: nil), of: "s")
        #expect(whole?.isFirst == true && whole?.next?.next == 4)
    }

    @Test("S5: a snapshot whose publisher begins another epoch, or that breaks off, begins anew; one of another stream goes on")
    func anew() {
        var pages = SnapshotPages()
        #expect(pages.take(reply(7, next: "a"), of: "s")?.isFirst == true)
        #expect(pages.take(reply(2, next: "a"), of: "t")?.isFirst == true)
        #expect(pages.take(reply(1, of: "f", next: "b"), of: "s") == nil)
        #expect(pages.take(reply(1, of: "f", next: "a"), of: "s")?.isFirst == true)
        pages.breakOff("s")
        #expect(pages.take(reply(2, of: "f", next: nil), of: "s")?.next?.next == 3)
        #expect(pages.take(reply(5, next: nil), of: "t")?.next?.next == 3)
    }

    @Test("a snapshot without an end is given up")
    func endless() {
        var pages = SnapshotPages()
        var taken = 0
        while pages.take(reply(1, next: "a"), of: "s") != nil { taken += 1 }
        #expect(taken == BusLimits.pagesPerSnapshot)
    }
}
