// What the desk received (`--ledger`): one JSON line per message, on the disk before the message is answered.

import Contracts
import Foundation
import Synchronization

/// One received message. Neither vitals nor places are in it; the hash proves which bytes came.
struct DeskEntry: Codable, Hashable, Sendable {
    var receivedAt: Timestamp
    var messageId: String
    var sha256: String
    /// `alert`, `cancel`, …; empty where the message could not be read.
    var kind: String
    var verified: Bool
    var v1: Bool?
    var v1a: Bool?
    /// What the desk answered: `accepted`, `duplicate`, `call-back`, `503`, …
    var answer: String
    /// How many messages of this id came before, verified ones.
    var repeated: Int
    /// Names of the members that are not as in the first of this id that this process received; nil where none is.
    var differs: [String]?
}

/// Append only; a line that a crash tore is skipped when it is read.
final class DeskLog: Sendable {
    let file: URL
    private let handle: Mutex<FileHandle>

    init(_ file: URL) throws {
        self.file = file
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw OperatorError(
                .configuration, "the ledger \(file.path) cannot be opened: \(String(cString: strerror(errno)))",
                mend: "name a file that you may write to with --ledger")
        }
        handle = Mutex(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
    }

    /// Durable when it returns.
    func append(_ entry: DeskEntry) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let line = try encoder.encode(entry) + Data("\n".utf8)
        try handle.withLock { handle in
            try handle.write(contentsOf: line)
            try handle.synchronize()
        }
    }

    static func read(_ file: URL) throws -> [DeskEntry] {
        let decoder = JSONDecoder()
        return try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).compactMap { try? decoder.decode(DeskEntry.self, from: $0) }
    }
}
