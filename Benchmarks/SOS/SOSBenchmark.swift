// The path on which a life depends, idle and under 1,000 uploads a second.

import Contracts
import Foundation

struct SOSBenchmark {
    /// 100 connections with a pause of 100 ms each: 1000 uploads a second.
    private static let load = (connections: 100, pause: 100)
    private static let rescues = 200
    private static let silent = 20

    let stage: Stage

    private struct Phase {
        var rescues: [RescueSuite.Rescue] = []
        var byThemselves: [Double] = []
        var disk: [Double] = []
        var uploadsPerSecond = 0.0
    }

    func rows() async throws -> [Row] {
        let rescue = try await RescueSuite(in: stage.emptyFolder("sos"))
        let others = try await rescue.suite.addDevices(stage.devices)
        let patients = try await rescue.suite.addDevices(2 * (Self.rescues + Self.silent))
        try await rescue.suite.subscribe(others + patients)
        let idle = try await phase(rescue, patients[..<(Self.rescues + Self.silent)])
        let load = Wrk(
            target: .trackme, url: "http://127.0.0.1:\(rescue.suite.ingestPort)", devices: try rescue.suite.write(others), batch: 2,
            start: Int(Date.now.timeIntervalSince1970) - 45, seconds: 25, connections: Self.load.connections,
            pauseMilliseconds: Self.load.pause)
        async let running = load.run()
        try await Task.sleep(for: .seconds(2))
        var busy = try await phase(rescue, patients[(Self.rescues + Self.silent)...])
        let outcome = try await running
        busy.uploadsPerSecond = Double(outcome.accepted) / outcome.seconds
        await rescue.end()
        return rows(of: idle, "idle") + rows(of: busy, "under \(Int(busy.uploadsPerSecond.rounded())) uploads/s")
    }

    /// Rescues one after the other, an append to the disk between two; meanwhile the silent ones wait for their window.
    private func phase(_ rescue: RescueSuite, _ patients: ArraySlice<AddDevice.Reply>) async throws -> Phase {
        let silent = patients.prefix(Self.silent)
        let probe = try DiskProbe(in: rescue.suite.folder)
        return try await withThrowingTaskGroup(of: Double.self) { group in
            var phase = Phase()
            for patient in silent { group.addTask { try await rescue.rescueByItself(patient) } }
            for patient in patients.dropFirst(Self.silent) {
                phase.rescues.append(try await rescue.rescueAtOnce(patient))
                for _ in 0..<3 { probe.append() }
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...60)))
            }
            for try await took in group { phase.byThemselves.append(took) }
            phase.disk = probe.took
            return phase
        }
    }

    private func rows(of phase: Phase, _ when: String) -> [Row] {
        let decided = phase.rescues.map(\.decided).sorted()
        let acknowledged = phase.rescues.map(\.acknowledged).sorted()
        let disk = phase.disk.sorted()
        let beside = "fdatasync of 4 KiB in the same folder"
        return [
            Row(
                "sos \(when), entry sent to decision heard, p50", "ms", [decided.percentile(50)], reference: [disk.percentile(50)],
                beside: beside),
            Row(
                "sos \(when), entry sent to decision heard, p99", "ms", [decided.percentile(99)], reference: [disk.percentile(99)],
                beside: beside,
                .referencePlus(10)),
            Row("sos \(when), critical entry to acknowledged, p50", "ms", [acknowledged.percentile(50)]),
            Row("sos \(when), critical entry to acknowledged, p99", "ms", [acknowledged.percentile(99)], .below(100)),
            Row("sos \(when), critical entry to acknowledged, longest", "ms", [acknowledged.last ?? .nan], .below(1000)),
            Row("sos \(when), with the 3.5 s window, longest", "ms", [phase.byThemselves.max() ?? .nan], .below(5000)),
        ]
    }
}
