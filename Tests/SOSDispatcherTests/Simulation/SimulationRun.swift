// Many seeds, one verdict.

import Contracts
import Foundation
import Sealing
import ServiceKit

@testable import SOSDispatcher

/// What every run begins with: two dispatchers that know their subscribers, their integrators and each other.
struct SimulationFiles: Sendable {
    /// When the world that made them ended, and every run begins.
    static let age: Int64 = 10_000

    let base: URL
    var keys: URL { base.appendingPathComponent("keys") }
    var secrets: [String: WebhookSecret] = [:]

    func folder(of role: PairRole) -> URL { base.appendingPathComponent(role.rawValue) }

    /// Lets a suite without faults register everybody.
    init(in base: URL) throws {
        self.base = base
        let manager = FileManager.default
        for folder in [keys, folder(of: .first), folder(of: .second)] {
            try manager.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        for peer in Peer.suite { _ = try KeyFiles(folder: keys).busKeys(of: peer) }
        // Emergencies have the same names in every run of a seed.
        let identity = KeyFiles(folder: keys).file("emergency-identity.key", of: .sosDispatcher)
        try KeyFiles(folder: keys).write(String(repeating: "5a", count: 32), to: identity)
        let suite = SimulatedSuite(SimulationPlan(), seed: 0, flaw: nil, files: self, in: base, traces: true)
        suite.begin()
        var secrets: [String: WebhookSecret] = [:]
        let alpha = IntegratorSettings(
            name: "alpha", url: SimulatedAddress.alphaFirst.url, secondURL: SimulatedAddress.alphaSecond.url, priority: 1)
        let beta = IntegratorSettings(name: "beta", url: SimulatedAddress.beta.url, number: "+39021234567", priority: 2)
        suite.time.after(3000) {
            for settings in [alpha, beta] {
                let request = AddIntegrator(settings: settings, replaces: false)
                suite.network.ask(request, of: .sosDispatcher, from: .trackme, id: settings.name) {
                    if case .success(let reply) = $0 { secrets[settings.name] = try? WebhookSecret(reply.webhookSecret) }
                }
            }
            for person in SimulationPlan.people {
                let request = SubscribePerson(person: person, clausesAccepted: true, bounds: [:])
                suite.network.ask(request, of: .sosDispatcher, from: .trackme, id: "\(person)") {
                    if case .failure(let failure) = $0 { suite.violation("not subscribed: \(failure.reason)") }
                }
            }
        }
        suite.time.after(SimulationFiles.age - 10) { suite.end() }
        suite.time.run(until: SimulationFiles.age)
        self.secrets = secrets
        guard secrets.count == 2, suite.ledger.violations.isEmpty else {
            throw SimulationFault(what: (suite.trace ?? []).joined(separator: "\n"))
        }
        for dispatcher in suite.dispatchers {
            try manager.removeItem(at: folder(of: dispatcher.role))
            try manager.moveItem(at: dispatcher.folder, to: folder(of: dispatcher.role))
        }
    }
}

struct SimulationFault: Error {
    var what: String
}

/// The simulation over a range of seeds.
struct SimulationRun: Sendable {
    var seeds = 0
    var emergencies = 0
    var attempts = 0
    var slowest: Int64 = 0
    /// Calls that were rejected after they had been taken, and stores that were restored from a copy.
    var takenBack = 0
    var restores = 0
    /// Calls before everybody's backlog had been heard.
    var calledAhead = 0
    /// The first seeds that failed, with what was wrong.
    var failures: [(seed: UInt64, violations: [String])] = []

    mutating func add(_ other: SimulationRun) {
        seeds += other.seeds
        emergencies += other.emergencies
        attempts += other.attempts
        slowest = max(slowest, other.slowest)
        takenBack += other.takenBack
        restores += other.restores
        calledAhead += other.calledAhead
        failures += other.failures
    }

    /// Ends early at so many failed seeds. Blocks its thread, on which time is played meanwhile.
    mutating func run(_ range: some Sequence<UInt64>, flaw: PlantedFlaw? = nil, failures most: Int = 10) throws {
        try SimulationRun.withFolder { folder in
            let files = try SimulationFiles(in: folder.appendingPathComponent("beginning"))
            for seed in range {
                let ledger = try SimulationRun.play(seed, flaw, files, in: folder, traces: false).ledger
                seeds += 1
                emergencies += ledger.emergencies
                attempts += ledger.attempts
                slowest = max(slowest, ledger.slowestCall)
                takenBack += ledger.takenBack.count
                restores += ledger.restores
                calledAhead += ledger.calledAhead
                if !ledger.violations.isEmpty { failures.append((seed, ledger.violations)) }
                if failures.count >= most { return }
            }
        }
    }

    /// Everything that happens under one seed.
    static func trace(seed: UInt64, flaw: PlantedFlaw? = nil) throws -> (lines: [String], violations: [String]) {
        try withFolder { folder in
            let files = try SimulationFiles(in: folder.appendingPathComponent("beginning"))
            let (ledger, lines) = try play(seed, flaw, files, in: folder, traces: true)
            return (lines, ledger.violations)
        }
    }

    private static func play(
        _ seed: UInt64, _ flaw: PlantedFlaw?, _ files: SimulationFiles, in folder: URL, traces: Bool
    ) throws -> (ledger: SimulationLedger, lines: [String]) {
        let own = folder.appendingPathComponent("seed")
        try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: own) }
        let suite = SimulatedSuite(SimulationPlan(seed: seed), seed: seed, flaw: flaw, files: files, in: own, traces: traces)
        return (suite.run(), suite.trace ?? [])
    }

    /// In memory, where there is such a folder: thousands of stores are made and thrown away.
    private static func withFolder<Value>(_ body: (URL) throws -> Value) throws -> Value {
        let memory = URL(fileURLWithPath: "/dev/shm")
        let base = FileManager.default.isWritableFile(atPath: memory.path) ? memory : FileManager.default.temporaryDirectory
        let folder = base.appendingPathComponent("trackme-simulation-\(UInt64.random(in: .min ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder)
    }
}
