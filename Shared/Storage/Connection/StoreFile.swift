// The file on disk: readable by its owner alone, and held by one store at a time.

import Foundation
import Glibc
import Synchronization

/// Holds the lock of a store for as long as it lives. The lock is on a file beside the store, because closing any descriptor of
/// the store itself would drop SQLite's own locks; the system releases it when the process dies.
final class StoreFile: Sendable {
    let path: String
    /// The file's name without extension.
    let name: String
    private let lock: Mutex<CInt?>

    init(_ file: URL) throws(StoreError) {
        path = file.path
        name = file.deletingPathExtension().lastPathComponent
        let folder = file.deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .unreachable(errno: ENOENT)
        }
        let descriptor = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unreachable(errno: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .inUse
        }
        lock = Mutex(descriptor)
        try StoreFile.create(path)
        try StoreFile.flushNames(in: folder)
    }

    deinit {
        release()
    }

    /// Lets another store open the file. May be called again.
    func release() {
        lock.withLock { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }

    /// Before SQLite does, with narrower rights than it would take; its companions (`-wal`, `-shm`) inherit them.
    private static func create(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unreachable(errno: errno) }
        close(descriptor)
    }

    /// A file whose name has not been flushed is gone after a power cut, with everything that was flushed into it.
    private static func flushNames(in folder: String) throws(StoreError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .unreachable(errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .unreachable(errno: errno) }
    }

    /// Size of the write-ahead log's file in bytes; 0 where there is none.
    var logSize: Int {
        var status = stat()
        return stat(path + "-wal", &status) == 0 ? Int(status.st_size) : 0
    }
}
