// Shows what waits for the queue of writes and what does not.

import Dispatch
package import Storage

/// Runs `body` while a write holds the store's writer.
/// - Returns: whether `body` was through before the writer was let go, which it is after 20 s in any case.
package func isDone(whileWriting store: Store, _ body: () async throws -> Void) async throws -> Bool {
    let release = DispatchSemaphore(value: 0)
    let (held, hold) = AsyncStream.makeStream(of: Void.self)
    async let isReleased = store.write { _ -> Bool in
        hold.finish()
        return release.wait(timeout: .now() + .seconds(20)) == .success
    }
    for await _ in held {}
    try await body()
    release.signal()
    return try await isReleased
}
