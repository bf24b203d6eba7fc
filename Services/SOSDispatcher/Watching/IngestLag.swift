// How far what is known of ingest's entries is behind, as a figure and as a remark.

import Bus

/// Nothing heard yet counts from the making of this.
struct IngestLag: Sendable {
    let samples: StreamFreshness
    private let begun = ContinuousClock.now

    init(samples: StreamFreshness) {
        self.samples = samples
    }

    /// How long ago everything that ingest had said was known here.
    var current: Duration { samples.age ?? ContinuousClock.now - begun }

    /// No reason not to be asked, and none to pass over to the other dispatcher, which is mostly behind as well: alarms that come now are
    /// judged at once.
    var remarks: [String] {
        let lag = current
        guard lag > SupervisionService.deafAfter else { return [] }
        return ["not everything is known that ingest has said, since \(lag.components.seconds) s: it is silent, or is being caught up with"]
    }
}
