// Ingest with a fault planted through the seams of its store: as a child of the test bundle, since the real executable has no such switch.

import Contracts
import Foundation
import Logging
import ServiceKit
import ServiceLifecycle
import Storage
import TestKit
import Testing

@testable import Ingest
@testable import Operator

/// What is broken on purpose.
enum PlantedFault: String, Sendable {
    /// Uploads are acknowledged while their transaction is still open.
    case acknowledgesBeforeCommit
    /// Commits do not wait for the disk.
    case normalInsteadOfFull

    static let variable = "TRACKME_PLANTED_FAULT"
    static let chosen = FaultSizes.environment[variable].flatMap(PlantedFault.init)

    var storeSettings: StoreSettings {
        var settings = StoreSettings()
        switch self {
        case .acknowledgesBeforeCommit: settings.acknowledge = .beforeCommit
        case .normalInsteadOfFull: settings.synchronous = .normal
        }
        return settings
    }

    /// Runs this very test bundle with nothing but the service below.
    func command(over environment: [String: String]) -> ChildCommand {
        var own = environment
        own[PlantedFault.variable] = rawValue
        return ChildCommand(
            executable: (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0],
            arguments: ["--testing-library", "swift-testing", "--filter", "PlantedService"], environment: own)
    }
}

@Suite("A service with a planted fault")
struct PlantedService {
    @Test(
        "serves until it is killed", .enabled(if: PlantedFault.chosen != nil, "runs only as a child of the tests of planted faults"))
    func serve() async throws {
        let fault = try #require(PlantedFault.chosen)
        var reader = SettingsReader(environment: FaultSizes.environment)
        let suite = SuiteSettings(&reader, peer: .ingest, httpPort: IngestAssembly.httpPort)
        let settings = IngestAssembly.settings(&reader)
        try reader.finish(prefixes: SuiteSettings.prefixes.union(IngestAssembly.prefixes))
        let logger = Running.quiet
        let runtime = try Runtime(peer: .ingest, settings: suite, logger: logger, store: fault.storeSettings)
        let parts = try await IngestAssembly.build(settings, on: runtime)
        try await ServiceGroup(services: parts, logger: logger).run()
    }
}
