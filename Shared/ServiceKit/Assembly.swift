// What a service tells ServiceKit about itself.

package import Contracts
package import ServiceLifecycle

/// Builds one service's parts; `main` and tests use the same one.
package protocol Assembly: Sendable {
    associatedtype Settings: Sendable
    static var peer: Peer { get }
    /// One sentence for `--help`.
    static var purpose: String { get }
    /// Prefixes of settings that this service alone owns.
    static var prefixes: Set<String> { get }
    /// Where it listens for HTTP unless told otherwise.
    static var httpPort: Int { get }
    /// Who this process is, by its environment; for a service that runs in more than one place.
    static func place(in environment: [String: String]) -> ServicePlace
    static func settings(_ reader: inout SettingsReader) -> Settings
    /// The parts to run, in dependency order; they are stopped in reverse.
    static func build(_ settings: Settings, on runtime: Runtime) async throws -> [any Service]
}

/// The peer that a process is, and where it listens for HTTP unless told otherwise.
package struct ServicePlace: Hashable, Sendable {
    package let peer: Peer
    package let httpPort: Int

    package init(peer: Peer, httpPort: Int) {
        (self.peer, self.httpPort) = (peer, httpPort)
    }
}

extension Assembly {
    /// For services that run in one place, whatever the environment says.
    package static func place(in environment: [String: String]) -> ServicePlace {
        ServicePlace(peer: peer, httpPort: httpPort)
    }
}

/// Runs until shutdown, then closes what must be closed after everything that uses it.
package struct ClosedLast: Service {
    private let close: @Sendable () async -> Void

    /// `close` runs once, after a graceful stop or a cancellation.
    package init(_ close: @escaping @Sendable () async -> Void) {
        self.close = close
    }

    package func run() async throws {
        try? await gracefulShutdown()
        await close()
    }
}

/// A part that works until shutdown and is then cancelled.
package struct Background: Service {
    private let work: @Sendable () async throws -> Void

    /// A `work` that returns stops the service, one that throws fails it; `CancellationError` is no failure.
    package init(_ work: @escaping @Sendable () async throws -> Void) {
        self.work = work
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown {
            do {
                try await work()
            } catch is CancellationError {}
        }
    }
}
