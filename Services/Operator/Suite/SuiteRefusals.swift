// Which parts of the suite refuse to start, and why, as `trackme up` writes it down for other commands.

import Foundation
import Synchronization

/// Kept in a file, which stays as the last `trackme up` of that folder has left it. Reasons are what parts write for people: no personal data.
final class SuiteRefusals: Sendable {
    private let file: URL
    /// By the names of parts.
    private let reasons = Mutex<[String: String]>([:])

    /// For a suite that begins: nothing refuses yet.
    init(layout: SuiteLayout) {
        file = layout.refusalsFile
        write([:])
    }

    /// - Returns: the state of the suite in a line, where this notice has changed it.
    func received(_ notice: SupervisorNotice) -> String? {
        reasons.withLock { reasons in
            switch notice {
            case .refused(let name, let reason, again: _): reasons[name] = reason
            case .mended(let name): reasons[name] = nil
            default: return nil
            }
            write(reasons)
            guard !reasons.isEmpty else { return "no part refuses to start any more" }
            return reasons.sorted { $0.key < $1.key }.map { "WITHOUT \($0.key), which refuses to start: \($0.value)" }.joined(
                separator: "; ")
        }
    }

    /// Where it cannot be written, parts have written the same on the screen.
    private func write(_ reasons: [String: String]) {
        guard !reasons.isEmpty else {
            try? FileManager.default.removeItem(at: file)
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        try? encoder.encode(reasons).write(to: file, options: .atomic)
    }

    /// By the names of parts; empty where none refuses, or nothing was written.
    static func read(_ file: URL) -> [String: String] {
        FileManager.default.contents(atPath: file.path).flatMap { try? JSONDecoder().decode([String: String].self, from: $0) } ?? [:]
    }
}
