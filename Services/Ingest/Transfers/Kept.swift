// Brings a value out of a transaction whose answer is somebody else's.

import Synchronization

/// Written in the writer's turn, read after the commit.
final class Kept<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    func put(_ value: Value) {
        state.withLock { $0 = value }
    }

    var value: Value? { state.withLock { $0 } }
}
