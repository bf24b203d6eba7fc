// The judge of deliveries bites: each kind of violation, made by hand in deliveries that are otherwise good, is found.

import Contracts
import Foundation
import TestKit
import Testing

@Suite("The checker of deliveries")
struct DeliveryCheckerTests {
    private static let person = PersonID(bits: 1)
    private static let subscription = RequestID(bits: 2)
    private static let beginning = Timestamp(milliseconds: 1_700_000_000_000)

    private static func entry(_ second: Int64) -> Entry {
        Entry(person, Sample(type: .heartRate, at: beginning + .seconds(second), value: 60 + Double(second)))
    }

    private static func item(_ number: Int64) -> DeliveredItem {
        DeliveredItem(number: number, type: "heart-rate", at: (beginning + .seconds(number)).rfc3339, value: 60 + Double(number))
    }

    private static func message(_ id: String, _ numbers: ClosedRange<Int64>, isKept: Bool = true) -> WebhookDelivery {
        let batch = WebhookDelivery.Batch(
            subscription: subscription, after: numbers.lowerBound - 1, through: numbers.upperBound, items: numbers.map(item))
        return WebhookDelivery(
            id: id, message: .init(type: "subscription.items", data: .init(batches: [batch])), isSigned: (true, true), at: .now,
            isKept: isKept)
    }

    /// Four entries by pages and by webhooks, one message refused at first and one that came twice.
    private static var good: DeliveryEvidence {
        var evidence = DeliveryEvidence()
        evidence.sent = Set((1...5).map(entry))
        evidence.acknowledged = Set((1...4).map(entry))
        evidence.subscriptions = [subscription: person]
        evidence.heads = [subscription: 4]
        evidence.ways["pages"] = [subscription: (1...4).map(item)]
        evidence.apply(
            [message("a", 1...2, isKept: false), message("a", 1...2), message("b", 3...4), message("b", 3...4)], as: "webhooks")
        return evidence
    }

    @Test("finds nothing wrong with deliveries in which every promise was kept, repeated messages included")
    func nothing() {
        let report = DeliveryChecker.report(Self.good)
        #expect(report.violations.isEmpty, "\(report.summary)")
        #expect(report.line.contains("2 messages repeated"))
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let plant: @Sendable (inout DeliveryEvidence) -> Set<DeliveryViolation>
    }

    private static let faults = [
        Fault(testDescription: "an item is missing") { evidence in
            evidence.ways["pages"]?[subscription]?.remove(at: 1)
            return [.gap(way: "pages", subscription, after: 1, next: 3), .lost(way: "pages", entry(2).key)]
        },
        Fault(testDescription: "the last one is missing") { evidence in
            evidence.ways["pages"]?[subscription]?.removeLast()
            return [.incomplete(way: "pages", subscription, last: 3, head: 4), .lost(way: "pages", entry(4).key)]
        },
        Fault(testDescription: "an item has another value") { evidence in
            evidence.ways["pages"]?[subscription]?[2].value = 99
            return [.altered(way: "pages", entry(3).key)]
        },
        Fault(testDescription: "the same is told under a new number") { evidence in
            var again = item(4)
            again.number = 5
            evidence.heads[subscription] = 5
            evidence.ways["pages"]?[subscription]?.append(again)
            evidence.ways["webhooks"] = nil
            return [.twice(way: "pages", subscription, number: 5)]
        },
        Fault(testDescription: "something that nobody uploaded") { evidence in
            evidence.heads[subscription] = 5
            evidence.sent.remove(entry(5))
            evidence.ways["pages"]?[subscription]?.append(item(5))
            evidence.ways["webhooks"] = nil
            return [.invented(way: "pages", subscription, number: 5)]
        },
        Fault(testDescription: "a message overtakes another") { evidence in
            evidence.apply([message("b", 3...4), message("a", 1...2)], as: "webhooks")
            return [
                .gap(way: "webhooks", subscription, after: 0, next: 3), .lost(way: "webhooks", entry(1).key),
                .lost(way: "webhooks", entry(2).key),
            ]
        },
        Fault(testDescription: "a message comes again with other items") { evidence in
            evidence.apply([message("a", 1...2), message("b", 3...4), message("b", 2...4)], as: "webhooks")
            return [.differs(way: "webhooks", message: "b")]
        },
        Fault(testDescription: "a message is not signed") { evidence in
            var messages = [message("a", 1...2), message("b", 3...4)]
            messages[0] = WebhookDelivery(
                id: "a", message: messages[0].message, isSigned: (true, false), at: messages[0].at, isKept: true)
            evidence.apply(messages, as: "webhooks")
            return [.unsigned(way: "webhooks", message: "a")]
        },
    ]

    @Test("turns red for each kind of violation and names it", arguments: faults)
    func bites(_ fault: Fault) {
        var evidence = Self.good
        let expected = fault.plant(&evidence)
        #expect(DeliveryChecker.report(evidence).violations == expected)
    }

    @Test("reads an event stream however its bytes are cut")
    func events() {
        let text = "event: item\nid: 4\ndata: {\"number\":4}\n\nevent: heartbeat\ndata: {\"head\":4}\n\n"
        let (first, second) = (text.prefix(9), text.dropFirst(9))
        let chunks = [first, second].map { "\(String($0.utf8.count, radix: 16))\r\n\($0)\r\n" }.joined()
        let bytes = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)".utf8)
        for size in [1, 3, 7, bytes.count] {
            var parser = EventStreamParser()
            var found: [EventStreamParser.Event] = []
            for start in stride(from: 0, to: bytes.count, by: size) { found += parser.take(Array(bytes[start...].prefix(size))) }
            #expect(found.map(\.name) == ["item", "heartbeat"] && found.map(\.data) == ["{\"number\":4}", "{\"head\":4}"])
            #expect(parser.status == 200)
        }
    }
}
