// Thousands of emergencies within a minute, with the load of everybody else beside them.

import Contracts
import Foundation

/// First all of them by themselves, at `sos.dispatch_at_s`; then as many people again, who ask for help as soon as they are alerted.
/// Each begins at its time, however long others take.
struct BurstBenchmark {
    private static let load = (connections: 100, pause: 100)
    /// After the last one has begun, its window and its answer.
    private static let rest = 8

    let stage: Stage

    func rows() async throws -> [Row] {
        let rescue = try await RescueSuite(in: stage.emptyFolder("burst"))
        let others = try await rescue.suite.addDevices(stage.devices)
        let patients = try await rescue.suite.addDevices(2 * stage.emergencies)
        try await rescue.suite.subscribe(others + patients)
        let (first, second) = (patients.prefix(stage.emergencies), patients.dropFirst(stage.emergencies))
        let byThemselves = try await burst(first, beside: others, of: rescue) { try await rescue.rescueByItself($0) }
        let atOnce = try await burst(second, beside: others, of: rescue) { try await rescue.rescueAtOnce($0).acknowledged }
        await rescue.end()
        return rows(byThemselves, "with the 3.5 s window", longest: 5000) + rows(atOnce, "help asked for", p99: 100)
    }

    private struct Burst {
        /// From the upload to the acknowledgement, ms, ascending.
        var took: [Double]
        var uploadsPerSecond: Double
    }

    private func burst(
        _ patients: ArraySlice<AddDevice.Reply>, beside others: [AddDevice.Reply], of rescue: RescueSuite,
        _ body: @escaping @Sendable (AddDevice.Reply) async throws -> Double
    ) async throws -> Burst {
        let load = Wrk(
            target: .trackme, url: "http://127.0.0.1:\(rescue.suite.ingestPort)", devices: try rescue.suite.write(others), batch: 2,
            start: Int(Date.now.timeIntervalSince1970) - 45, seconds: stage.within + Self.rest, connections: Self.load.connections,
            pauseMilliseconds: Self.load.pause)
        async let running = load.run()
        let begun = ContinuousClock.now + .seconds(2)
        let pace = Duration.seconds(stage.within) / max(1, patients.count)
        let took = try await withThrowingTaskGroup(of: Double.self) { group in
            for (number, patient) in patients.enumerated() {
                group.addTask {
                    try await Task.sleep(until: begun + pace * number, clock: .continuous)
                    return try await body(patient)
                }
            }
            var all: [Double] = []
            for try await one in group { all.append(one) }
            return all
        }
        let outcome = try await running
        return Burst(took: took.sorted(), uploadsPerSecond: Double(outcome.accepted) / outcome.seconds)
    }

    private func rows(_ burst: Burst, _ how: String, p99: Double? = nil, longest: Double = 5000) -> [Row] {
        let what =
            "sos, \(burst.took.count) emergencies in \(stage.within) s under \(Int(burst.uploadsPerSecond.rounded())) uploads/s, \(how)"
        return [
            Row("\(what), acknowledged, p50", "ms", [burst.took.percentile(50)]),
            Row("\(what), acknowledged, p99", "ms", [burst.took.percentile(99)], p99.map(Row.Demand.below) ?? Row.Demand.none),
            Row("\(what), acknowledged, longest", "ms", [burst.took.last ?? .nan], .below(longest)),
        ]
    }
}
