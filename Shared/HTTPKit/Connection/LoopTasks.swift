// Work that other threads leave for an event loop, fetched in one go.

import NIOCore
import Synchronization

/// What one event loop is to do for its connections. The answers to all uploads of one commit come within microseconds; a loop that
/// is asked to execute each spends as long on being asked as on writing the head of an answer.
final class LoopTasks: Sendable {
    typealias Operation = @Sendable () -> Void

    private let loop: any EventLoop
    private let waiting = Mutex<[Operation]>([])

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    /// Runs `task` on the loop, soon, after those that were added before.
    func add(_ task: @escaping Operation) {
        let isFirst = waiting.withLock { waiting in
            waiting.append(task)
            return waiting.count == 1
        }
        if isFirst { loop.execute { self.run() } }
    }

    private func run() {
        let tasks = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for task in tasks { task() }
    }
}
