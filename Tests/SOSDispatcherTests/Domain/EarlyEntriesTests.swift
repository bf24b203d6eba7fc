// What was judged before it was stored: taken once, kept within bounds, and not confused with what is sent again.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Early entries")
struct EarlyEntriesTests {
    private let person = PersonID.random()
    private let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func heart(_ value: Double, after milliseconds: Int64 = 0) -> Sample {
        Sample(type: .heartRate, at: now + .milliseconds(milliseconds), value: value)
    }

    @Test("What was judged early is left out once; everything else of the fact is judged")
    func takenOnce() {
        var early = EarlyEntries()
        early.note([heart(31), heart(32, after: 1000)], of: person, at: now)
        let fact = [heart(31), heart(60, after: 500), heart(32, after: 1000)]
        #expect(early.take(outOf: fact, of: .random()) == fact)
        #expect(early.take(outOf: fact, of: person) == [heart(60, after: 500)])
        #expect(early.take(outOf: fact, of: person) == fact)
    }

    @Test("Another value for the same instant is another entry")
    func otherValue() {
        var early = EarlyEntries()
        early.note([heart(31)], of: person, at: now)
        #expect(early.take(outOf: [heart(30)], of: person) == [heart(30)])
    }

    @Test("Beyond its bound, and after its time, the oldest is forgotten for the newest")
    func bounded() {
        var early = EarlyEntries()
        let many = (0..<EarlyEntries.mostEntries).map { heart(31, after: Int64($0)) }
        early.note(many, of: person, at: now)
        let later = heart(31, after: -1)
        early.note([later], of: person, at: now + .seconds(1))
        #expect(early.take(outOf: [later, many[0], many[1]], of: person) == [many[0]])
        early.note([later], of: person, at: now + EarlyEntries.kept + .seconds(1))
        #expect(early.take(outOf: [later], of: person).isEmpty)
        #expect(early.take(outOf: [many[2], many[99_999]], of: person) == [many[2], many[99_999]])
    }

    @Test("What was taken and noted again is remembered from then on, and its old place forgets nothing")
    func notedAgain() {
        var early = EarlyEntries()
        early.note([heart(31)], of: person, at: now)
        #expect(early.take(outOf: [heart(31)], of: person).isEmpty)
        early.note([heart(31)], of: person, at: now + EarlyEntries.kept)
        early.note([heart(32)], of: person, at: now + EarlyEntries.kept + .seconds(1))
        #expect(early.take(outOf: [heart(31), heart(32)], of: person).isEmpty)
    }

    @Test("S3: past 100,000 remembered entries each event rebuilt everything that was remembered: now one costs what one costs")
    func costs() {
        func cost(_ early: inout EarlyEntries, from first: Int, _ count: Int) -> Duration {
            let entries = (first..<first + count).map { heart(31, after: Int64($0)) }
            return ContinuousClock().measure { for entry in entries { early.note([entry], of: person, at: now) } }
        }
        var early = EarlyEntries()
        // The first fills the ring and is this machine's measure; the second finds it full.
        let filling = cost(&early, from: 0, EarlyEntries.mostEntries)
        let full = cost(&early, from: EarlyEntries.mostEntries, 10_000)
        #expect(full < filling, "10,000 beyond the bound: \(full), the 100,000 before: \(filling)")
    }

    @Test("Who is erased leaves nothing")
    func forgotten() {
        var early = EarlyEntries()
        early.note([heart(31)], of: person, at: now)
        early.forget(person)
        #expect(early.take(outOf: [heart(31)], of: person) == [heart(31)])
    }

    @Test("SOS-09: only what is later than everything heard of its metric is news; a place always is")
    func news() {
        var subscriber = Subscriber()
        let heard = Supervision.Upload(at: now, receivedAt: now, entries: [heart(60), Sample(type: .oxygenSaturation, at: now, value: 97)])
        subscriber.note(heard) { _ in false }
        subscriber.supervision.latest[.heartRate] = LatestValue(value: 60, at: now, holdsUntil: now + .seconds(600))
        let place = Sample(type: .position, at: now, value: nil, position: Position(latitude: 45, longitude: 9))
        let entries = [
            heart(31, after: -1), heart(31), heart(31, after: 1), Sample(type: .oxygenSaturation, at: now, value: 80),
            Sample(type: .bodyTemperature, at: now, value: 41), place,
        ]
        #expect(
            subscriber.news(in: entries, receivedAt: now + .seconds(5)).map(\.type) == [.heartRate, .bodyTemperature, .position])
        // A clock that is ahead does not make old news young.
        #expect(subscriber.news(in: [heart(31, after: 9000)], receivedAt: now).isEmpty)
    }
}
