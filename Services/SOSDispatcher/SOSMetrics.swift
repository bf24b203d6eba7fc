// What operators see of supervision and dispatch. Labels are outcomes; never a person.

import Contracts
import Metrics

struct SOSMetrics: Sendable {
    private let detection = Timer(label: "sos_detection_seconds")
    private let dispatch = Timer(label: "sos_dispatch_seconds")
    private let acknowledgement = Timer(label: "sos_acknowledgement_seconds")
    private let subscribers = Gauge(label: "sos_subscribers")
    private let open = Gauge(label: "sos_open_emergencies")
    private let outbox = Gauge(label: "sos_outbox_messages")
    private let outboxAge = Gauge(label: "sos_outbox_age_seconds")
    private let undecodable = Counter(label: "sos_undecodable_total")
    private let volatileDispatches = Counter(label: "sos_volatile_dispatches_total")

    /// From ingest's receipt of an upload to what supervision decided about it (SOS-10).
    func decided(after duration: Duration) { detection.recordNanoseconds(duration.nanoseconds) }

    /// From `t0` to the first attempt (SOS-15, INV-22).
    func dispatched(after duration: Duration) { dispatch.recordNanoseconds(duration.nanoseconds) }

    /// From the message's making to its acknowledgement.
    func acknowledged(after duration: Duration) { acknowledgement.recordNanoseconds(duration.nanoseconds) }

    func counted(subscribers count: Int, openEmergencies: Int) {
        subscribers.record(count)
        open.record(openEmergencies)
    }

    /// - Parameter oldest: how long the oldest unacknowledged message has been waiting.
    func waiting(messages: Int, oldest: Duration) {
        outbox.record(messages)
        outboxAge.record(Double(oldest.nanoseconds) / 1_000_000_000)
    }

    func attempted(_ outcome: String) { Counter(label: "sos_attempts_total", dimensions: [("outcome", outcome)]).increment() }
    func couldNotDecode() { undecodable.increment() }
    /// A call that went out before it was on disk.
    func dispatchedBeforeStored() { volatileDispatches.increment() }
}

extension Duration {
    /// Never negative: two machines' clocks may disagree.
    fileprivate var nanoseconds: Int64 { max(0, components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000) }
}
