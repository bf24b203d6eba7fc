// The part of subscriptions in erasing a person: the end is told first, then everything that was delivered of them goes.

import Contracts
import GRDB
import ServiceKit

struct SubscriptionErasure: Sendable {
    let book: SubscriptionBook
    private let feeds = FeedTable()
    private let items = FeedItemTable()
    private let grants = GrantProjection()

    init(book: SubscriptionBook) {
        self.book = book
    }

    var steps: ErasureSteps {
        ErasureSteps(
            delete: { db, order in try delete(db, order) },
            kept: "that there was a subscription, without the person: organisations may prove what they paid for")
    }

    private func delete(_ db: Database, _ order: PersonErased) throws -> Int {
        let known = try feeds.ofPerson(db, order.person)
        for feed in known where feed.state != .over { try book.end(db, feed.request, .erased) }
        let erased = try items.erase(db, feeds: known.map(\.number))
        guard erased == 0 else { return erased }
        return try feeds.forget(db, order.person) + grants.erase(db, order.person, scope: order.scope)
    }
}
