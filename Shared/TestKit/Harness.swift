// What every suite of tests needs around one service: peers in a folder, what runs in the background, and an end of both.

import Bus
package import Contracts
package import Foundation
package import Logging
package import ServiceKit
package import ServiceLifecycle
import Storage
import Synchronization

/// The peers of one test in one folder, and what runs in the background until `stop`. A second one in the same folder is a restart.
package final class Harness: Sendable {
    private struct State {
        var runtimes: [Runtime] = []
        var running: [Task<Void, any Error>] = []
        var services: [Running] = []
        var closing: [@Sendable () async -> Void] = []
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
        try runtime(peer, under: environment)
    }

    /// As `runtime`, with a folder of its own for its store and settings over those of this harness.
    package func runtime(_ peer: Peer, under settings: [String: String]) throws -> Runtime {
        let own = ["TRACKME_STORE_DIRECTORY": folder.appendingPathComponent("\(peer)").path].merging(settings) { $1 }
        var reader = SettingsReader(environment: environment.merging(own) { $1 })
        let runtime = try Runtime(peer: peer, settings: SuiteSettings(&reader, peer: peer, httpPort: 0), logger: logger)
        state.withLock { $0.runtimes.append(runtime) }
        return runtime
    }

    /// In the background, until `stop`.
    package func run(_ work: @escaping @Sendable () async throws -> Void) {
        let task = Task { try await work() }
        state.withLock { $0.running.append(task) }
    }

    /// Until they are stopped, or else until `stop`.
    @discardableResult
    package func start(_ services: [any Service]) -> Running {
        let running = Running(services)
        state.withLock { $0.services.append(running) }
        return running
    }

    /// What is left to do when nobody is on the bus any more.
    package func atEnd(_ close: @escaping @Sendable () async -> Void) {
        state.withLock { $0.closing.append(close) }
    }

    /// As `atEnd`, for the files of a service.
    package func closeAtEnd(_ opened: OpenedStore) {
        atEnd {
            await opened.store.close()
            await opened.keys.close()
        }
    }

    /// Stops the services, all at once, ends what else runs, takes the peers off the bus in the order in which they were made, and closes
    /// what `atEnd` names.
    package func stop() async {
        let (services, running, runtimes, closing) = state.withLock { ($0.services, $0.running, $0.runtimes, $0.closing) }
        await withTaskGroup(of: Void.self) { group in
            for service in services { group.addTask { await service.stop() } }
        }
        for task in running { task.cancel() }
        for task in running { _ = try? await task.value }
        for runtime in runtimes { await runtime.bus.shutdown() }
        for close in closing { await close() }
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

/// As `withHarness`, in a folder that is empty and goes afterwards.
package func withTemporaryHarness<Value>(
    _ environment: [String: String] = [:], _ body: (Harness) async throws -> Value
) async throws -> Value {
    try await withTemporaryFolder { folder in
        try await withHarness(Harness(folder, environment), body) { await $0.stop() }
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
                services: services.map { .init(service: $0, successTerminationBehavior: .ignore, serviceName: "\(type(of: $0))") },
                logger: Self.quiet))
        self.group = group
        task = Task { try await group.run() }
    }

    /// Gracefully, as SIGTERM does.
    package func stop() async {
        await group.triggerGracefulShutdown()
        try? await task.value
    }
}
