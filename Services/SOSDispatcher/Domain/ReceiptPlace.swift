// When ingest received a fact, on the time line of this machine, where the wall clocks of the two may differ.

import Contracts

/// The wall clocks say it, unless they are proved to be wrong. Placed too early, what is heard each second would seem to have fallen
/// silent; placed too late, what is over would seem to be of now.
struct ReceiptPlace: Hashable, Sendable {
    /// Also where that is in the future: ingest's clock may be ahead.
    private let byWall: Timestamp
    /// By how long facts were on their way lately; nil where that is not known.
    private let byTransit: Timestamp?
    /// Whether there was more of its stream already when it was said.
    private let isReplayed: Bool
    private let now: Timestamp
    private let tolerated: Duration

    /// - Parameters:
    ///   - receivedAt: by ingest's own clock.
    ///   - wall: what this machine's wall clock shows, at `now` of its steady clock.
    init(
        _ receivedAt: Timestamp, isReplayed: Bool = false, wall: Timestamp, at now: Timestamp, _ transit: TransitDelay,
        _ rules: SupervisionRules
    ) {
        byWall = now + (receivedAt - wall)
        byTransit = transit.received(receivedAt, at: now)
        (self.isReplayed, self.now, tolerated) = (isReplayed, now, rules.toleratedSkew)
    }

    /// By how much ingest's clock is ahead of this machine's, negative where it is behind; nil where that is tolerated or unknown.
    var skew: Duration? {
        guard let byTransit, byWall - byTransit > tolerated || byTransit - byWall > tolerated else { return nil }
        return byWall - byTransit
    }

    /// Whether `skew` says something, whatever it is.
    var isKnown: Bool { byTransit != nil }

    /// Never in the future. What comes at once from an ingest whose clock is ahead is of now by either.
    var at: Timestamp {
        let wall = min(now, byWall)
        guard let byTransit, let skew, skew < .zero || isReplayed else { return wall }
        return byTransit
    }

    /// After a start, while nothing is known: by what was known before, where the wall clocks contradict the order of the person's uploads,
    /// or have shown the future. Drawn to one instant, an alert and its end would be nothing.
    /// - Parameters:
    ///   - skew: as it was.
    ///   - settled: `at`, by the order of the stream.
    ///   - latest: what the person has seen already.
    fileprivate func bySkew(_ skew: Duration, _ settled: Timestamp, after latest: Timestamp) -> Timestamp {
        let remembered = min(now, byWall - skew)
        guard remembered >= latest, skew > .zero ? isReplayed : settled < latest else { return settled }
        return remembered
    }
}

extension Supervision.State {
    /// - Parameter settled: the place, by the order of the stream.
    /// - Returns: where an upload of the person lies.
    mutating func taking(_ place: ReceiptPlace, settled: Timestamp) -> Timestamp {
        if place.isKnown {
            clockSkew = place.skew?.wholeMilliseconds
            return settled
        }
        return clockSkew.map { place.bySkew(.milliseconds($0), settled, after: now) } ?? settled
    }
}

extension SupervisionRules {
    /// The wall clocks of two machines may differ by so much until they are not believed. Less would take everything that a slow disk holds
    /// up for received later than it was.
    fileprivate var toleratedSkew: Duration { min(.seconds(10), signalLost / 3) }
}
