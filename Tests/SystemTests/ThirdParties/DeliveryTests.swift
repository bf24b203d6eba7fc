// Subscriptions under faults: the receiver is down, the gateway is killed again and again, and every event comes once, in order.

import Contracts
import Foundation
import GRDB
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Subscriptions under kills")
    struct DeliveryTests {
        @Test(
            "SHR-14, INV-03, NFR-08: the receiver down and the gateway killed again and again: each way brings every event once in effect, in order",
            .timeLimit(.minutes(15)))
        func killedGateway() async throws {
            let receiver = try WebhookReceiver(.takeAndRefuse(every: 9))
            try await SubscribedStage.with(people: FaultSizes.isFull ? 10 : 4, receivers: [receiver]) { stage, endpoints in
                stage.load.start()
                try await stage.load.untilAcknowledged(60)
                var recoveries = RecoveryTimes()
                let (kills, begun) = (FaultSizes.gatewayKills, ContinuousClock.now)
                let whileDown = kills - kills / 3
                var chance = FaultChance(of: "kills of the gateway")
                receiver.close()
                for _ in 0..<whileDown {
                    // Anywhere in what goes on between two looks at the store.
                    try await Task.sleep(
                        for: .milliseconds(Int.random(in: 0...400, using: &chance)) + FaultSizes.receiverOutage / (whileDown + 1))
                    recoveries.add(try await stage.gateway.killAndRecover())
                }
                try await eventually("the outage is over", within: FaultSizes.receiverOutage * 3) {
                    ContinuousClock.now - begun >= FaultSizes.receiverOutage
                }
                let outage = ContinuousClock.now - begun
                try receiver.open()
                // As the owner of an endpoint does who has mended it: no need to wait for the next try.
                try await stage.company.verify(endpoints[0])
                for _ in whileDown..<kills {
                    let before = receiver.deliveries.count
                    try await eventually("messages come again", within: .seconds(60)) { receiver.deliveries.count > before + 2 }
                    recoveries.add(try await stage.gateway.killAndRecover())
                }
                try await stage.load.untilAcknowledged(60)
                let evidence = try await stage.settle(["webhooks": receiver], patience: .seconds(90))
                let report = DeliveryChecker.report(evidence)
                print(
                    "figure: receiver down for \(outage.wholeMilliseconds) ms, gateway killed \(kills) times, \(recoveries.line); "
                        + report.line)
                #expect(report.violations.isEmpty, "\(report.summary)")
                #expect(stage.gateway.ends.filter { $0 == .signalled(SIGKILL) }.count == kills)
                #expect(!evidence.acknowledged.isEmpty && evidence.heads.values.allSatisfy { $0 > 0 })
            }
        }

        @Test(
            "NFR-10, SHR-14: what is measured now reaches a third party within the second in which it was measured and one more, by each way",
            .timeLimit(.minutes(5)))
        func seconds() async throws {
            let receiver = try WebhookReceiver()
            try await SubscribedStage.with(people: 1, receivers: [receiver]) { stage, _ in
                let one = stage.subscriptions[0]
                let transport = UploadTransport.http(server: stage.suite.server, authorities: nil)
                let ways: [(name: String, items: @Sendable () -> [DeliveredItem])] = [
                    ("pages", { stage.pages[one.request]?.taken.all ?? [] }), ("events", { stage.events[one.request]?.taken.all ?? [] }),
                    ("webhooks", { receiver.deliveries.flatMap { $0.batches.flatMap(\.items) } }),
                ]
                let pace = MachinePace()
                defer { pace.end() }
                var longest: [String: Duration] = [:]
                for number in 0..<10 {
                    let value = 61.5 + Double(number)
                    let begun = ContinuousClock.now
                    let body = UploadBody.batch([try UploadBody.entry(Sample(type: .heartRate, at: .now, value: value))])
                    let answer = await transport.send(body, one.patient.device.token, "second-\(number)")
                    #expect(answer.outcome.status == 200)
                    let took = try await withThrowingTaskGroup(of: (String, Duration).self) { group in
                        for way in ways {
                            group.addTask {
                                try await eventually("\(way.name) have it") { way.items().contains { $0.value == value } }
                                return (way.name, ContinuousClock.now - begun)
                            }
                        }
                        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
                    }
                    longest.merge(took) { max($0, $1) }
                }
                print("figure: NFR-10: measured to received, at most \(longest.mapValues(\.wholeMilliseconds)) ms of 10")
                for (way, took) in longest { #expect(took < pace.allowed(.seconds(2), waiting: .seconds(1)), "\(way)") }
            }
        }

        @Test(
            "planted: a gateway that forgets what a webhook has not brought, and facts that it has not heard, turns the checker red",
            .timeLimit(.minutes(5)))
        func planted() async throws {
            let receiver = try WebhookReceiver()
            try await SubscribedStage.with(people: 1, receivers: [receiver]) { stage, endpoints in
                stage.load.start()
                try await stage.load.untilAcknowledged(20)
                receiver.close()
                try await stage.load.untilAcknowledged(20)
                try await stage.gateway.stop()
                try await stage.load.untilAcknowledged(20)
                try stage.suite.spoilGateway("UPDATE endpoint_feeds SET queued = queued + 7")
                try stage.suite.spoilGateway("UPDATE consumer_positions SET next = next + 5 WHERE stream = 'ingest.arrivals'")
                stage.gateway.start()
                try await stage.gateway.untilReady()
                try receiver.open()
                try await stage.company.verify(endpoints[0])
                try await stage.load.untilAcknowledged(20)
                let report = DeliveryChecker.report(try await stage.settle(["webhooks": receiver], patience: .seconds(3)))
                print("planted: a forgetful gateway: \(report.line)")
                #expect(report.violations.contains { if case .gap("webhooks", _, _, _) = $0 { true } else { false } }, "\(report.summary)")
                #expect(report.violations.contains { if case .lost("pages", _) = $0 { true } else { false } }, "\(report.summary)")
            }
        }

        @Test("SHR-14: a gateway that hears all arrivals again delivers nothing twice", .timeLimit(.minutes(5)))
        func heardAgain() async throws {
            let receiver = try WebhookReceiver()
            try await SubscribedStage.with(people: 2, receivers: [receiver]) { stage, _ in
                stage.load.start()
                try await stage.load.untilAcknowledged(30)
                try await stage.gateway.stop()
                try stage.suite.spoilGateway("UPDATE consumer_positions SET next = 1 WHERE stream = 'ingest.arrivals'")
                stage.gateway.start()
                try await stage.gateway.untilReady()
                try await stage.load.untilAcknowledged(30)
                let report = DeliveryChecker.report(try await stage.settle(["webhooks": receiver], patience: .seconds(60)))
                report.expectSound("all arrivals heard again")
            }
        }
    }
}

extension RealSuite {
    /// Changes the stopped gateway's store.
    func spoilGateway(_ sql: String) throws {
        try spoil(.thirdPartyGateway, sql)
    }

    /// Changes the store of a service that does not run.
    func spoil(_ peer: Peer, _ sql: String, _ arguments: StatementArguments = []) throws {
        let file = data.appendingPathComponent("\(peer.name)/\(peer.name).db")
        try DatabaseQueue(path: file.path).write { try $0.execute(sql: sql, arguments: arguments) }
    }
}
