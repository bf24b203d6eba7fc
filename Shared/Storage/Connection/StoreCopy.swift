// A copy of a store, made while it is in use.

package import Foundation
package import GRDB
import Glibc

extension Store {
    /// Writes a whole copy of the present state to `file`, durable under that name before it returns; whatever was there is
    /// replaced. The copy is a file of its own, without anything that was deleted. For small stores: it is written in one go, and
    /// until then the write-ahead log only grows.
    /// - Parameter amend: what the copy is to hold otherwise; it is done before the copy takes its name.
    /// - Throws: `StoreError`, or what the system says of the folder.
    package func copy(to file: URL, amend: (@Sendable (Database) throws -> Void)? = nil) async throws {
        let folder = file.deletingLastPathComponent()
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let draft = folder.appendingPathComponent(".\(file.lastPathComponent).draft")
        try? FileManager.default.removeItem(at: draft)
        defer { try? FileManager.default.removeItem(at: draft) }
        try await vacuum(into: draft)
        if let amend { try Self.change(draft, amend) }
        try Self.flush(draft.path, narrowing: true)
        guard rename(draft.path, file.path) == 0 else { throw StoreError.unreachable(errno: errno) }
        try Self.flush(folder.path, narrowing: false)
    }

    /// Without a journal on the disk, which might outlive a key that is destroyed: a draft that fails is thrown away.
    private static func change(_ draft: URL, _ body: (Database) throws -> Void) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA journal_mode = MEMORY") }
        let queue = try DatabaseQueue(path: draft.path, configuration: configuration)
        try queue.write(body)
        try queue.close()
    }

    /// Reads a copy that lies there, which stays as it is; blocks for as long as `body` takes.
    /// - Throws: what SQLite says of a file that is missing or damaged, or what `body` throws.
    package static func readCopy<Value>(_ file: URL, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: file.path, configuration: configuration).read(body)
    }

    /// - Parameter narrowing: whether the file is made readable by its owner alone.
    static func flush(_ path: String, narrowing: Bool) throws(StoreError) {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreachable(errno: errno) }
        defer { _ = Glibc.close(descriptor) }
        guard !narrowing || fchmod(descriptor, 0o600) == 0, fsync(descriptor) == 0 else { throw .unreachable(errno: errno) }
    }
}
