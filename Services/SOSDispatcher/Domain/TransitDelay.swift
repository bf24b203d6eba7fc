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

    private var newest: Timestamp?
    private var least: Duration?
    private var former: Duration?
    private var since = Timestamp(milliseconds: 0)

    /// - Parameters:
    ///   - receivedAt: ingest's receipt, by its own clock.
    ///   - now: of the steady clock here.
    /// - Returns: how long it was on its way beyond what is usual, never negative.
    mutating func note(receivedAt: Timestamp, at now: Timestamp) -> Duration {
        let told = now - receivedAt
        if let newest, receivedAt < newest - Self.disorder { (self.newest, least, former) = (nil, nil, nil) }
        if least == nil {
            since = now
        } else if now - since > Self.memory {
            (former, least, since) = (least, nil, now)
        }
        newest = max(newest ?? receivedAt, receivedAt)
        let offset = [told, least, former].compactMap(\.self).min() ?? told
        least = min(least ?? told, told)
        return told - offset
    }
}
