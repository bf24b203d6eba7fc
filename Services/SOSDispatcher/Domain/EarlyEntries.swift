// What was judged before it was stored, so that it is not judged again when it comes in its place.

import Contracts

/// Entries that came on ingest's express lane, in a ring by time: a new one costs the same however many are remembered. In memory only:
/// forgetting costs a second judgement, which finds the same emergency.
struct EarlyEntries: Sendable {
    /// The fact itself comes within that time, or never.
    static let kept = Duration.seconds(600)
    /// One more, and the oldest is forgotten.
    static let mostEntries = 100_000

    private struct Place: Sendable {
        var person: PersonID
        var entry: Sample
        var at: Timestamp
        var number: Int
    }

    /// Numbers of places in the ring; what was taken or forgotten leaves its place there until its turn comes.
    private var heard: [PersonID: [Sample: Int]] = [:]
    private var ring: [Place] = []
    private var oldest = 0
    private var next = 0

    mutating func note(_ entries: [Sample], of person: PersonID, at now: Timestamp) {
        for entry in entries {
            while let first, first.at < now - EarlyEntries.kept || next - first.number >= EarlyEntries.mostEntries { forgetFirst() }
            heard[person, default: [:]][entry] = next
            let place = Place(person: person, entry: entry, at: now, number: next)
            if ring.count < EarlyEntries.mostEntries {
                ring.append(place)
            } else {
                ring[next % EarlyEntries.mostEntries] = place
            }
            next += 1
        }
    }

    /// What of the entries has not been judged yet; the others are forgotten, since nothing is stored twice.
    mutating func take(outOf entries: [Sample], of person: PersonID) -> [Sample] {
        guard heard[person] != nil else { return entries }
        let unheard = entries.filter { heard[person]?.removeValue(forKey: $0) == nil }
        if heard[person]?.isEmpty == true { heard[person] = nil }
        return unheard
    }

    mutating func forget(_ person: PersonID) {
        heard[person] = nil
    }

    private var first: Place? { oldest < next ? ring[oldest % EarlyEntries.mostEntries] : nil }

    private mutating func forgetFirst() {
        guard let first else { return }
        oldest += 1
        guard heard[first.person]?[first.entry] == first.number else { return }
        heard[first.person]?[first.entry] = nil
        if heard[first.person]?.isEmpty == true { heard[first.person] = nil }
    }
}

extension Subscriber {
    /// Entries later than everything that was heard of their metric, and places. What is sent again is not among them.
    func news(in entries: [Sample], receivedAt: Timestamp) -> [Sample] {
        entries.filter { entry in
            guard entry.value != nil else { return true }
            let at = min(entry.at, receivedAt)
            let known = [supervision.latest[entry.type]?.at, course.readings[entry.type]?.last?.at].compactMap { $0 }.max()
            return known.map { at > $0 } ?? true
        }
    }
}
