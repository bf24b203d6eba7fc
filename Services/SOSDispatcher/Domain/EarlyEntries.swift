// What was judged before it was stored, so that it is not judged again when it comes in its place.

import Contracts

/// Entries that came on ingest's express lane. In memory only: forgetting costs a second judgement, which finds the same emergency.
struct EarlyEntries: Sendable {
    /// The fact itself comes within that time, or never.
    static let kept = Duration.seconds(600)
    static let mostEntries = 100_000

    private var heard: [PersonID: [Sample: Timestamp]] = [:]
    private var count = 0

    mutating func note(_ entries: [Sample], of person: PersonID, at now: Timestamp) {
        if count + entries.count > EarlyEntries.mostEntries { forget(before: now - EarlyEntries.kept) }
        guard count + entries.count <= EarlyEntries.mostEntries else { return }
        for entry in entries where heard[person, default: [:]].updateValue(now, forKey: entry) == nil { count += 1 }
    }

    /// What of the entries has not been judged yet; the others are forgotten, since nothing is stored twice.
    mutating func take(outOf entries: [Sample], of person: PersonID) -> [Sample] {
        guard var known = heard[person] else { return entries }
        let unheard = entries.filter { known.removeValue(forKey: $0) == nil }
        count -= entries.count - unheard.count
        heard[person] = known.isEmpty ? nil : known
        return unheard
    }

    mutating func forget(_ person: PersonID) {
        count -= heard.removeValue(forKey: person)?.count ?? 0
    }

    private mutating func forget(before time: Timestamp) {
        heard = heard.mapValues { $0.filter { $0.value >= time } }.filter { !$0.value.isEmpty }
        count = heard.values.reduce(0) { $0 + $1.count }
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
