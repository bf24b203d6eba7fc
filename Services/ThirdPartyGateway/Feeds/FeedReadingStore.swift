// One batch of what was read of many subscriptions, added to their logs in one transaction.

import Contracts
import GRDB
import Sealing
import ServiceKit

struct FeedReadingStore: Sendable {
    /// Stretches that are read and added at once: two questions' worth, which ingest answers side by side.
    static let batch = 2 * ReadSampleRanges.mostStretches
    /// After a refusal of ingest, which may not have received the grant yet, or not of consent.
    private static let afterDenial = Duration.seconds(1)
    /// A refusal that another question like it will meet again.
    private static let afterFault = Duration.seconds(60)
    /// A step that should be over by this clock is not by ingest's.
    private static let afterEarly = Duration.milliseconds(100)

    let keys: PersonKeys
    /// Learn of a request whose first item is there.
    let bills: BillStore
    private let feeds = FeedStore()
    private let events = FeedEventStore()
    private let items = FeedItemStore()

    init(keys: PersonKeys, bills: BillStore) {
        (self.keys, self.bills) = (keys, bills)
    }

    /// What can be read by now.
    func due(_ db: Database, at now: Timestamp) throws -> [FeedEvent] {
        try events.due(db, at: now, limit: Self.batch)
    }

    func nextDue(_ db: Database) throws -> Timestamp? {
        try events.nextDue(db)
    }

    /// It is not to be read for now.
    func putOff(_ db: Database, _ one: FeedEvent, at now: Timestamp) throws {
        try events.wait(db, one, until: now + Self.afterFault)
    }

    /// - Returns: the subscriptions that have grown.
    func take(
        _ db: Database, _ asked: [FeedEvent], _ outcomes: [ReadSampleRanges.Outcome], keys: [PersonID: SymmetricKey], at now: Timestamp
    ) throws -> [Feed] {
        var grown: [Int64: Feed] = [:]
        for (one, outcome) in zip(asked, outcomes) {
            // Withdrawn, erased or at its end meanwhile: what was read is not kept.
            guard var feed = try grown[one.feed.number] ?? feeds.find(db, one.feed.number), feed.state == .running,
                feed.types.contains(one.metric), let person = feed.person, let key = keys[person], self.keys.isCurrent(key, of: person)
            else {
                try putOff(db, one, at: now)
                continue
            }
            guard let readTo = outcome.readTo else {
                let isFault = outcome.denial?.code == .invalid
                try events.wait(db, one, until: now + (isFault ? Self.afterFault : Self.afterDenial))
                continue
            }
            let wasEmpty = feed.newest == nil
            if try items.append(db, outcome.samples, to: &feed, key: key, at: now) > 0 {
                grown[feed.number] = feed
                if wasEmpty { try bills.delivered(db, feed.request, at: now) }
            }
            try events.settle(db, one, readTo: readTo.milliseconds, retryAt: now + Self.afterEarly)
        }
        for feed in grown.values { try feeds.advance(db, feed) }
        return Array(grown.values)
    }
}
