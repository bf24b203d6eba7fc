// Work that threads leave for an event loop.

import NIOCore
import NIOPosix
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

private final class Ledger: Sendable {
    private let state = Mutex<[Int: [Int]]>([:])

    var all: [Int: [Int]] { state.withLock { $0 } }

    func add(_ number: Int, of task: Int) {
        state.withLock { $0[task, default: []].append(number) }
    }
}

@Suite struct LoopErrandsTests {
    @Test("Every errand runs once, on the loop, those of one thread in their order, also those that errands add")
    func order() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let errands = LoopTasks(loop)
        let done = Ledger()
        await withTaskGroup(of: Void.self) { tasks in
            for task in 0..<8 {
                tasks.addTask {
                    for number in 0..<1000 {
                        errands.add {
                            loop.preconditionInEventLoop()
                            done.add(number, of: task)
                            guard number == 999 else { return }
                            errands.add { done.add(1000, of: task) }
                        }
                    }
                }
            }
        }
        try await eventually("all errands") { done.all.values.reduce(0) { $0 + $1.count } == 8 * 1001 }
        #expect(done.all.values.allSatisfy { $0 == Array(0...1000) })
        try await group.shutdownGracefully()
    }
}
