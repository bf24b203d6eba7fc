// Planted faults: each breaks one promise on purpose, and the checker must say so. A test here passes when the checker is red.

import Contracts
import Foundation
import GRDB
import TestKit
import Testing

extension SystemTests {
    @Suite("Planted faults turn the checker red")
    struct PlantedFaultTests {
        /// A full disk and not a kill: between the answer and the write there are microseconds, and what was written survives a kill.
        @Test(
            "acknowledge before commit: such an ingest acknowledges what its full disk does not keep",
            .enabled(if: FaultyDisks.canMountMemory, "needs root, to mount a small disk"), .timeLimit(.minutes(5)))
        func acknowledgeBeforeCommit() async throws {
            try await withTemporaryFolder { folder in
                let disk = try SmallDisk(in: folder, megabytes: 16)
                defer { disk.dispose() }
                let shape = SuiteShape(planted: .acknowledgesBeforeCommit, storeFolder: ([.ingest], disk.mount))
                try await RealSuite.with(shape) { suite in
                    // Such an ingest may not find the key again that it has just said to have stored.
                    let people = try await eventually("people are added") { try? await suite.addPeople(5, supervised: false) }
                    let load = try LoadGenerator(people, to: suite)
                    load.start()
                    try await load.untilAcknowledged(20)
                    disk.fill()
                    try await load.untilAcknowledged(20)
                    try disk.enlarge(toMegabytes: 64)
                    let report = try await suite.judge(load)
                    print("planted: acknowledge before commit, full disk: \(report.figures.line)")
                    #expect(report.figures.lost > 0, "the checker did not bite")
                }
            }
        }

        @Test(
            "NORMAL instead of FULL: a power cut under such an ingest loses acknowledged entries",
            .enabled(if: FaultyDisks.canMount, "needs root and loop devices, to mount a disk whose power can be cut"),
            .timeLimit(.minutes(5)))
        func normalInsteadOfFull() async throws {
            try await withTemporaryFolder { folder in
                let disk = try LoopDisk(in: folder)
                defer { disk.dispose() }
                let shape = SuiteShape(planted: .normalInsteadOfFull, storeFolder: ([.ingest], disk.mount))
                try await RealSuite.with(shape) { suite in
                    let load = try LoadGenerator(try await suite.addPeople(10, supervised: false), to: suite)
                    load.start()
                    try await load.untilAcknowledged(100)
                    try await suite.cutPower(of: disk)
                    let report = try await suite.judge(load)
                    print("planted: NORMAL instead of FULL, 1 power cut: \(report.figures.line)")
                    #expect(report.figures.lost > 0, "the checker did not bite")
                }
            }
        }

        @Test("no inbox dedup: a consumer whose position is not stored with its effect applies facts twice", .timeLimit(.minutes(5)))
        func noDeduplication() async throws {
            let report = try await restartedFollower(.forgetsPositions)
            print("planted: no inbox dedup: \(report.violations.count) violations")
            #expect(
                report.violations.contains { if case .appliedTwice = $0 { true } else { false } },
                "the checker did not bite: \(report.summary)")
        }

        @Test("no replay: a consumer that goes on at the head leaves gaps", .timeLimit(.minutes(5)))
        func noReplay() async throws {
            let report = try await restartedFollower(.asksForNoReplay)
            print("planted: no replay: \(report.violations.count) violations")
            #expect(report.violations.contains { if case .gap = $0 { true } else { false } }, "the checker did not bite: \(report.summary)")
        }

        @Test("the same follower without a fault leaves the checker green", .timeLimit(.minutes(5)))
        func noFault() async throws {
            let report = try await restartedFollower(.none)
            #expect(report.violations.isEmpty, "\(report.summary)")
        }

        private func restartedFollower(_ fault: FollowerFault) async throws -> CheckReport {
            let peer = Peer("follower")
            return try await RealSuite.with(SuiteShape(followers: [peer])) { suite in
                let load = try LoadGenerator(try await suite.addPeople(6, supervised: false), to: suite, interval: .milliseconds(40))
                let follower = Follower(peer, of: suite, fault: fault)
                try await follower.start()
                load.start()
                for _ in 0..<3 {
                    let applied = await follower.facts
                    try await eventually("the follower applies facts") { await follower.facts > applied + 50 }
                    await follower.stop()
                    try await load.untilAcknowledged(30)
                    try await follower.start()
                }
                return try await suite.judge(load, followers: [follower], patience: fault == .none ? .seconds(15) : .seconds(2))
            }
        }

        @Test("no replay: a dispatcher that passes over what it missed calls too late or not at all", .timeLimit(.minutes(5)))
        func dispatcherWithoutReplay() async throws {
            try await RealSuite.with { suite in
                let load = try await suite.load(by: 3, acknowledged: 20)
                try await suite.sos.stop()
                await load.wearers[0].fallIll()
                try await load.untilAcknowledged(40)
                try suite.spoilDispatcher("DELETE FROM consumer_positions WHERE stream LIKE 'ingest.samples.%'")
                suite.sos.start()
                try await suite.sos.untilReady()
                try await load.untilAcknowledged(20)
                let report = try await suite.judge(load, patience: .seconds(6))
                print("planted: no replay in the dispatcher: \(report.summary)")
                #expect(!report.violations.isEmpty, "the checker did not bite")
            }
        }

        @Test(
            "INV-15, SOS-24: a dispatcher that has lost its position judges the same entries again and calls nobody twice",
            .timeLimit(.minutes(5)))
        func judgedAgain() async throws {
            try await RealSuite.with { suite in
                let load = try await suite.load(by: 3, acknowledged: 20)
                await load.wearers[0].fallIll()
                try await eventually("the emergency is acknowledged") {
                    try await suite.ask(ListEmergencies(person: nil, limit: 10)).emergencies.contains { $0.acknowledgedAt != nil }
                }
                try await suite.sos.stop()
                try suite.spoilDispatcher("UPDATE consumer_positions SET next = 1 WHERE stream LIKE 'ingest.samples.%'")
                suite.sos.start()
                try await suite.sos.untilReady()
                try await load.untilAcknowledged(20)
                let report = try await suite.judge(load)
                report.expectSound("everything judged again")
            }
        }
    }
}

extension RealSuite {
    /// Changes the stopped dispatcher's store.
    func spoilDispatcher(_ sql: String) throws {
        let file = data.appendingPathComponent("sos-dispatcher/sos-dispatcher.db")
        try DatabaseQueue(path: file.path).write { try $0.execute(sql: sql) }
    }
}
