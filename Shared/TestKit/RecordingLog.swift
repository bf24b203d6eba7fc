// A log that a test can read: what a service tells its operator, and what it must not.

package import Logging
import Synchronization

/// Remembers every line with its metadata.
package final class RecordingLog: Sendable {
    private let kept = Mutex<[String]>([])

    package init() {}

    /// In the order in which they were written.
    package var lines: [String] { kept.withLock { $0 } }

    package var text: String { lines.joined(separator: "\n") }

    /// Writes here, whatever its level.
    package var logger: Logger {
        var logger = Logger(label: "recorded") { _ in Handler(log: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let log: RecordingLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.MetadataValue? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.kept.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") }
        }
    }
}
