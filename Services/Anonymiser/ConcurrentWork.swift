// Work that is parted among the processors while one request is judged.

import Dispatch
import Foundation
import Synchronization

enum ConcurrentWork {
    /// Parts that are worth it; requests are judged one after the other.
    static let width = min(4, ProcessInfo.processInfo.activeProcessorCount)

    /// What `work` makes of each number below `count`, in their order. Returns when all is done; blocks its thread.
    /// - Throws: what the first of those that failed has thrown.
    static func map<Value: Sendable>(_ count: Int, _ work: @Sendable (Int) throws -> Value) throws -> [Value] {
        let results = Mutex<[Int: Result<Value, any Error>]>([:])
        DispatchQueue.concurrentPerform(iterations: count) { number in
            let result = Result { try work(number) }
            results.withLock { $0[number] = result }
        }
        return try results.withLock { results in try (0..<count).compactMap { try results[$0]?.get() } }
    }
}
