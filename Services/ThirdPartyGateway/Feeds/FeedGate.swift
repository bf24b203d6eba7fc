// Whether anything may leave now: asked at each page, each event and each attempt (INV-04, SHR-16).

import Contracts

/// Why nothing of a subscription is handed out.
enum FeedRefusal: Error, Hashable, Sendable {
    /// It is over, or about to be.
    case over(SubscriptionEnding?)
    /// What consent says now is not known: privacy fails closed.
    case consentSilent
    /// What comes after that number is not kept any more.
    case released(through: Int64)
    /// No item of the subscription has had that number: it is damaged, or another subscription's.
    case ahead(head: Int64)
}

struct FeedGate: Sendable {
    /// How long ago everything that consent had said was known here.
    let silence: @Sendable () -> Duration

    var isOpen: Bool { silence() <= StreamFamily.grantSilence }

    func check(_ feed: Feed) throws(FeedRefusal) {
        guard feed.state == .running else { throw .over(feed.ending) }
        guard isOpen else { throw .consentSilent }
    }

    /// Whether it can be gone on after that number. A restore sets `head` above every number that was given before (`FeedEpoch`).
    static func check(_ feed: Feed, after: Int64) throws(FeedRefusal) {
        guard after >= feed.released else { throw .released(through: feed.released) }
        guard after <= feed.head else { throw .ahead(head: feed.head) }
    }
}
