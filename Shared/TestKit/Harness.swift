// What every suite of tests needs around one service: peers in a folder, what runs in the background, and an end of both.

import Bus
package import Contracts
package import Foundation
package import Logging
package import ServiceKit
package import ServiceLifecycle
import Synchronization

/// The peers of one test in one folder, and what runs in the background until `stop`. A second one in the same folder is a restart.
package final class Harness: Sendable {
    private struct State {
        var runtimes: [Runtime] = []
        var running: [Task<Void, any Error>] = []
    }

    package let folder: URL
    /// What every peer's settings are read from.
    package let environment: [String: String]
    package let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - folder: a short path, since sockets lie in it.
    ///   - environment: wins over where stores, sockets and keys lie.
    package init(_ folder: URL, _ environment: [String: String] = [:], logger: Logger = Running.quiet) {
        (self.folder, self.logger) = (folder, logger)
        self.environment = [
            "TRACKME_STORE_DIRECTORY": folder.appendingPathComponent("store").path,
            "TRACKME_BUS_DIRECTORY": folder.appendingPathComponent("bus").path,
            "TRACKME_BUS_KEYS": folder.appendingPathComponent("keys").path, "TRACKME_HTTP_PORT": "0",
        ].merging(environment) { $1 }
    }

    package var reader: SettingsReader { SettingsReader(environment: environment) }

    package var keys: KeyFiles { KeyFiles(folder: folder.appendingPathComponent("keys")) }

    /// Makes all peers known to one another, before the first of them reads whom it may admit.
    package func introducePeers() throws {
        for peer in Peer.suite { _ = try keys.busKeys(of: peer) }
    }

    /// A peer's place on the bus, until `stop`.
    package func runtime(_ peer: Peer) throws -> Runtime {
        var reader = reader
        let runtime = try Runtime(peer: peer, settings: SuiteSettings(&reader, peer: peer, httpPort: 0), logger: logger)
        state.withLock { $0.runtimes.append(runtime) }
        return runtime
    }

    /// In the background, until `stop`.
    package func run(_ work: @escaping @Sendable () async throws -> Void) {
        let task = Task { try await work() }
        state.withLock { $0.running.append(task) }
    }

    /// Ends what runs, and then takes the peers off the bus in the order in which they were made. Their stores are whose opened them.
    package func stop() async {
        let (running, runtimes) = state.withLock { ($0.running, $0.runtimes) }
        for task in running { task.cancel() }
        for task in running { _ = try? await task.value }
        for runtime in runtimes { await runtime.bus.shutdown() }
    }
}

/// Gives `harness` to `body`, and afterwards, also on a throw, to `stop`.
package func withHarness<Subject: Sendable, Value>(
    _ harness: Subject, _ body: (Subject) async throws -> Value, stop: (Subject) async -> Void
) async throws -> Value {
    do {
        let value = try await body(harness)
        await stop(harness)
        return value
    } catch {
        await stop(harness)
        throw error
    }
}

/// Services that run until they are stopped.
package struct Running: Sendable {
    package static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    package init(_ services: [any Service]) {
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0, successTerminationBehavior: .ignore) }, logger: Self.quiet))
        self.group = group
        task = Task { try await group.run() }
    }

    /// Gracefully, as SIGTERM does.
    package func stop() async {
        await group.triggerGracefulShutdown()
        try? await task.value
    }
}
