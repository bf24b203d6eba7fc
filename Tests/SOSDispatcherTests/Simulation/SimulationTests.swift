// The simulation as a test: some hundred seeds without a fault, and every planted fault noticed. `Tests/Simulation/run` does thousands.

import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Deterministic simulation", .serialized)
struct SimulationTests {
    /// `TRACKME_SIMULATION_SEEDS` seeds, from `TRACKME_SIMULATION_FROM` on.
    private static func number(_ name: String, _ usual: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? usual
    }

    @Test(
        "F01, INV-15, INV-22, SOS-12, SOS-15, SOS-18, SOS-24: crashes anywhere, a bad bus, disks and clocks, lies: none missed, doubled, late"
    )
    func seeds() throws {
        let (first, count) = (Self.number("TRACKME_SIMULATION_FROM", 0), Self.number("TRACKME_SIMULATION_SEEDS", 60))
        var run = SimulationRun()
        try run.run(first..<first + count)
        for (seed, violations) in run.failures {
            Issue.record("seed \(seed) (replay: Tests/Simulation/run --seed \(seed)): \(violations.joined(separator: "; "))")
        }
        print(
            "· F01: \(run.seeds) seeds, \(run.emergencies) emergencies, \(run.attempts) attempts, slowest acknowledgement \(run.slowest) ms"
        )
        #expect(run.emergencies > run.seeds)
    }

    /// Where to begin looking, so that a slow build need not look long.
    private static let near: [PlantedFlaw: UInt64] = [
        .hearsTwice: 20, .wallClockTimers: 10, .givesUpAfterThree: 20, .believesAnyAcknowledgement: 20, .forgetsOutbox: 20,
        .cancelsOnRecovery: 8,
    ]

    @Test("The simulation notices what is wrong on purpose", arguments: PlantedFlaw.allCases)
    func planted(flaw: PlantedFlaw) throws {
        var run = SimulationRun()
        let first = Self.near[flaw] ?? 0
        try run.run(first..<first + 120, flaw: flaw, failures: 1)
        #expect(!run.failures.isEmpty, "\(flaw.rawValue) was not noticed in \(run.seeds) seeds")
    }

    @Test("A seed is the same run each time")
    func replay() throws {
        let first = try SimulationRun.trace(seed: 22, flaw: .givesUpAfterThree)
        let again = try SimulationRun.trace(seed: 22, flaw: .givesUpAfterThree)
        #expect(first.lines == again.lines && first.lines.count > 50)
        #expect(!first.violations.isEmpty && first.violations == again.violations)
    }
}
