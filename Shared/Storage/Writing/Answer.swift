// What a blocked thread waits for.

import Synchronization

/// Filled by one thread, taken by another after a semaphore said so.
final class Answer<Value: Sendable>: Sendable {
    private let result = Mutex<Result<Value, any Error>?>(nil)

    func put(_ value: Result<Value, any Error>) {
        result.withLock { $0 = value }
    }

    /// Not filled counts as closed.
    func take() -> Result<Value, any Error> {
        result.withLock { $0 } ?? .failure(StoreError.closed)
    }
}
