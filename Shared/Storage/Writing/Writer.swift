// The one thread that changes the file.

import Dispatch
import Foundation
import GRDB
import Logging

/// Takes groups from the queue and commits them until the queue is closed and empty. It is a thread and not a task: a commit
/// blocks for as long as the disk takes, and the cooperative pool has only as many threads as the machine has cores.
final class Writer: Sendable {
    let queue: WriteQueue
    private let group: GroupCommit
    private let metrics: StoreMetrics
    private let pool: DatabasePool
    private let fatal: FatalFault
    private let scope: WriteScope
    let room: DiskRoom
    private let ended = DispatchSemaphore(value: 0)

    init(pool: DatabasePool, settings: StoreSettings, metrics: StoreMetrics, room: DiskRoom, fatal: FatalFault) {
        self.pool = pool
        self.metrics = metrics
        self.room = room
        self.fatal = fatal
        queue = WriteQueue(settings: settings)
        scope = pool.writeWithoutTransaction { WriteScope.open(for: $0) }
        group = GroupCommit(acknowledge: settings.acknowledge, metrics: metrics, room: room, scope: scope)
    }

    deinit {
        scope.close()
    }

    func start(named name: String) {
        let thread = Thread { [self] in
            run()
            ended.signal()
        }
        thread.name = name
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Blocks until everything that had been taken is done and the thread is over.
    func stop() {
        queue.close()
        ended.wait()
        ended.signal()
    }

    /// As the thread would, on the caller's: where the disk is played.
    func commitAtOnce(_ write: WaitingWrite) {
        if queue.isClosed { write.refuse(StoreError.closed) } else { _ = commit([write]) }
    }

    private func run() {
        while true {
            switch queue.next() {
            case .end:
                return
            case .maintenance(let work):
                guard maintain(work) else { return }
            case .writes(let group):
                metrics.queued(group.count + queue.depth)
                guard commit(group) else { return }
            }
        }
    }

    /// False where the store must not be used any more.
    private func commit(_ writes: [WaitingWrite]) -> Bool {
        let start = ContinuousClock.now
        let outcome = pool.writeWithoutTransaction { group.commit(writes, on: $0) }
        metrics.commit(took: ContinuousClock.now - start)
        guard case .fatal(let code, let unanswered) = outcome else { return true }
        fatal.happened(code, refusing: queue, and: unanswered)
        return false
    }

    private func maintain(_ work: WaitingWrite) -> Bool {
        do {
            let acknowledge = try pool.writeWithoutTransaction { try work.perform($0) }
            scope.run()
            acknowledge()
        } catch {
            scope.drop()
            if let fault = Fault(error), fault.isFatal {
                fatal.happened(fault.code, refusing: queue, and: [work])
                return false
            }
            work.refuse(Fault.translate(error))
        }
        return true
    }
}
