// What the figures were measured on.

import Foundation

enum Machine {
    /// Processor, cores, kernel, and how busy others kept it.
    static let line: String = {
        let processor = read("/proc/cpuinfo").split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
        let kernel = read("/proc/sys/kernel/osrelease").trimmingCharacters(in: .whitespacesAndNewlines)
        let load = read("/proc/loadavg").split(separator: " ").first ?? "?"
        return
            "\(processor ?? "unknown processor"), \(ProcessInfo.processInfo.activeProcessorCount) cores, Linux \(kernel), load before \(load)"
    }()

    private static func read(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}
