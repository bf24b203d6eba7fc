// What the bus counts. Labels are names of families, peers and reasons; never a person.

import Metrics

enum BusMetrics {
    /// Facts between a consumer's next and the publisher's head, over all streams of the family.
    static func lag(_ family: String) -> Gauge { Gauge(label: "bus_consumer_lag", dimensions: [("family", family)]) }
    static func gaps(_ family: String) -> Counter { Counter(label: "bus_gaps_total", dimensions: [("family", family)]) }
    static func replayed(_ family: String) -> Counter { Counter(label: "bus_replayed_total", dimensions: [("family", family)]) }
    /// Facts that no log holds any more: skipped by a consumer of a stream without snapshots.
    static func lost(_ family: String) -> Counter { Counter(label: "bus_lost_total", dimensions: [("family", family)]) }
    static func queueDepth(_ queue: String) -> Gauge { Gauge(label: "bus_queue_depth", dimensions: [("queue", queue)]) }
    static func dropped(_ queue: String) -> Counter { Counter(label: "bus_dropped_total", dimensions: [("queue", queue)]) }
    static func refused(_ reason: String) -> Counter { Counter(label: "bus_refused_total", dimensions: [("reason", reason)]) }
}
