// Runs the tasks of requests on threads of their own and counts the processor time of each.

import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// One per request. What handlers compute, bodies that take long to read included, does not hold up the threads that the rest of the
/// service runs on: those of supervision, of streams between services and of the watch over the process.
final class MeteredExecutor: TaskExecutor {
    /// As many threads as there are processors, as Swift's own pool has; they live as long as the process.
    private static let threads: NIOThreadPool = {
        let pool = NIOThreadPool(numberOfThreads: System.coreCount)
        pool.start()
        return pool
    }()

    private let nanoseconds = Atomic<Int64>(0)

    /// Processor time so far.
    var spent: Duration { .nanoseconds(nanoseconds.load(ordering: .relaxed)) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Self.threads.submit { [self] _ in
            let start = Self.threadTime
            job.runSynchronously(on: asUnownedTaskExecutor())
            nanoseconds.wrappingAdd(Self.threadTime - start, ordering: .relaxed)
        }
    }

    /// Of this thread, in nanoseconds.
    private static var threadTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
