// Many seeds, one verdict.

import Sealing

@testable import SOSDispatcher

/// The simulation over a range of seeds.
struct SimulationRun: Sendable {
    var seeds = 0
    var emergencies = 0
    var attempts = 0
    var slowest: Int64 = 0
    /// The first seeds that failed, with what was wrong.
    var failures: [(seed: UInt64, violations: [String])] = []

    static func identity() throws -> SymmetricKey {
        try SymmetricKey(bytes: [UInt8](repeating: 7, count: 32))
    }

    /// Ends early at so many failed seeds.
    mutating func run(_ range: some Sequence<UInt64>, flaw: PlantedFlaw? = nil, failures most: Int = 10) throws {
        let identity = try SimulationRun.identity()
        for seed in range {
            let account = SimulatedWorld(seed: seed, flaw: flaw, identity: identity).run()
            seeds += 1
            emergencies += account.emergencies
            attempts += account.attempts
            slowest = max(slowest, account.slowest)
            if !account.violations.isEmpty { failures.append((seed, account.violations)) }
            if failures.count >= most { return }
        }
    }

    /// Everything that happens under one seed.
    static func trace(seed: UInt64, flaw: PlantedFlaw? = nil) throws -> (lines: [String], violations: [String]) {
        let world = SimulatedWorld(seed: seed, flaw: flaw, identity: try identity(), traces: true)
        let account = world.run()
        return (world.trace ?? [], account.violations)
    }
}
