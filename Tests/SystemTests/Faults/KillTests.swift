// Kills: `kill -9` of each service during load and during emergencies.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Killed processes")
    struct KillTests {
        @Test(
            "F06: ING-11, ING-12, NFR-08, SOS-28: kill -9 of ingest during load loses no acknowledged entry and no emergency",
            .timeLimit(.minutes(15)))
        func ingest() async throws {
            let follower = Peer("follower")
            try await RealSuite.with(SuiteShape(followers: [follower])) { suite in
                let load = try LoadGenerator(try await suite.addPeople(10), to: suite)
                let witness = Follower(follower, of: suite)
                try await witness.start()
                var recoveries = RecoveryTimes()
                let pace = MachinePace()
                defer { pace.end() }
                var chance = FaultChance(of: "F06")
                load.start()
                for cycle in 0..<FaultSizes.kills {
                    try await load.untilAcknowledged(20)
                    if cycle < load.wearers.count { await load.wearers[cycle].fallIll() }
                    // At another place of the group commit each time.
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...150, using: &chance)))
                    recoveries.add(try await suite.ingest.killAndRecover())
                }
                try await load.untilAcknowledged(20)
                let report = try await suite.judge(load, followers: [witness])
                print("figure: F06: kill -9 of ingest, \(FaultSizes.kills) cycles: \(recoveries.line); \(report.figures.line)")
                #expect(recoveries.most < pace.allowed(.seconds(1)), "machine \(pace.slowness) times as slow")
                #expect(report.violations.isEmpty, "\(report.summary)")
                #expect(report.figures.breaches == min(FaultSizes.kills, load.wearers.count))
                #expect(suite.ingest.ends.filter { $0 == .signalled(SIGKILL) }.count == FaultSizes.kills)
            }
        }

        @Test(
            "F05: INV-15, INV-22, SOS-15, SOS-19, SOS-24, SOS-28: kill -9 of sos-dispatcher anywhere in an emergency misses and doubles no call",
            .timeLimit(.minutes(15)))
        func dispatcher() async throws {
            try await RealSuite.with { suite in
                let load = try LoadGenerator(try await suite.addPeople(max(10, FaultSizes.kills)), to: suite)
                var recoveries = RecoveryTimes()
                let pace = MachinePace()
                defer { pace.end() }
                var chance = FaultChance(of: "F05")
                load.start()
                try await load.untilAcknowledged(20)
                for cycle in 0..<FaultSizes.kills {
                    await load.wearers[cycle].fallIll()
                    // The kills go through the course of an emergency: alert, confirmed, call, acknowledgement.
                    try await Task.sleep(for: .milliseconds(cycle * 4100 / FaultSizes.kills + Int.random(in: 0...200, using: &chance)))
                    recoveries.add(try await suite.sos.killAndRecover())
                }
                try await load.untilAcknowledged(20)
                let report = try await suite.judge(load)
                print("figure: F05: kill -9 of sos-dispatcher, \(FaultSizes.kills) cycles: \(recoveries.line); \(report.figures.line)")
                #expect(recoveries.most < pace.allowed(.seconds(1)), "machine \(pace.slowness) times as slow")
                #expect(report.violations.isEmpty, "\(report.summary)")
                #expect(report.figures.breaches == FaultSizes.kills)
            }
        }

        @Test(
            "F03: ING-11, NFR-08, SOS-15: kill -9 of one process after the other, whichever, loses and misses nothing",
            .timeLimit(.minutes(20)))
        func anyone() async throws {
            try await RealSuite.with { suite in
                let load = try LoadGenerator(try await suite.addPeople(10), to: suite)
                var recoveries = RecoveryTimes()
                let pace = MachinePace()
                defer { pace.end() }
                var outages: [ClosedRange<Timestamp>] = []
                var chance = FaultChance(of: "F03")
                load.start()
                for cycle in 0..<FaultSizes.randomKills {
                    try await load.untilAcknowledged(20)
                    if cycle < load.wearers.count { await load.wearers[cycle].fallIll() }
                    // At any moment.
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &chance)))
                    let killed = [suite.ingest, suite.sos, suite.desk].randomElement(using: &chance) ?? suite.sos
                    let begun = Timestamp.now
                    recoveries.add(try await killed.killAndRecover())
                    if killed.name == suite.desk.name { outages.append(begun ... .now) }
                }
                try await load.untilAcknowledged(20)
                let report = try await suite.judge(load, outages: outages)
                print("figure: F03: kill -9 of anyone, \(FaultSizes.randomKills) cycles: \(recoveries.line); \(report.figures.line)")
                #expect(recoveries.most < pace.allowed(.seconds(1)), "machine \(pace.slowness) times as slow")
                #expect(report.violations.isEmpty, "\(report.summary)")
            }
        }

        @Test(
            "F04: NFR-08, SOS-28: kill -9 of everything at once during an emergency loses nothing and calls once", .timeLimit(.minutes(5)))
        func everything() async throws {
            try await RealSuite.with { suite in
                let load = try await suite.load(by: 4, acknowledged: 10)
                await load.wearers[0].fallIll()
                try await load.untilAcknowledged(10)
                async let first: Void = suite.ingest.kill()
                async let second: Void = suite.sos.kill()
                _ = try await (first, second)
                try await suite.ingest.untilReady()
                try await suite.sos.untilReady()
                try await load.untilAcknowledged(10)
                let report = try await suite.judge(load)
                report.expectSound("F04: kill -9 of both at once")
                #expect(report.figures.breaches == 1)
            }
        }
    }
}
