// Where bodies that take long are unpacked and parsed: not on the threads that everything else of a service needs.

import NIOPosix

/// One thread for all of a process, so that whoever sends megabytes waits for others who do, and nobody else does: not the event
/// loops, and not the tasks that supervise, dispatch and answer.
package enum LongBodies {
    /// Bytes that are parsed wherever their reader is: some tens of microseconds.
    private static let short = 16 << 10
    private static let thread: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        return pool
    }()

    /// Does `work`, which takes time in proportion to so many bytes, where it disturbs nobody. What it takes is charged to the request.
    package static func work<Result: Sendable>(
        onBytes count: Int, of exchange: Exchange, _ work: @Sendable @escaping () throws -> Result
    ) async throws -> Result {
        guard count > short else { return try work() }
        guard let executor = exchange.executor else { return try await thread.runIfActive(work) }
        return try await thread.runIfActive { try executor.metering(work) }
    }
}
