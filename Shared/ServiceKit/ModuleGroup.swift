// The modules of a service while it runs: where one ends, all do.

package import Foundation
package import Logging
package import ServiceLifecycle
package import UnixSignals

/// Stops the modules one after the other, the last one first, when one of them returns or fails, or when a signal comes.
package struct ModuleGroup: Sendable {
    /// How long the modules may take to end in order; then all that are left are cancelled.
    private static let drain = Duration.seconds(8)
    /// How long a cancelled module may take to end, more than the notifier's last attempts; then the process ends by a trap. Without one of its
    /// modules it would still send heartbeats, so that nobody would start it again. What was acknowledged is in the store.
    private static let cancellation = Duration.seconds(6)

    private let group: ServiceGroup

    /// - Parameters:
    ///   - modules: in the order in which they rest on one another.
    ///   - signals: stop the group.
    ///   - folder: of the service's stores, for the text of a fault.
    package init(_ modules: [any Service], stoppedBy signals: [UnixSignal] = [], folder: URL, logger: Logger) {
        var configuration = ServiceGroupConfiguration(
            services: modules.map {
                .init(
                    service: Module(module: $0, folder: folder, logger: logger), successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup,
                    // Without a name the package describes the module with all that it holds, keys too, and logs that.
                    serviceName: "\(type(of: $0))")
            },
            gracefulShutdownSignals: signals, logger: logger)
        configuration.maximumGracefulShutdownDuration = Self.drain
        configuration.maximumCancellationDuration = Self.cancellation
        group = ServiceGroup(configuration: configuration)
    }

    /// Returns when all have ended; throws what the first one threw.
    package func run() async throws {
        try await group.run()
    }
}

/// Says in the log why a module failed before the others end, which may take them some time.
private struct Module: Service {
    let module: any Service
    let folder: URL
    let logger: Logger

    func run() async throws {
        do {
            try await module.run()
        } catch {
            logger.critical(
                "a module of the service failed; the service ends", metadata: ["reason": "\(StartRefusal.text(error, folder: folder))"])
            throw error
        }
    }
}
