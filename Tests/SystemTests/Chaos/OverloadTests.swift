// Too much at once, wrong keys, and everything heard again: rows F29, F31, F32 and F36 of the fault matrix.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Storms, keys and repetitions")
    struct OverloadTests {
        @Test("F29: SOS-15, INV-22: everybody falls ill within a second, and each call is acknowledged in time", .timeLimit(.minutes(15)))
        func storm() async throws {
            try await RealSuite.with { suite in
                let load = try LoadGenerator(try await suite.addPeople(FaultSizes.storm), to: suite, entries: 1, interval: .seconds(1))
                load.start()
                try await load.untilAcknowledged(FaultSizes.storm)
                await withTaskGroup(of: Void.self) { group in
                    for wearer in load.wearers { group.addTask { await wearer.fallIll() } }
                }
                try await load.untilAcknowledged(FaultSizes.storm)
                let report = try await suite.judge(load, patience: .seconds(40))
                report.expectSound("F29: \(FaultSizes.storm) people fall ill within a second")
                #expect(report.figures.delays.count == FaultSizes.storm)
            }
        }

        @Test(
            "F31: ING-12, SOS-15: uploads beyond the limit are refused at once, what was acknowledged is safe, and alarms get through",
            .timeLimit(.minutes(10)))
        func overload() async throws {
            try await RealSuite.with(SuiteShape(environment: [.ingest: ["TRACKME_ING_REQUESTS_PER_S": "3"]])) { suite in
                let load = try LoadGenerator(try await suite.addPeople(8), to: suite, entries: 2, interval: .milliseconds(10))
                load.start()
                try await eventually("uploads are refused") { load.statuses[429] >= 100 }
                await load.wearers[0].fallIll()
                await load.wearers[1].fallIll()
                try await suite.untilCalled(2)
                let report = try await suite.judge(load)
                report.expectSound("F31: ten times what a device may send (answers \(load.statuses.line))")
                #expect(load.statuses[500] == 0 && load.statuses[503] == 0)
            }
        }

        @Test(
            "F32: ING-13, SOS-28: without the key of its store a service does not start; with it again it goes on where it was",
            .timeLimit(.minutes(10)))
        func keys() async throws {
            try await RealSuite.with { suite in
                let load = try await suite.load(by: 3, acknowledged: 20)
                await load.wearers[0].fallIll()
                try await suite.untilCalled(1)
                let key = suite.layout.keys.file("store.kek", of: .ingest)
                let right = try Data(contentsOf: key)
                try await suite.ingest.stop()
                try FileManager.default.removeItem(at: key)
                let before = suite.ingest.ends.count
                suite.ingest.start(again: false)
                try await eventually("ingest has refused to start") { suite.ingest.ends.count > before }
                #expect(suite.ingest.ends.last != .exited(0))
                try right.write(to: key)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key.path)
                suite.ingest.start()
                try await suite.ingest.untilReady()
                await load.wearers[1].fallIll()
                try await load.untilAcknowledged(20)
                try await suite.untilCalled(2)
                let report = try await suite.judge(load)
                print(
                    "figure: F32: ingest without its key ends with \(suite.ingest.ends[before]); with it: \(report.figures.line)"
                )
                #expect(report.violations.isEmpty, "\(report.summary)")
            }
        }

        @Test("F36: SOS-24, INV-15: the whole log heard again, three times, gives the same and calls nobody", .timeLimit(.minutes(10)))
        func again() async throws {
            let peers = [Peer("first"), Peer("second"), Peer("third")]
            try await RealSuite.with(SuiteShape(followers: peers)) { suite in
                let load = try await suite.load(by: 4, acknowledged: 40)
                await load.wearers[0].fallIll()
                await load.wearers[1].fallIll()
                try await suite.untilCalled(2)
                let calls = DeskLine.read(suite.deskLedger).count
                let emergencies = try await suite.ask(ListEmergencies(person: nil, limit: 100)).emergencies
                let store = suite.data.appendingPathComponent("sos-dispatcher/sos-dispatcher.db")
                for _ in 0..<3 {
                    try await suite.sos.stop()
                    // As if it had heard nothing yet.
                    try await DatabaseQueue(path: store.path).write { db in
                        let known = try ConsumerPositions().load(db).filter { StreamFamily.samples.streams.contains($0.stream) }
                        try ConsumerPositions().save(db, known.map { StreamPosition(stream: $0.stream, epoch: $0.epoch, next: 1) })
                    }
                    suite.sos.start()
                    try await suite.sos.untilReady()
                    try await load.untilAcknowledged(10)
                    try await eventually("everything has been heard again") {
                        try await MetricsPage(of: suite.sos.port).value("bus_consumer_lag", family: .samples) == 0
                    }
                }
                let now = try await suite.ask(ListEmergencies(person: nil, limit: 100)).emergencies
                #expect(Set(now.map(\.emergency)) == Set(emergencies.map(\.emergency)))
                #expect(DeskLine.read(suite.deskLedger).count == calls)
                let followers = peers.map { Follower($0, of: suite) }
                for follower in followers { try await follower.startFromTheBeginning() }
                let report = try await suite.judge(load, followers: followers)
                print("figure: F36: the whole log three times more: 0 further calls, three fresh consumers alike; \(report.figures.line)")
                #expect(report.violations.isEmpty, "\(report.summary)")
            }
        }
    }
}
