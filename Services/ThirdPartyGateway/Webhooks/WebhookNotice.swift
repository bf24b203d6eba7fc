// What a third party's software is told beside data: that a grant or a subscription is over, wholly or in part.

import Contracts

/// Kept as it will be sent; says nothing about the person.
struct WebhookNotice: Codable, Hashable, Sendable {
    /// The `reason` where only some data types are gone.
    static let typesWithdrawn = "types-withdrawn"

    /// Of the message: `revoked` or `ended`.
    var type: WebhookEvent
    var subscription: RequestID
    var grant: GrantID
    /// A word for programs.
    var reason: String
    var explanation: String
    /// What is not delivered any more.
    var types: [String]
    /// Whether anything is left of it.
    var isWhole: Bool
    /// The number of the last item that there ever was.
    var head: Int64

    static func over(_ feed: Feed, _ why: SubscriptionEnding) -> WebhookNotice {
        WebhookNotice(
            type: why.eventType, subscription: feed.request, grant: feed.grant, reason: why.rawValue, explanation: feed.explanation(why),
            types: feed.types.map(\.code), isWhole: true, head: feed.head)
    }

    static func over(_ scope: FeedScope, _ why: SubscriptionEnding) -> WebhookNotice {
        WebhookNotice(
            type: why.eventType, subscription: scope.request, grant: scope.grant, reason: why.rawValue, explanation: why.explanation,
            types: scope.types.map(\.code), isWhole: true, head: 0)
    }

    static func narrowed(_ feed: Feed, gone: [Metric]) -> WebhookNotice {
        WebhookNotice(
            type: SubscriptionEnding.revoked.eventType, subscription: feed.request, grant: feed.grant, reason: typesWithdrawn,
            explanation: "The person withdrew these data types; the others are delivered as before.", types: gone.map(\.code),
            isWhole: false, head: feed.head)
    }
}

/// That a window of a subscription to a group was closed: never its entries.
struct GroupWindowNotice: Codable, Hashable, Sendable {
    var groupRequest: GroupRequestID
    /// Its number, from 1 without gaps.
    var window: Int
    var status: GroupWindowStatus
    /// RFC 3339.
    var from: String
    /// Not included.
    var to: String

    init(_ window: GroupWindowClosed) {
        (groupRequest, self.window, status) = (window.request, window.sequence, window.status)
        (from, to) = (window.from.rfc3339, window.to.rfc3339)
    }

    /// Of the message.
    var type: WebhookEvent {
        switch status {
        case .released: .windowReleased
        case .withheld: .windowWithheld
        }
    }
}

/// Messages of one channel go one after the other; the end of a grant does not wait behind data.
enum WebhookChannel: String, CaseIterable, Sendable {
    case items, notices
}

/// What a message holds, as it is kept: data only by their numbers.
enum WebhookContent: Codable, Hashable, Sendable {
    case notice(WebhookNotice)
    case window(GroupWindowNotice)
    case items([Part])
    /// What was kept is damaged.
    case unreadable

    /// The items after one number, up to another, of one subscription. None of them: a sign of life that carries the head.
    struct Part: Codable, Hashable, Sendable {
        var feed: Int64
        var after: Int64
        var through: Int64
    }
}

struct WebhookMessage: Hashable, Sendable {
    /// The order in which messages of a channel are sent.
    let number: Int64
    /// `webhook-id`: the same at each attempt.
    let id: MessageID
    let endpoint: WebhookEndpointID
    let channel: WebhookChannel
    let content: WebhookContent
    let createdAt: Timestamp
    var dueAt: Timestamp
    var attempts = 0
    var firstAttemptAt: Timestamp?
    var lastAttemptAt: Timestamp?
    var lastOutcome: String?
}
