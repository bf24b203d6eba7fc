// Sentences that sum up hours of those who share anonymously, out of the chunks of the types that they share.

import Contracts
import GRDB
import Logging
import Sealing
import ServiceKit

/// What is to be said of one person.
struct HourSums: Sendable {
    let row: CohortPerson
    /// Nil where nothing of the person can be read: then there is nothing to say.
    let key: SymmetricKey?
    /// `CohortHourSummed` facts as they are published, in the order of their hours.
    let payloads: [[UInt8]]
    /// The beginning of the first hour that is to be said later.
    let through: Int64
}

struct HourSumStore: Sendable {
    /// People of one read, and facts from which on it ends: one transaction, that no upload's flush waits long for, says them.
    private static let peopleAtOnce = 128
    private static let factsAtOnce = 200
    /// A read ends with the person whom it is at.
    private static let longest = Duration.milliseconds(50)

    let vault: ChunkVault
    let people: CohortPeopleStore
    let synthetic: SyntheticPeople
    let logger: Logger

    /// Hours before `hour` of some of those who have any that are not said; of each at most the rest of one day, so that what is long
    /// past is read chunk by chunk of a day. Nothing where everybody's are said.
    func find(_ db: Database, before hour: Int64) throws -> [HourSums] {
        let begun = ContinuousClock.now
        let nobody = synthetic.all
        var (found, facts): ([HourSums], Int) = ([], 0)
        for row in try people.behind(db, before: hour, limit: Self.peopleAtOnce) {
            let sums = try nobody.contains(row.person) ? nil : sum(db, row, before: hour)
            found.append(sums ?? HourSums(row: row, key: nil, payloads: [], through: hour))
            facts += sums?.payloads.count ?? 0
            if facts >= Self.factsAtOnce || ContinuousClock.now - begun >= Self.longest { break }
        }
        return found
    }

    /// Nil where nothing can be read, or nothing was ever measured. What keeps one person's entries from being read holds up nobody.
    private func sum(_ db: Database, _ row: CohortPerson, before hour: Int64) throws -> HourSums? {
        guard let shares = try people.shares(of: row) else {
            logger.error("what somebody shares anonymously is damaged, and nothing of it is said: check the disk")
            return nil
        }
        guard let key = try vault.keys.usableKey(of: row.person), let number = try DeviceStore().personNumber(db, row.person),
            let from = try begin(db, of: row, number, shares, before: hour)
        else { return nil }
        let end = min(hour, UTCDay.range(UTCDay.number(of: from)).upperBound)
        var hours = CohortHours()
        for share in shares where share.metric.definition.shape != .event && share.since.milliseconds < end {
            let range = max(from, share.since.milliseconds)..<end
            try vault.chunks.each(db, of: Series(person: number, metric: share.metric), in: range) { chunk in
                let entries = try vault.undamaged(chunk) {
                    try vault.openColumns($0, of: row.person, key: key, in: range, limit: .max)
                }
                if let entries { hours.add(entries, of: share.metric) }
            }
        }
        let payloads = try hours.facts(about: row.person).map { try FactLog.payload($0) }
        return HourSums(row: row, key: key, payloads: payloads, through: end)
    }

    /// Where to begin: days without any entry are skipped at once. Nil where none has one.
    private func begin(
        _ db: Database, of row: CohortPerson, _ number: Int64, _ shares: [CohortOptIn], before hour: Int64
    ) throws -> Int64? {
        let days = UTCDay.number(of: row.through)...UTCDay.number(of: hour - 1)
        guard days.count > 1 else { return row.through }
        let next = try shares.compactMap { share in
            try vault.days.states(db, of: Series(person: number, metric: share.metric), days, limit: 1).first?.day
        }.min()
        return next.map { max(row.through, UTCDay.range($0).lowerBound) }
    }
}
