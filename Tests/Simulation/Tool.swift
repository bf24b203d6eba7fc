// The simulation as a program: many seeds in parallel, every planted flaw, or one seed with everything that happens under it.

import Dispatch
import Foundation
import Synchronization

@testable import SOSDispatcher

@main
enum Tool {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let value = { (name: String) in arguments.firstIndex(of: name).flatMap { arguments.dropFirst($0 + 1).first } }
        let flaw = value("--flaw").flatMap(PlantedFlaw.init)
        if let seed = value("--seed").flatMap({ UInt64($0) }) {
            let (lines, violations) = try SimulationRun.trace(seed: seed, flaw: flaw)
            print((lines + violations).joined(separator: "\n"))
            exit(violations.isEmpty ? 0 : 1)
        }
        let seeds = value("--seeds").flatMap { UInt64($0) } ?? 20_000
        let first = value("--from").flatMap { UInt64($0) } ?? 0
        let sound = try simulate(first..<first + seeds, flaw)
        if flaw != nil { exit(sound ? 0 : 1) }
        let caught = try PlantedFlaw.allCases.map(isCaught).allSatisfy { $0 }
        exit(sound && caught ? 0 : 1)
    }

    /// True if no seed failed.
    private static func simulate(_ seeds: Range<UInt64>, _ flaw: PlantedFlaw?) throws -> Bool {
        let begun = ContinuousClock.now
        let workers = max(1, ProcessInfo.processInfo.activeProcessorCount)
        let runs = Mutex<[SimulationRun]>([])
        DispatchQueue.concurrentPerform(iterations: workers) { worker in
            var run = SimulationRun()
            let mine = stride(from: seeds.lowerBound + UInt64(worker), to: seeds.upperBound, by: workers)
            do {
                try run.run(mine, flaw: flaw)
            } catch {
                run.failures.append((0, ["\(error)"]))
            }
            runs.withLock { $0.append(run) }
        }
        let all = runs.withLock { $0 }
        let took = (ContinuousClock.now - begun).components
        let emergencies = all.reduce(0) { $0 + $1.emergencies }
        print(
            """
            \(all.reduce(0) { $0 + $1.seeds }) seeds in \(took.seconds) s: \(emergencies) emergencies, \(all.reduce(0) { $0 + $1.attempts }) \
            attempts, slowest acknowledgement \(all.map(\.slowest).max() ?? 0) ms of our own making
            """)
        for (seed, violations) in all.flatMap(\.failures).sorted(by: { $0.seed < $1.seed }) {
            print("seed \(seed) FAILED, see it with --seed \(seed):")
            for violation in violations.prefix(5) { print("    \(violation)") }
        }
        return all.allSatisfy(\.failures.isEmpty)
    }

    private static func isCaught(_ flaw: PlantedFlaw) throws -> Bool {
        var run = SimulationRun()
        try run.run(0..<2000, flaw: flaw, failures: 1)
        guard let (seed, violations) = run.failures.first else {
            print("planted \(flaw.rawValue): NOT NOTICED in \(run.seeds) seeds")
            return false
        }
        print("planted \(flaw.rawValue): noticed by seed \(seed): \(violations.first ?? "")")
        return true
    }
}
