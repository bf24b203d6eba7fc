// What of a subscriber a person has set, apart from what is measured and judged.

import Contracts

/// Everything in `Subscriber` counts as a setting but for what is blanked here, so that a field that is added travels by itself.
struct SubscriberSettings: Hashable, Codable, Sendable {
    var isSubscribed: Bool
    var isPaused: Bool
    var own: [Metric: Bounds]
    var personal: [Metric: Bounds]?
    var shaking: Bool?
    var falls: Supervision.FallWatch?
    /// The rest, without supervision, places and course, which each dispatcher has from ingest, what was told of the place, and without
    /// the card from consent.
    private var rest: Subscriber

    init(_ subscriber: Subscriber) {
        isSubscribed = subscriber.supervision.subscribed
        isPaused = subscriber.supervision.stage == .paused
        own = subscriber.supervision.own
        (personal, shaking) = (subscriber.supervision.personal, subscriber.supervision.shaking)
        falls = subscriber.supervision.falls
        rest = subscriber
        (rest.supervision, rest.places, rest.course, rest.card) = (Supervision.State(), LatestPlaces(), RecentCourse(), nil)
        rest.placeTold = nil
    }

    /// The same settings over what this side has measured and judged.
    func applied(to subscriber: Subscriber) -> Subscriber {
        var applied = rest
        (applied.supervision, applied.places, applied.course) = (subscriber.supervision, subscriber.places, subscriber.course)
        (applied.card, applied.placeTold) = (subscriber.card, subscriber.placeTold)
        applied.adoptToldNotes()
        return applied
    }
}
