// The common `main` of all services.

package import ArgumentParser
import Bus
import Contracts
import Foundation
import Logging
import ServiceLifecycle
import Telemetry
import UnixSignals

/// `<service> [--new | --check-config | --health]`: exits 0 after a clean stop, 70 when a part failed, 78 when it may not start.
package struct ServiceCommand<Built: Assembly>: AsyncParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Built.peer.name, abstract: Built.purpose,
            discussion: "Settings are environment variables; --check-config lists them with their effective values.")
    }

    @Flag(help: "Print the effective settings and exit; 78 if one is wrong.")
    var checkConfig = false

    @Flag(help: "Ask the running service whether it is ready; 0 if so. For container health checks.")
    var health = false

    @Flag(
        name: .customLong("new"),
        help: "Where the store or its keys are missing, set the rest aside and begin anew instead of refusing. For one start.")
    var beginsAnew = false

    package init() {}

    /// What a service's `App.swift` calls; ends the process.
    package static func start() async {
        await main()
    }

    package func run() async throws {
        let environment = ProcessInfo.processInfo.environment
        var reader = SettingsReader(environment: environment)
        let place = Built.place(in: environment)
        let suite = SuiteSettings(&reader, peer: place.peer, httpPort: place.httpPort)
        let settings = Built.settings(&reader)
        if checkConfig { printTable(reader.rows) }
        let faults = reader.faults(prefixes: SuiteSettings.prefixes.union(Built.prefixes))
        if checkConfig && !faults.isEmpty || faults.contains(where: Built.refuses) {
            for fault in faults { complain("\(fault)") }
            throw ExitCode(78)
        }
        if checkConfig { return }
        if health { throw ExitCode(HealthProbe.isReady(host: suite.httpHost, port: suite.httpPort) ? 0 : 1) }
        try await serve(settings, suite, despite: faults, as: place.peer)
    }

    private func serve(
        _ settings: Built.Settings, _ suite: SuiteSettings, despite faults: [SettingFault], as peer: Peer
    ) async throws {
        // From here on silence is a failure: whoever started this process ends it then, and starts it again (SOS-41).
        let heartbeat = Heartbeat(ProcessInfo.processInfo.environment)
        heartbeat?.begin()
        let registry = TelemetryBootstrap.once(service: peer.name, level: Logger.Level(rawValue: suite.logLevel.rawValue) ?? .info)
        let logger = Logger(label: peer.name)
        let runtime: Runtime
        let parts: [any Service]
        do {
            runtime = try Runtime(peer: peer, settings: suite, logger: logger, metrics: { registry.text }, beginsAnew: beginsAnew)
            for fault in faults { runtime.faults.note("\(fault.withoutValue); until then it goes by the default") }
            parts = try await [Background(runtime.watchPeers)] + Built.build(settings, on: runtime)
            try await runtime.bus.selfTest()
        } catch {
            let reason = StartRefusal.text(error, folder: suite.storeFolder)
            logger.critical("the service may not start", metadata: ["reason": "\(reason)"])
            complain("\(peer): \(reason)")
            throw ExitCode(78)
        }
        let modules = ModuleGroup(parts, stoppedBy: [.sigterm, .sigint], folder: suite.storeFolder, logger: logger)
        heartbeat?.started()
        do {
            logger.notice("started")
            try await modules.run()
            await runtime.bus.shutdown()
            logger.notice("stopped")
        } catch {
            logger.error("stopped after a failure", metadata: ["reason": "\(StartRefusal.text(error, folder: suite.storeFolder))"])
            await runtime.bus.shutdown()
            throw ExitCode(70)
        }
    }

    private func printTable(_ rows: [SettingsReader.Row]) {
        let width = rows.map(\.key.count).max() ?? 0
        for row in rows {
            let key = row.key.padding(toLength: width, withPad: " ", startingAt: 0)
            print("\(key)  \(row.value.isEmpty ? "-" : row.value)\(row.isDefault ? "" : "  (set)")  \(row.allowed)")
        }
    }

    private func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
