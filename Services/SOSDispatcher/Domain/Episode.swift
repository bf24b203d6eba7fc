// One stretch of critical values, from its first critical entry until it is over: what an emergency is made of.

import Contracts

/// The one entry that an emergency refers to (SOS-24, INV-14), and how it was critical.
struct Trigger: Hashable, Codable, Sendable {
    enum Kind: String, Codable, Sendable, CaseIterable {
        /// A value left its range.
        case threshold
        /// The wearable felt repetitive shaking: the breach has its metric, for how many seconds, and 0 as limit (SOS-23).
        case shaking
        /// Nothing was heard any more: the entry is the last one before, the breach has its value twice, since silence has no bound.
        case silence
    }

    var breach: Breach
    /// The entry's own time; with person and metric it names the emergency.
    var at: Timestamp
    /// nil in what was written before there were others: a threshold.
    private var otherKind: Kind?

    private enum CodingKeys: String, CodingKey {
        case breach
        case at
        case otherKind = "kind"
    }

    var kind: Kind { otherKind ?? .threshold }

    init(breach: Breach, at: Timestamp, kind: Kind = .threshold) {
        (self.breach, self.at) = (breach, at)
        otherKind = kind == .threshold ? nil : kind
    }

    /// What went wrong, where it is not the breach's metric by itself: part of the emergency's name.
    var word: String { kind == .silence ? kind.rawValue : breach.metric.code }
}

struct Episode: Hashable, Codable, Sendable {
    var trigger: Trigger
    /// When ingest received the first critical entry, on the machine's time line: timers count from here.
    var t0: Timestamp
    /// The same instant by ingest's own clock: what people and integrators are told.
    var receivedAt: Timestamp
    /// Every parameter that has been critical in it.
    var parameters: Set<Parameter>
    /// The first of the uploads by which all values are in range, once the call is due; nil while they are not.
    var normalSince: Timestamp?
    /// When the emergency service took the call, or the person said that help is here; nil before.
    var settledAt: Timestamp?
}
