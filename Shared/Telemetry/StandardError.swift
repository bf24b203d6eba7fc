// Standard error as a sink, and the system's time as log lines write it.

import Foundation
import Synchronization

/// One `write` per line under a lock: lines of one process never mix, whatever their length.
package final class StandardError: LineSink {
    package static let shared = StandardError()
    private let turn = Mutex(())

    /// Waits while nobody reads the pipe; what cannot be written at all is dropped.
    package func write(_ line: [UInt8]) {
        turn.withLock { _ in
            var rest = line[...]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { Foundation.write(STDERR_FILENO, $0.baseAddress, $0.count) }
                // Nobody can be told that logging fails.
                guard written > 0 || errno == EINTR else { return }
                rest = rest.dropFirst(max(0, written))
            }
        }
    }
}

/// The time that log lines bear.
package enum SystemTime {
    /// Milliseconds since 1970.
    package static func milliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// `2026-01-10T00:31:00.000Z`. This module lies beside Contracts and does not look at its clock.
    package static func rfc3339(_ milliseconds: Int64) -> String {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func padded(_ value: some BinaryInteger, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return padded(parts.tm_year + 1900, 4) + "-" + padded(parts.tm_mon + 1, 2) + "-" + padded(parts.tm_mday, 2) + "T"
            + padded(parts.tm_hour, 2) + ":" + padded(parts.tm_min, 2) + ":" + padded(parts.tm_sec, 2) + "."
            + padded(milliseconds % 1000, 3) + "Z"
    }
}
