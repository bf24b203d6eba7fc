// The part of subscriptions in erasing a person: the end is told first, then everything that was delivered of them goes.

import Contracts
import GRDB
import ServiceKit

struct SubscriptionErasureStore: Sendable {
    let repository: SubscriptionRepository
    private let feeds = FeedStore()
    private let items = FeedItemStore()
    private let grants = GrantProjection()

    init(repository: SubscriptionRepository) {
        self.repository = repository
    }

    var steps: ErasureSteps {
        ErasureSteps(
            delete: { db, order in try delete(db, order) },
            kept: "that there was a subscription, without the person: organisations may prove what they paid for")
    }

    private func delete(_ db: Database, _ order: PersonErased) throws -> Int {
        let known = try feeds.ofPerson(db, order.person)
        for feed in known where feed.state != .over { try repository.end(db, feed.request, .erased) }
        let erased = try items.erase(db, feeds: known.map(\.number))
        guard erased == 0 else { return erased }
        return try feeds.forget(db, order.person) + grants.erase(db, order.person, scope: order.scope)
    }
}
