// Withdrawals while data flow and retries are under way: nothing of what was withdrawn leaves any more, by any way.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Withdrawals under load")
    struct RevocationTests {
        /// What the issue promises.
        private static let promised = Duration.seconds(1)

        @Test(
            "SHR-16, INV-04: after a withdrawal nothing of it is sent, retries included, and a signed grant.revoked comes",
            .timeLimit(.minutes(10)))
        func underLoad() async throws {
            let receivers = ["well": try WebhookReceiver(), "refusing": try WebhookReceiver(), "hanging": try WebhookReceiver()]
            let names = receivers.keys.sorted()
            let people = FaultSizes.isFull ? 12 : 4
            try await SubscribedStage.with(people: people, receivers: names.compactMap { receivers[$0] }) { stage, endpoints in
                let pace = MachinePace()
                defer { pace.end() }
                stage.load.start()
                try await stage.load.untilAcknowledged(30)
                let stuck = try await Self.fallIll(stage, receivers)
                var clicks: [RequestID: ContinuousClock.Instant] = [:]
                // All but one, who shows that the others' data would have come; those first whose items are being retried.
                let order =
                    stage.subscriptions.filter { stuck.contains($0.request) } + stage.subscriptions.filter { !stuck.contains($0.request) }
                for subscription in order.dropLast() {
                    clicks[subscription.request] = .now
                    // Once more while the gateway dies of it.
                    let isLast = clicks.count == order.count - 1
                    async let killed: Void = Self.kill(stage.gateway, if: isLast)
                    try await subscription.patient.revoke(subscription)
                    try await killed
                    try await Self.isOver(subscription, stage, receivers)
                    // Retries come round: the endpoints are looked at again as their owner may ask.
                    for endpoint in endpoints { try await stage.company.verify(endpoint) }
                    try await stage.load.untilAcknowledged(20)
                }
                let tried = receivers.mapValues { $0.deliveries.count }
                for endpoint in endpoints { try await stage.company.verify(endpoint) }
                try await eventually("every endpoint is tried again", within: .seconds(60)) {
                    receivers.allSatisfy { $0.value.deliveries.count > tried[$0.key] ?? 0 }
                }
                for receiver in receivers.values { receiver.become(.take) }
                for endpoint in endpoints { try await stage.company.verify(endpoint) }
                let revoked = Set(clicks.keys)
                try await eventually("every endpoint is told of every withdrawal", within: .seconds(60)) {
                    receivers.values.allSatisfy { $0.revocations.isSuperset(of: revoked) }
                }
                try await stage.load.untilAcknowledged(20)
                let evidence = try await stage.settle(receivers, without: revoked, patience: .seconds(90))
                Self.judge(evidence, clicks, stage, receivers, within: pace.allowed(Self.promised))
            }
        }

        /// Two of the three receivers stop taking messages.
        /// - Returns: the subscriptions whose items are stuck there.
        private static func fallIll(_ stage: SubscribedStage, _ receivers: [String: WebhookReceiver]) async throws -> Set<RequestID> {
            let ill = receivers.filter { $0.key != "well" }
            ill["refusing"]?.become(.refuse)
            ill["hanging"]?.become(.hang)
            let before = ill.mapValues { $0.deliveries.count }
            try await eventually("messages are stuck", within: .seconds(60)) {
                ill.allSatisfy { $0.value.deliveries.dropFirst(before[$0.key] ?? 0).contains { !$0.isKept && !$0.batches.isEmpty } }
            }
            let requests = stage.subscriptions.map(\.request)
            return Set(requests.filter { request in ill.values.allSatisfy { $0.deliveries.last?.carries(request) ?? false } })
        }

        private static func kill(_ gateway: ServiceProcess, if isWanted: Bool) async throws {
            guard isWanted else { return }
            try await gateway.kill()
            try await gateway.untilReady()
        }

        /// Every way says that it is over.
        private static func isOver(
            _ subscription: SharedSubscription, _ stage: SubscribedStage, _ receivers: [String: WebhookReceiver]
        ) async throws {
            let request = subscription.request
            try await eventually("grant.revoked comes and is signed", within: .seconds(30)) {
                receivers["well"]?.revocations.contains(request) ?? false
            }
            try await eventually("pages and events end", within: .seconds(30)) {
                stage.pages[request]?.taken.isOver ?? false && stage.events[request]?.taken.isOver ?? false
            }
        }

        private static func judge(
            _ evidence: DeliveryEvidence, _ clicks: [RequestID: ContinuousClock.Instant], _ stage: SubscribedStage,
            _ receivers: [String: WebhookReceiver], within bound: Duration
        ) {
            var (late, latest) = (0, Duration.zero)
            for (request, clicked) in clicks {
                let readers = [stage.pages[request]?.taken, stage.events[request]?.taken].compactMap { $0 }
                late += readers.reduce(0) { $0 + $1.count(after: clicked + promised) }
                late += receivers.values.reduce(0) { $0 + $1.carried(request, after: clicked + promised) }
                let last = readers.map { $0.latest(after: clicked) } + receivers.values.map { $0.latest(request, after: clicked) }
                latest = max(latest, last.compactMap { $0 }.max() ?? .zero)
            }
            let report = DeliveryChecker.report(evidence)
            print(
                "figure: \(clicks.count) withdrawals under load, one endpoint refusing, one hanging: \(late) items or messages later than "
                    + "1 s after the click, the last one \(latest.wholeMilliseconds) ms after it; \(report.line)")
            #expect(latest < bound)
            // Those who withdrew nothing have missed nothing, at the endpoints that were ill either.
            #expect(report.violations.isEmpty, "\(report.summary)")
        }

        @Test("planted: a gateway that takes a withdrawn subscription for a running one is caught", .timeLimit(.minutes(5)))
        func planted() async throws {
            let receiver = try WebhookReceiver()
            try await SubscribedStage.with(people: 1, receivers: [receiver]) { stage, endpoints in
                let subscription = stage.subscriptions[0]
                stage.load.start()
                try await eventually("items come") { receiver.carried(subscription.request) > 0 }
                receiver.become(.refuse)
                let tried = receiver.carried(subscription.request)
                try await eventually("a retry is under way") { receiver.carried(subscription.request) > tried }
                let clicked = ContinuousClock.now
                try await subscription.patient.revoke(subscription)
                try await eventually("the subscription is over") { stage.pages[subscription.request]?.taken.isOver ?? false }
                try await stage.gateway.stop()
                try stage.suite.spoilGateway("UPDATE feeds SET state = 'running', ending = NULL, ended_at = NULL")
                let before = receiver.latest(subscription.request, after: clicked) ?? .zero
                stage.gateway.start()
                try await stage.gateway.untilReady()
                try await stage.company.verify(endpoints[0])
                try await eventually("it comes all the same") {
                    receiver.latest(subscription.request, after: clicked) ?? .zero > before
                }
                try await stage.load.stop()
            }
        }
    }
}

extension WebhookReceiver {
    /// How many messages came with items of it, taken or not.
    func carried(_ subscription: RequestID, after moment: ContinuousClock.Instant? = nil) -> Int {
        deliveries.count { one in one.carries(subscription) && moment.map { one.at > $0 } ?? true }
    }

    /// How long after `moment` the last such message came; nil where none did.
    func latest(_ subscription: RequestID, after moment: ContinuousClock.Instant) -> Duration? {
        deliveries.last { $0.carries(subscription) && $0.at > moment }.map { $0.at - moment }
    }

    /// The subscriptions whose end was told by a message that was signed and taken.
    var revocations: Set<RequestID> {
        Set(
            deliveries.filter { $0.isKept && $0.isSigned.v1 && $0.isSigned.v1a && $0.message?.type == "grant.revoked" }
                .compactMap { $0.message?.data.subscription })
    }
}

extension WebhookDelivery {
    func carries(_ subscription: RequestID) -> Bool {
        batches.contains { $0.subscription == subscription && !$0.items.isEmpty }
    }
}
