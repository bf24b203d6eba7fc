// How long a fact of ingest was on its way, without the assumption that the clocks of two machines agree.

import Contracts

/// What lies between ingest's receipt of something, by its wall clock, and its arrival here, by the steady clock, is the offset of the two
/// clocks and the time on the way. Of what came lately the least is taken for the offset: what came at once shows it. Where nothing is
/// known, or ingest's clock was set back, a fact counts as of now: a doubt never ends in silence.
struct TransitDelay: Sendable {
    /// The least is remembered for so long at least, for twice as long while facts come. A silence of any length makes nothing forgotten:
    /// what waited in a process that stood still is compared with what came before.
    static let memory = Duration.seconds(60)
    /// Facts of several streams, or that waited for a disk, may come that much out of order; more means that the clock was set back.
    static let disorder = Duration.seconds(10)
    /// So long something must have been known until the wall clocks are contradicted by it: what came first may have waited itself.
    static let settling = Duration.seconds(10)

    private var newest: Timestamp?
    private var least: Duration?
    private var former: Duration?
    private var since = Timestamp(milliseconds: 0)
    private var knownSince: Timestamp?
    /// Of this machine, from its steady clock to its wall clock.
    private var wallOffset: Duration?
    /// Streams of which a last fact has been heard.
    private var caughtUp: Set<String> = []

    /// - Parameters:
    ///   - receivedAt: ingest's receipt, by its own clock.
    ///   - now: of the steady clock here.
    /// - Returns: how long it was on its way beyond what is usual, never negative.
    mutating func note(receivedAt: Timestamp, at now: Timestamp) -> Duration {
        let told = now - receivedAt
        if let newest, receivedAt < newest - Self.disorder { forget() }
        if least == nil {
            since = now
        } else if now - since > Self.memory {
            (former, least, since) = (least, nil, now)
        }
        newest = max(newest ?? receivedAt, receivedAt)
        knownSince = knownSince ?? now
        let offset = [told, least, former].compactMap(\.self).min() ?? told
        least = min(least ?? told, told)
        return told - offset
    }

    /// As `note`, of a stored fact. What is replayed from the log was not on its way all that time; the last of it, which looks like news,
    /// is the first last one of its stream.
    mutating func note(_ header: StreamHeader, at now: Timestamp) {
        guard header.head <= header.sequence else {
            // Replayed, and from the future: ingest's clock was set forward while it was not heard.
            if let offset, header.at + offset > now + Self.disorder { forget() }
            return
        }
        if !caughtUp.insert(header.stream).inserted { _ = note(receivedAt: header.at, at: now) }
    }

    /// After a step of this machine's own wall clock nothing is known: ingest may run on the same machine.
    mutating func compare(wall: Timestamp, at now: Timestamp) {
        let offset = wall - now
        let step = (offset - (wallOffset ?? offset)).wholeMilliseconds
        if abs(step) > Self.disorder.wholeMilliseconds { forget() }
        wallOffset = offset
    }

    /// When ingest received something, on the steady clock here and never later than now; nil where that is not known for long enough.
    func received(_ receivedAt: Timestamp, at now: Timestamp) -> Timestamp? {
        guard let offset, let knownSince, now - knownSince >= Self.settling else { return nil }
        return min(now, receivedAt + offset)
    }

    private var offset: Duration? { [least, former].compactMap(\.self).min() }

    private mutating func forget() {
        (newest, least, former, knownSince) = (nil, nil, nil, nil)
    }
}
