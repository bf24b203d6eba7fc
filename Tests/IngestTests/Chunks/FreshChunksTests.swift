// What is remembered of chunks until the index of times has them.

import Contracts
import Testing

@testable import Ingest

@Suite("Chunks that the index of times does not have yet")
struct FreshChunksTests {
    private let pulse = Series(person: 1, metric: .heartRate)
    private let warmth = Series(person: 1, metric: .bodyTemperature)

    private func filled() -> FreshChunks {
        let fresh = FreshChunks(settledThrough: 10)
        for (id, series) in [(11, warmth), (12, pulse), (13, warmth), (15, pulse)] as [(Int64, Series)] {
            fresh.add(.init(id: id, first: id * 100, last: id * 100 + 5), to: series)
        }
        return fresh
    }

    @Test("A series' chunks are found above an id; of ids below what is remembered nothing is claimed")
    func above() {
        let fresh = filled()
        #expect(fresh.chunks(of: pulse, after: 10)?.map(\.id) == [12, 15])
        #expect(fresh.chunks(of: pulse, after: 12)?.map(\.id) == [15])
        #expect(fresh.chunks(of: pulse, after: 15)?.map(\.id) == [])
        #expect(fresh.chunks(of: Series(person: 2, metric: .heartRate), after: 10)?.map(\.id) == [])
        #expect(fresh.chunks(of: pulse, after: 9) == nil)
        #expect(fresh.count == 4)
    }

    @Test("What waits is given series by series up to an id, and after settling is kept once more for readers that began before")
    func settling() {
        let fresh = filled()
        #expect(fresh.waiting(through: 13) == [12, 11, 13] || fresh.waiting(through: 13) == [11, 13, 12])
        fresh.settled(through: 13)
        #expect(fresh.count == 1 && fresh.waiting(through: 99) == [15])
        #expect(fresh.chunks(of: warmth, after: 10)?.map(\.id) == [11, 13], "a reader of before the commit")
        fresh.settled(through: 15)
        #expect(fresh.count == 0 && fresh.waiting(through: 99) == [])
        #expect(fresh.chunks(of: pulse, after: 13)?.map(\.id) == [15])
        #expect(fresh.chunks(of: pulse, after: 10) == nil)
        fresh.settled(through: 12)
        #expect(fresh.chunks(of: pulse, after: 13)?.map(\.id) == [15], "an older id changes nothing")
    }
}
