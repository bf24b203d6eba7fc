// The thread that owns a node's sockets: it polls them, and between two polls it runs the jobs of the node's actor.

import CZeroMQ
import Dispatch
import Foundation
import Synchronization

/// A serial executor whose thread sleeps in `zmq_poll`; an eventfd wakes it for jobs and for messages that want to go out.
/// After `stop` its thread ends, and the few jobs that still come run one after the other on a queue.
final class SocketThread: SerialExecutor {
    private struct Work {
        var jobs: [UnownedJob] = []
        var isStopping = false
        var hasEnded = false
    }

    private let work = Mutex(Work())
    private let thread = Mutex<pthread_t?>(nil)
    private let isSignalled = Atomic(false)
    private let afterwards = DispatchQueue(label: "bus.afterwards")
    /// Readable when somebody called `wake`.
    let wakeDescriptor: Int32

    init() throws(BusError) {
        wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard wakeDescriptor >= 0 else { throw BusError(.zeromq, "no eventfd: too many open files") }
    }

    deinit {
        close(wakeDescriptor)
    }

    /// Calls `turn` again and again on the new thread until `stop`. A turn polls, and returns when something happened or is due.
    func start(name: String, turn: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            self.thread.withLock { $0 = pthread_self() }
            while true {
                runJobs()
                if endIfDone() { break }
                if !work.withLock({ $0.isStopping }) { turn() }
            }
        }
        thread.name = name
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// The turn under way is the last one.
    func stop() {
        work.withLock { $0.isStopping = true }
        wake()
    }

    /// From any thread; the thread's next poll returns at once. Cheap when it was woken already.
    func wake() {
        guard !isSignalled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        var one: UInt64 = 1
        _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// To be called on the thread when the descriptor is readable, before looking at what it was woken for.
    func acknowledgeWake() {
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, MemoryLayout<UInt64>.size)
        isSignalled.store(false, ordering: .sequentiallyConsistent)
    }

    private func runJobs() {
        let jobs = work.withLock { work in
            defer { work.jobs.removeAll(keepingCapacity: true) }
            return work.jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    private func endIfDone() -> Bool {
        let isDone = work.withLock { work in
            guard work.isStopping, work.jobs.isEmpty else { return false }
            work.hasEnded = true
            return true
        }
        if isDone { thread.withLock { $0 = nil } }
        return isDone
    }

    // MARK: SerialExecutor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let hasEnded = work.withLock { work in
            if !work.hasEnded { work.jobs.append(job) }
            return work.hasEnded
        }
        if hasEnded {
            afterwards.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        } else {
            wake()
        }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    func checkIsolated() {
        precondition(isOnThread, "only the socket thread may touch its sockets")
    }

    func isIsolatingCurrentContext() -> Bool? {
        isOnThread
    }

    private var isOnThread: Bool {
        thread.withLock { $0.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }
}
