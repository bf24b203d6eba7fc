// Whether the disk has room for what is to be written.

import Glibc
import Synchronization

/// Remembers that a write was refused because the disk is full, until there is reason to believe that it is not. Whoever writes seldom is
/// not refused for long on a full disk, and a small write fits into what the write-ahead log's file has already: so what is left of the
/// disk is looked at as well.
final class DiskRoom: Sendable {
    /// A small write may still fit where a larger one has just been refused.
    static let memory = Duration.seconds(10)
    /// With fewer bytes than that the next larger write is refused.
    static let least: Int64 = 1 << 20

    private let refusedAt = Mutex<ContinuousClock.Instant?>(nil)
    private let free: @Sendable () -> Int64?

    /// - Parameter free: how many bytes may still be written; nil where that is not known.
    init(free: @escaping @Sendable () -> Int64?) {
        self.free = free
    }

    /// What the file system that holds `path` has left for this user; nil from one that does not tell its size, as one without a limit.
    static func free(beside path: String) -> Int64? {
        var information = statvfs()
        guard statvfs(path, &information) == 0, information.f_blocks > 0 else { return nil }
        let (bytes, isTooMany) = UInt64(information.f_bavail).multipliedReportingOverflow(by: UInt64(information.f_frsize))
        return isTooMany ? .max : Int64(clamping: bytes)
    }

    /// Call with each error that a write ended with.
    func note(_ error: any Error) {
        if error as? StoreError == .full { refusedAt.withLock { $0 = .now } }
    }

    enum Knowledge {
        case room
        case full
        /// It was full some time ago: only a write can tell.
        case unknown
    }

    /// Costs one call of the system.
    var knowledge: Knowledge {
        if let free = free(), free < Self.least { return .full }
        guard let refusedAt = refusedAt.withLock({ $0 }) else { return .room }
        return .now - refusedAt < Self.memory ? .full : .unknown
    }

    func hasRoom() {
        refusedAt.withLock { $0 = nil }
    }
}
