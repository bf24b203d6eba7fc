// What a service tells ServiceKit about itself.

package import Contracts
import Logging
package import ServiceLifecycle
import Storage

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
    /// Whether the service refuses to start with this fault of a setting; else it starts with the default, and says so.
    static func refuses(_ fault: SettingFault) -> Bool
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

    /// What was meant to be otherwise does not run as nobody meant it.
    package static func refuses(_: SettingFault) -> Bool { true }
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
    /// Pauses after a store refused: doubled from the first to the last.
    private static let usualPauses = Duration.seconds(1)...Duration.seconds(30)

    private let work: @Sendable () async throws -> Void
    private let place: String
    private let logger: Logger
    private let pauses: ClosedRange<Duration>

    /// A `work` that returns stops the service, one that throws fails it; `CancellationError` is no failure. Where a store was full or
    /// too busy for it, the service stays up and `work` begins again after a pause: it must be such that it can.
    /// - Parameter file: with `line`, what the log calls it.
    package init(_ work: @escaping @Sendable () async throws -> Void, file: String = #fileID, line: Int = #line) {
        self.init(work, place: "\(file):\(line)", logger: Logger(label: "background"), pauses: Background.usualPauses)
    }

    init(_ work: @escaping @Sendable () async throws -> Void, place: String, logger: Logger, pauses: ClosedRange<Duration>) {
        (self.work, self.place, self.logger, self.pauses) = (work, place, logger, pauses)
    }

    package func run() async throws {
        try await cancelWhenGracefulShutdown {
            var pause = pauses.lowerBound
            while true {
                let begun = ContinuousClock.now
                do {
                    return try await work()
                } catch is CancellationError {
                    return
                } catch let error as StoreError where error.isPassing {
                    if ContinuousClock.now - begun > pauses.upperBound { pause = pauses.lowerBound }
                    logger.warning("a background task waits for its store", metadata: ["task": "\(place)", "reason": "\(error)"])
                }
                // The pause: a full disk is not filled further by what the log says of it.
                guard (try? await Task.sleep(for: pause)) != nil else { return }
                pause = min(pause * 2, pauses.upperBound)
            }
        }
    }
}

extension StoreError {
    /// Whether the store goes on, and the same may succeed later.
    fileprivate var isPassing: Bool {
        switch self {
        case .full, .busy, .undone: true
        default: false
        }
    }
}
