// Consumers that are slow, late or killed, over real sockets.

import Contracts
import Foundation
import TestKit
import Testing

extension SystemTests {
    @Suite("Slow, late and restarted consumers")
    struct ConsumerTests {
        private static let peers = [Peer("slow"), Peer("late"), Peer("restarted")]

        @Test(
            "F21: ING-15, SOS-15: a slow consumer, a late joiner and a restarted one get every fact once, and nobody else waits for them",
            .timeLimit(.minutes(10)))
        func consumers() async throws {
            try await RealSuite.with(SuiteShape(followers: Self.peers)) { suite in
                let load = try LoadGenerator(try await suite.addPeople(40), to: suite, entries: 1, interval: .milliseconds(40))
                let followers = Self.peers.map { Follower($0, of: suite) }
                let (slow, late, restarted) = (followers[0], followers[1], followers[2])
                try await slow.start()
                try await restarted.start()
                await slow.hold()
                load.start()
                try await load.untilAcknowledged(FaultSizes.backlog / 2)
                await load.wearers[0].fallIll()
                await restarted.stop()
                try await load.untilAcknowledged(FaultSizes.backlog - FaultSizes.backlog / 2)
                try await restarted.start()
                await slow.release()
                try await late.startFromTheBeginning()
                let report = try await suite.judge(load, followers: followers)
                print(
                    "figure: F21: slow consumer, late joiner, restarted consumer over \(load.ledger.acknowledgedBatches) facts: "
                        + "\(await slow.facts), \(await late.facts) and \(await restarted.facts) applied; \(report.figures.line)")
                #expect(report.violations.isEmpty, "\(report.summary)")
                #expect(await late.facts >= FaultSizes.backlog)
            }
        }
    }
}
