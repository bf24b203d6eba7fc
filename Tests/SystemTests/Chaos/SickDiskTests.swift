// Disks that refuse to flush, and disks that are slow: rows F10 and F12 of the fault matrix.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Sick disks", .enabled(if: FaultShim.isThere, "needs a C compiler, for the library that spoils the disk"))
    struct SickDiskTests {
        @Test(
            "F10: ING-12, NFR-08: a flush of ingest's that fails is never acknowledged; it ends, is back at once and has lost nothing",
            .timeLimit(.minutes(15)))
        func ingestFlushes() async throws {
            try await withTemporaryFolder { folder in
                let shim = FaultShim(in: folder)
                try await RealSuite.with(SuiteShape(environment: [.ingest: shim.environment])) { suite in
                    let load = try await suite.load(by: 6)
                    var recoveries = RecoveryTimes()
                    for flush in 1...FaultSizes.flushes {
                        try await load.untilAcknowledged(10)
                        if flush <= 3 { await load.wearers[flush - 1].fallIll() }
                        recoveries.add(try await suite.survive(shim, flush, of: suite.ingest))
                    }
                    try await load.untilAcknowledged(20)
                    let report = try await suite.judge(load)
                    print("figure: F10: flushes of ingest 1...\(FaultSizes.flushes) fail: \(recoveries.line); \(report.figures.line)")
                    #expect(report.violations.isEmpty, "\(report.summary)")
                    #expect(suite.ingest.ends.contains(.exited(70)), "\(suite.ingest.ends)")
                }
            }
        }

        @Test("F10: SOS-15, SOS-28: a dispatcher whose disk refuses to flush calls all the same, once by its id", .timeLimit(.minutes(10)))
        func dispatcherFlushes() async throws {
            try await withTemporaryFolder { folder in
                let shim = FaultShim(in: folder)
                try await RealSuite.with(SuiteShape(environment: [.sosDispatcher: shim.environment])) { suite in
                    let load = try await suite.load(by: 6, acknowledged: 20)
                    var recoveries = RecoveryTimes()
                    for flush in 1...min(FaultSizes.flushes, 6) {
                        await load.wearers[flush - 1].fallIll()
                        recoveries.add(try await suite.survive(shim, flush, of: suite.sos))
                        try await load.untilAcknowledged(20)
                    }
                    let report = try await suite.judge(load)
                    print("figure: F10: flushes of sos-dispatcher fail: \(recoveries.line); \(report.figures.line)")
                    #expect(report.violations.isEmpty, "\(report.summary)")
                }
            }
        }

        @Test(
            "F12: SOS-15, ING-12: with half a second for each flush everybody is called in time and no acknowledged entry is lost",
            .timeLimit(.minutes(10)))
        func slow() async throws {
            try await withTemporaryFolder { folder in
                let shim = FaultShim(in: folder)
                let shape = SuiteShape(environment: [.ingest: shim.environment, .sosDispatcher: shim.environment])
                try await RealSuite.with(shape) { suite in
                    let load = try await suite.load(by: 6, acknowledged: 20)
                    shim.say("slow 500")
                    for wearer in load.wearers.prefix(3) { await wearer.fallIll() }
                    try await suite.untilCalled(3)
                    shim.say("none")
                    try await load.untilAcknowledged(20)
                    let report = try await suite.judge(load)
                    report.expectSound("F12: each flush takes 500 ms more, everywhere")
                }
            }
        }

        @Test("F12: SOS-15: a disk of the dispatcher that hangs for six seconds delays no call", .timeLimit(.minutes(10)))
        func hangs() async throws {
            try await withTemporaryFolder { folder in
                let shim = FaultShim(in: folder)
                try await RealSuite.with(SuiteShape(environment: [.sosDispatcher: shim.environment])) { suite in
                    let load = try await suite.load(by: 6, acknowledged: 20)
                    await load.wearers[0].fallIll()
                    await load.wearers[1].fallIll()
                    try await load.untilAcknowledged(10)
                    shim.say("slow 6000")
                    try await eventually("the desk has both calls") {
                        Set(DeskLine.read(suite.deskLedger).filter(\.isAcknowledgement).map(\.emergency)).count == 2
                    }
                    shim.say("none")
                    try await load.untilAcknowledged(20)
                    let report = try await suite.judge(load, patience: .seconds(30))
                    report.expectSound("F12: the dispatcher's disk hangs for 6 s")
                }
            }
        }
    }
}

extension RealSuite {
    /// From the failing flush until it is ready again.
    func survive(_ shim: FaultShim, _ flush: Int, of service: ServiceProcess) async throws -> Duration {
        let before = service.ends.count
        shim.say("eio \(flush)")
        try await eventually("\(service.name) has ended") { service.ends.count > before }
        let begun = ContinuousClock.now
        shim.say("none")
        try await service.untilReady()
        return ContinuousClock.now - begun
    }

    /// Until so many emergencies are acknowledged.
    func untilCalled(_ count: Int) async throws {
        try await eventually("\(count) emergencies are acknowledged", within: .seconds(40)) {
            try await ask(ListEmergencies(person: nil, limit: 1000)).emergencies.filter { $0.acknowledgedAt != nil }.count >= count
        }
    }
}
