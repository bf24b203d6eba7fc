// What a subscription is about, and how one comes to its end (SHR-13, SHR-15, SHR-16).

import Contracts

/// A request that was granted, as far as delivering what comes next needs to know it.
struct FeedScope: Hashable, Sendable {
    var request: RequestID
    var organisation: OrganisationID
    /// Internal; never told to the organisation. Nil once the person is erased.
    var person: PersonID?
    var grant: GrantID
    var types: [Metric]
    /// The window, `to` not included.
    var from: Timestamp
    var to: Timestamp
    var granularity: GrantGranularity
    /// Whether it reaches into the future, so that it keeps delivering; otherwise it is one delivery, and only its end is told.
    var isSubscription: Bool
}

/// Why nothing more is delivered.
enum SubscriptionEnding: String, CaseIterable, Codable, Sendable {
    /// The person withdrew it, or deleted the data.
    case revoked
    /// The period is over, or the third party stopped it.
    case ended
    /// The amount due was not paid, or was paid back.
    case unpaid
    /// The person or what was collected is gone.
    case erased

    /// Of the message that tells a third party's software so.
    var eventType: WebhookEvent {
        switch self {
        case .revoked, .erased: .revoked
        case .ended, .unpaid: .ended
        }
    }

    /// What the third party is told to make of it.
    var explanation: String {
        switch self {
        case .revoked: "The person withdrew the grant; nothing more is delivered. What you have stays with you, under your responsibility."
        case .ended: "The period is over, or you stopped the subscription."
        case .unpaid: "The amount due is not paid."
        case .erased: "The data are not available any more."
        }
    }
}

/// How far a subscription is.
enum FeedState: String, Sendable {
    case running
    /// The grant is not in force any more; why is not known yet. Nothing is delivered.
    case held
    case over
}
