// What operators see of messages. Labels are channels, providers and outcomes; never a person or an address.

import Contracts
import Metrics

struct NotifierMetrics: Sendable {
    func accepted(_ template: MessageTemplate) {
        Counter(label: "notify_accepted_total", dimensions: [("template", template.rawValue)]).increment()
    }

    func attempted(_ channel: Channel, _ provider: String, _ outcome: Delivery.Outcome) {
        Counter(
            label: "notify_attempts_total",
            dimensions: [("channel", channel.rawValue), ("provider", provider), ("outcome", outcome.word)]
        ).increment()
    }

    /// From the message's acceptance until the next system had taken it (NFR-24).
    func sent(_ channel: Channel, after duration: Duration) {
        Timer(label: "notify_sent_seconds", dimensions: [("channel", channel.rawValue)])
            .recordNanoseconds(max(0, duration.wholeMilliseconds) * 1_000_000)
    }

    func settled(_ channel: Channel, _ delivery: Delivery) {
        Counter(
            label: "notify_settled_total",
            dimensions: [("channel", channel.rawValue), ("state", delivery.state.rawValue), ("reason", delivery.reason ?? "none")]
        ).increment()
    }

    func receipt(_ provider: String, _ receipt: Delivery.Receipt) {
        Counter(label: "notify_receipts_total", dimensions: [("provider", provider), ("receipt", receipt.rawValue)]).increment()
    }

    /// - Parameter oldest: how long the oldest message has been waiting.
    func waiting(_ channel: Channel, count: Int, oldest: Duration) {
        Gauge(label: "notify_waiting_messages", dimensions: [("channel", channel.rawValue)]).record(count)
        Gauge(label: "notify_waiting_age_seconds", dimensions: [("channel", channel.rawValue)])
            .record(Double(oldest.wholeMilliseconds) / 1000)
    }
}
