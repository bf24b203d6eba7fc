// What commands write for people: results on standard output, progress and complaints on standard error.

import ArgumentParser
import Foundation
import Synchronization

/// Whole lines from several tasks at once never mix. A progress line is written over on a terminal.
final class Console: Sendable {
    static let shared = Console()

    let isTerminal = isatty(STDOUT_FILENO) == 1
    private let progressIsShown: Bool
    private let progress = Mutex(false)
    private let lastProgress = Mutex(ContinuousClock.now)
    private static let progressPause = Duration.seconds(10)

    private init() {
        progressIsShown = isatty(STDERR_FILENO) == 1
    }

    func line(_ text: String = "") {
        write(text + "\n", to: STDOUT_FILENO)
    }

    /// One object on one line, for programs; its members in the order of their names.
    func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }

    func complain(_ text: String) {
        write(text + "\n", to: STDERR_FILENO)
    }

    /// Replaces the progress line before. Where there is no terminal, one line every ten seconds.
    func progress(_ text: String) {
        guard progressIsShown else { return progressLine(text) }
        progress.withLock { shown in
            Console.writeAll("\r\u{1B}[K" + text, to: STDERR_FILENO)
            shown = true
        }
    }

    private func progressLine(_ text: String) {
        let now = ContinuousClock.now
        let isDue = lastProgress.withLock { last in
            guard now - last >= Console.progressPause else { return false }
            last = now
            return true
        }
        if isDue { complain(text) }
    }

    private func write(_ text: String, to descriptor: Int32) {
        progress.withLock { shown in
            if shown { Console.writeAll("\r\u{1B}[K", to: STDERR_FILENO) }
            shown = false
            Console.writeAll(text, to: descriptor)
        }
    }

    private static func writeAll(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }
}

extension ExitStatus {
    /// Ends the command with this code.
    var code: ExitCode { ExitCode(rawValue) }
}
