// Disks: a power cut under ingest, and disks that fill up under either service.

import Contracts
import Foundation
import TestKit
import Testing

extension SystemTests {
    @Suite("Failing disks")
    struct DiskTests {
        @Test(
            "F09: ING-11, ING-12: a power cut under ingest's disk loses no acknowledged entry",
            .enabled(if: FaultyDisks.canMount, "needs root and loop devices, to mount a disk whose power can be cut"),
            .timeLimit(.minutes(10)))
        func powerCut() async throws {
            try await withTemporaryFolder { folder in
                let disk = try LoopDisk(in: folder)
                defer { disk.dispose() }
                let shape = SuiteShape(storeFolder: ([.ingest], disk.mount))
                try await RealSuite.with(shape) { suite in
                    let load = try await suite.load(by: 10)
                    for cycle in 0..<FaultSizes.powerCuts {
                        try await load.untilAcknowledged(100)
                        if cycle < load.wearers.count { await load.wearers[cycle].fallIll() }
                        try await load.untilAcknowledged(20)
                        try await suite.cutPower(of: disk)
                    }
                    try await load.untilAcknowledged(20)
                    let report = try await suite.judge(load)
                    report.expectSound("F09: power cut under ingest, \(FaultSizes.powerCuts) cycles")
                }
            }
        }

        @Test(
            "F09: SOS-28, INV-15: a power cut under the whole suite during an emergency loses nothing and calls once",
            .enabled(if: FaultyDisks.canMount, "needs root and loop devices, to mount a disk whose power can be cut"),
            .timeLimit(.minutes(5)))
        func powerCutOfAll() async throws {
            try await withTemporaryFolder { folder in
                let disk = try LoopDisk(in: folder)
                defer { disk.dispose() }
                try await RealSuite.with(SuiteShape(storeFolder: ([.ingest, .sosDispatcher], disk.mount))) { suite in
                    let load = try await suite.load(by: 4, acknowledged: 20)
                    await load.wearers[0].fallIll()
                    try await eventually("the alert is open") {
                        try await !suite.ask(ListEmergencies(person: nil, limit: 10)).emergencies.isEmpty
                    }
                    try await suite.cutPower(of: disk, under: [suite.sos, suite.ingest])
                    try await load.untilAcknowledged(20)
                    let report = try await suite.judge(load)
                    report.expectSound("F09: power cut under both during an emergency")
                    #expect(report.figures.breaches == 1)
                }
            }
        }

        @Test(
            "F11: ING-12, SOS-15: with a full disk ingest refuses clearly, stays up, a running emergency is dispatched, and room is used at once",
            .enabled(if: FaultyDisks.canMountMemory, "needs root, to mount a small disk"), .timeLimit(.minutes(5)))
        func ingestDiskFull() async throws {
            try await withTemporaryFolder { folder in
                let disk = try SmallDisk(in: folder, megabytes: 16)
                defer { disk.dispose() }
                try await RealSuite.with(SuiteShape(storeFolder: ([.ingest], disk.mount))) { suite in
                    let load = try await suite.load(by: 5, acknowledged: 20)
                    await load.wearers[0].fallIll()
                    try await load.untilAcknowledged(20)
                    disk.fill()
                    try await eventually("uploads are answered with 507") { load.statuses[507] >= 10 }
                    try await eventually("the emergency is acknowledged") {
                        try await suite.ask(ListEmergencies(person: nil, limit: 10)).emergencies.contains { $0.acknowledgedAt != nil }
                    }
                    try disk.enlarge(toMegabytes: 64)
                    try await load.untilAcknowledged(20)
                    let report = try await suite.judge(load)
                    report.expectSound("F11: ingest's disk full and back (answers \(load.statuses.line))")
                    #expect(suite.ingest.ends.count == 1, "it ended before its stop")
                    #expect(load.statuses[500] == 0)
                }
            }
        }

        @Test(
            "F11: SOS-15, SOS-28: with a full disk sos-dispatcher calls all the same, and keeps the record once there is room",
            .enabled(if: FaultyDisks.canMountMemory, "needs root, to mount a small disk"), .timeLimit(.minutes(5)))
        func dispatcherDiskFull() async throws {
            try await withTemporaryFolder { folder in
                let disk = try SmallDisk(in: folder, megabytes: 16)
                defer { disk.dispose() }
                try await RealSuite.with(SuiteShape(storeFolder: ([.sosDispatcher], disk.mount))) { suite in
                    let load = try await suite.load(by: 3, acknowledged: 20)
                    disk.fill()
                    await load.wearers[0].fallIll()
                    try await eventually("the desk has the alert although nothing can be stored") {
                        DeskLine.read(suite.deskLedger).contains(where: \.isAcknowledgement)
                    }
                    try disk.enlarge(toMegabytes: 64)
                    try await load.untilAcknowledged(20)
                    let report = try await suite.judge(load)
                    report.expectSound("F11: sos-dispatcher's disk full and back")
                    #expect(suite.sos.ends.count == 1, "it ended before its stop")
                }
            }
        }
    }
}

extension RealSuite {
    /// The disk dies under the running services, or ingest alone; the machine comes back, and they with it.
    func cutPower(of disk: LoopDisk, under services: [ServiceProcess]? = nil) async throws {
        let services = services ?? [ingest]
        try disk.cutPower()
        for service in services { try await service.stop(with: SIGKILL) }
        try disk.restorePower()
        for service in services { service.start() }
        for service in services { try await service.untilReady() }
    }
}
