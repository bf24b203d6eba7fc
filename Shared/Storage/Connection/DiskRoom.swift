// Whether the disk had room for what was to be written.

import Synchronization

/// Remembers that a write was refused because the disk is full, until there is reason to believe that it is not.
final class DiskRoom: Sendable {
    /// A small write may still fit where a larger one has just been refused.
    static let memory = Duration.seconds(10)

    private let refusedAt = Mutex<ContinuousClock.Instant?>(nil)

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

    var knowledge: Knowledge {
        guard let refusedAt = refusedAt.withLock({ $0 }) else { return .room }
        return .now - refusedAt < Self.memory ? .full : .unknown
    }

    func hasRoom() {
        refusedAt.withLock { $0 = nil }
    }
}
