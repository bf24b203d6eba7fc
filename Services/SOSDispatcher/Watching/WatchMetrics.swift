// What operators see of the watchdogs. Labels are outcomes; never a person.

import Contracts
import Metrics

struct WatchMetrics: Sendable {
    private let flight = Timer(label: "sos_canary_seconds")
    private let availability = Gauge(label: "sos_canary_availability")
    private let lag = Gauge(label: "sos_consumer_lag_seconds")
    private let silence = Gauge(label: "sos_pair_silence_seconds")
    private let lastHeartbeat = Gauge(label: "sos_heartbeat_sent_timestamp_seconds")

    func flown(_ outcome: CanaryOutcome) {
        Counter(label: "sos_canary_total", dimensions: [("outcome", outcome.word)]).increment()
        switch outcome {
        case .ok(let elapsed), .late(let elapsed): flight.recordMilliseconds(elapsed.wholeMilliseconds)
        case .missed: break
        }
    }

    /// Of the last 30 days (NFR-05).
    func available(_ share: Double) { availability.record(share) }

    /// How long ago everything that ingest had said was known here.
    func lagging(_ duration: Duration) { lag.record(duration / .seconds(1)) }

    /// The same of the other dispatcher.
    func silent(_ duration: Duration) { silence.record(duration / .seconds(1)) }

    func sentHeartbeat(at now: Timestamp) { lastHeartbeat.record(Double(now.milliseconds) / 1000) }
}
