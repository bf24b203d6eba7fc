// Runs the tasks of requests on threads of their own and counts the processor time of each.

import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// One per request. What handlers compute does not hold up the threads that the rest of the service runs on: those of supervision, of
/// streams between services and of the watch over the process. Each job is charged as it ends, so that a request that never ends is, too.
final class MeteredExecutor: TaskExecutor {
    /// As many threads as there are processors, as Swift's own pool has; they live as long as the process.
    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: System.coreCount)
        pool.start()
        return pool
    }()

    private struct State {
        /// What was spent before it was known who pays.
        var unpaid = Duration.zero
        var payer: BudgetPermit?
    }

    private let state = Mutex(State())

    /// Everything that is spent from here on, and what was spent before, is charged to the permit's holder.
    func charge(to payer: BudgetPermit) {
        let unpaid = state.withLock { state in
            state.payer = payer
            defer { state.unpaid = .zero }
            return state.unpaid
        }
        if unpaid > .zero { payer.charge(unpaid) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Self.threads.submit { [self] _ in
            metering { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// Charges what `work` takes of the thread that this is called on.
    func metering<Result>(_ work: () throws -> Result) rethrows -> Result {
        let start = Self.threadTime
        defer { spend(.nanoseconds(Self.threadTime - start)) }
        return try work()
    }

    private func spend(_ time: Duration) {
        let payer = state.withLock { state in
            if state.payer == nil { state.unpaid += time }
            return state.payer
        }
        payer?.charge(time)
    }

    /// Processor time of this thread, in nanoseconds.
    private static var threadTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
