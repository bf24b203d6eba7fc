// One stretch of critical values, from its first critical entry until it is over: what an emergency is made of.

import Contracts

/// The one entry that an emergency refers to (SOS-24, INV-14), and how it was critical.
struct Trigger: Hashable, Codable, Sendable {
    var breach: Breach
    /// The entry's own time; with person and metric it names the emergency.
    var at: Timestamp
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
