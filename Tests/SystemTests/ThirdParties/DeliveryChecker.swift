// The judge of deliveries to third parties: what was uploaded, and what came by each way; violations out. Pure.

import Contracts

/// What a test brings.
struct DeliveryEvidence: Sendable {
    var sent: Set<Entry> = []
    var acknowledged: Set<Entry> = []
    /// Whose data each subscription brings.
    var subscriptions: [RequestID: PersonID] = [:]
    /// The last number that there is, as the gateway says.
    var heads: [RequestID: Int64] = [:]
    /// By the name of each way, in the order in which a program stored them.
    var ways: [String: [RequestID: [DeliveredItem]]] = [:]
    /// Everything that came to each receiver, stored or not.
    var deliveries: [String: [WebhookDelivery]] = [:]

    /// What a program makes of its receiver's deliveries by the rules of docs/third-parties/webhooks.md: a message that is known is
    /// dropped, and so is an item whose number is not above the last one.
    mutating func apply(_ deliveries: [WebhookDelivery], as way: String) {
        self.deliveries[way] = deliveries
        var seen: Set<String> = []
        var logs: [RequestID: [DeliveredItem]] = [:]
        for delivery in deliveries where delivery.isKept && seen.insert(delivery.id).inserted {
            for batch in delivery.batches {
                let last = logs[batch.subscription]?.last?.number ?? 0
                logs[batch.subscription, default: []] += batch.items.filter { $0.number > last }
            }
        }
        ways[way] = logs
    }
}

enum DeliveryViolation: Hashable, Sendable, CustomStringConvertible {
    case gap(way: String, RequestID, after: Int64, next: Int64)
    case incomplete(way: String, RequestID, last: Int64, head: Int64)
    case lost(way: String, SampleKey)
    case altered(way: String, SampleKey)
    case invented(way: String, RequestID, number: Int64)
    case twice(way: String, RequestID, number: Int64)
    case unsigned(way: String, message: String)
    case differs(way: String, message: String)

    var description: String {
        switch self {
        case .gap(let way, let request, let after, let next): "\(way) of \(request): \(next) follows \(after)"
        case .incomplete(let way, let request, let last, let head): "\(way) of \(request): ends at \(last) of \(head)"
        case .lost(let way, let key): "\(way): an acknowledged entry is missing: \(key.person) \(key.type) \(key.at.rfc3339)"
        case .altered(let way, let key): "\(way): an entry has another value: \(key.person) \(key.type) \(key.at.rfc3339)"
        case .invented(let way, let request, let number): "\(way) of \(request): item \(number) was never uploaded"
        case .twice(let way, let request, let number): "\(way) of \(request): item \(number) says again what was said"
        case .unsigned(let way, let message): "\(way): \(message) is not signed as it should be"
        case .differs(let way, let message): "\(way): \(message) came again with other items"
        }
    }
}

struct DeliveryReport: JudgedReport, Sendable {
    var violations: Set<DeliveryViolation> = []
    var line = ""
}

enum DeliveryChecker {
    static func report(_ evidence: DeliveryEvidence) -> DeliveryReport {
        var report = DeliveryReport()
        let due = Dictionary(grouping: evidence.acknowledged, by: \.key.person)
        let known = Dictionary(evidence.sent.map { ($0.key, $0.reading) }) { one, _ in one }
        for (way, logs) in evidence.ways {
            for (subscription, person) in evidence.subscriptions {
                report.violations.formUnion(
                    violations(
                        way, subscription, of: person, logs[subscription] ?? [], head: evidence.heads[subscription], due[person] ?? [],
                        known))
            }
        }
        var repeats = 0
        for (way, deliveries) in evidence.deliveries {
            report.violations.formUnion(messages(way, deliveries))
            repeats += deliveries.count - Set(deliveries.map(\.id)).count
        }
        let counts = evidence.ways.sorted { $0.key < $1.key }.map { way, logs in "\(logs.values.reduce(0) { $0 + $1.count }) by \(way)" }
        report.line =
            "\(evidence.acknowledged.count) acknowledged entries of \(evidence.subscriptions.count) subscriptions, "
            + "\(counts.joined(separator: ", ")), \(repeats) messages repeated; \(report.violations.count) violations"
        return report
    }

    private static func violations(
        _ way: String, _ subscription: RequestID, of person: PersonID, _ items: [DeliveredItem], head: Int64?, _ due: [Entry],
        _ known: [SampleKey: Reading]
    ) -> Set<DeliveryViolation> {
        var found: Set<DeliveryViolation> = []
        var last: Int64 = 0
        var values: [SampleKey: Double] = [:]
        for item in items {
            if item.number != last + 1 { found.insert(.gap(way: way, subscription, after: last, next: item.number)) }
            last = item.number
            guard let type = item.type.flatMap({ Metric(code: $0) }), let at = item.at.flatMap({ Timestamp(rfc3339: $0) }),
                let value = item.value, let reading = known[SampleKey(person: person, type: type, at: at)]
            else {
                found.insert(.invented(way: way, subscription, number: item.number))
                continue
            }
            let key = SampleKey(person: person, type: type, at: at)
            if value != reading.value { found.insert(.altered(way: way, key)) }
            // Each entry lies in a second of its own, which never changes: nothing has to be told again.
            if values.updateValue(value, forKey: key) != nil || item.replaces != nil {
                found.insert(.twice(way: way, subscription, number: item.number))
            }
        }
        if let head, last != head { found.insert(.incomplete(way: way, subscription, last: last, head: head)) }
        for entry in due where values[entry.key] == nil { found.insert(.lost(way: way, entry.key)) }
        return found
    }

    private static func messages(_ way: String, _ deliveries: [WebhookDelivery]) -> Set<DeliveryViolation> {
        var found: Set<DeliveryViolation> = []
        var first: [String: [WebhookDelivery.Batch]] = [:]
        for delivery in deliveries {
            if !(delivery.isSigned.v1 && delivery.isSigned.v1a) || delivery.message == nil {
                found.insert(.unsigned(way: way, message: delivery.id))
            }
            // What was withdrawn since is left out of a repetition; the rest is the same.
            guard let before = first.updateValue(delivery.batches, forKey: delivery.id) else { continue }
            if !Set(delivery.batches).isSubset(of: before) { found.insert(.differs(way: way, message: delivery.id)) }
        }
        return found
    }
}
