// Who listens on a port of this machine.

import Foundation

struct PortHolder: Hashable, Sendable, CustomStringConvertible {
    let process: pid_t
    let program: String

    var description: String { "process \(process) (\(program))" }

    /// - Parameter kernel: where the kernel shows its tables.
    /// - Returns: nil where nobody listens, or where this user may not see who does, as of another user's processes.
    static func find(_ port: Int, in kernel: String = "/proc") -> PortHolder? {
        let files = FileManager.default
        let sockets = ["tcp", "tcp6"].reduce(into: Set<String>()) { sockets, table in
            let lines = files.contents(atPath: "\(kernel)/net/\(table)") ?? Data()
            sockets.formUnion(listening(on: port, in: String(decoding: lines, as: UTF8.self)))
        }
        guard !sockets.isEmpty else { return nil }
        for process in ((try? files.contentsOfDirectory(atPath: kernel)) ?? []).compactMap({ pid_t($0) }).sorted() {
            let folder = "\(kernel)/\(process)"
            let descriptors = (try? files.contentsOfDirectory(atPath: "\(folder)/fd")) ?? []
            let isHolder = descriptors.contains { descriptor in
                (try? files.destinationOfSymbolicLink(atPath: "\(folder)/fd/\(descriptor)")).map { sockets.contains($0) } ?? false
            }
            if isHolder { return PortHolder(process: process, program: program(in: folder)) }
        }
        return nil
    }

    /// Sockets of a table of the kernel's as the links of descriptors name them. A line is `number: address:port address:port state …`, its
    /// tenth word the socket's inode.
    static func listening(on port: Int, in table: String) -> [String] {
        table.split(whereSeparator: \.isNewline).compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 9, words[3] == "0A", let own = words[1].split(separator: ":").last, Int(own, radix: 16) == port else {
                return nil
            }
            return "socket:[\(words[9])]"
        }
    }

    /// The kernel's own name of a process is cut off after 15 characters.
    private static func program(in folder: String) -> String {
        if let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/exe") {
            return URL(fileURLWithPath: file).lastPathComponent
        }
        let name = FileManager.default.contents(atPath: "\(folder)/comm") ?? Data()
        return String(decoding: name, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
