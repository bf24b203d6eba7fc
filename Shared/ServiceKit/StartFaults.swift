// What was wrong at a start that did not stop it.

import Logging
import Synchronization

/// Told in a critical log line when it is found, and by readiness as long as the process lives (0040).
package final class StartFaults: Sendable {
    private let found = Mutex<[String]>([])
    private let logger: Logger

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// - Parameter fault: what is wrong, where, and the mend; no content of a file, no value of a setting.
    package func note(_ fault: String) {
        let isNew = found.withLock { found in
            guard !found.contains(fault) else { return false }
            found.append(fault)
            return true
        }
        if isNew { logger.critical("the service starts with a fault", metadata: ["reason": "\(fault)"]) }
    }

    package var remarks: [String] { found.withLock { $0 } }
}
