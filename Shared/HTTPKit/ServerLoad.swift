// How much is going on in a server at this moment.

import Synchronization

final class ServerLoad: Sendable {
    private let running = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)

    /// Requests that are being worked on.
    var count: Int { running.load(ordering: .relaxed) }

    var isDraining: Bool { draining.load(ordering: .relaxed) }

    func startDraining() {
        draining.store(true, ordering: .relaxed)
    }

    /// False where `most` are running already; otherwise `leave` must follow. See `HTTPLimits.reserve`.
    func enter(most: Int) -> Bool {
        guard running.wrappingAdd(1, ordering: .relaxed).newValue <= most else {
            leave()
            return false
        }
        return true
    }

    /// Whether `enter` would be true at this moment.
    func hasRoom(most: Int) -> Bool { count < most }

    func leave() {
        running.wrappingSubtract(1, ordering: .relaxed)
    }
}
