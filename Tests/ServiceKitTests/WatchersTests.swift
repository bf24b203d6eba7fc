// Who is woken by news of a key, how many may wait, and what becomes of those who leave.

import Contracts
import TestKit
import Testing

@testable import ServiceKit

@Suite("Watchers", .timeLimit(.minutes(1)))
struct WatchersTests {
    /// No test waits so long: whoever waits this long is never woken.
    private static let long = Duration.seconds(600)

    private let anna = PersonID.random()
    private let bruno = PersonID.random()

    @Test("news wakes everybody who waits for its key, and nobody else")
    func wakes() async throws {
        let watchers = Watchers<PersonID>(limit: 3)
        let (one, two) = (try #require(watchers.watch(anna)), try #require(watchers.watch(anna)))
        let his = try #require(watchers.watch(bruno))
        async let first = one.wait(atMost: Self.long)
        async let second = two.wait(atMost: Self.long)
        watchers.notify(anna)
        #expect(await first)
        #expect(await second)
        #expect(await !his.wait(atMost: .milliseconds(1)))
        watchers.notify(bruno)
        #expect(await his.wait(atMost: Self.long))
    }

    @Test("news that comes between the read and the wait is not missed, and much of it counts once")
    func keepsNews() async throws {
        let watchers = Watchers<PersonID>(limit: 1)
        let watcher = try #require(watchers.watch(anna))
        for _ in 0..<10 { watchers.notify(anna) }
        await watcher.wait(atMost: Self.long)
        let signal = WakeUpSignal()
        for _ in 0..<10 { signal.notify() }
        #expect(await signal.wait(atMost: Self.long))
        #expect(await !signal.wait(atMost: .milliseconds(1)), "nothing has come since")
    }

    @Test("without news a watcher looks by itself after its time")
    func polls() async throws {
        let watcher = try #require(Watchers<PersonID>(limit: 1).watch(anna))
        await watcher.wait(atMost: .milliseconds(1))
    }

    @Test("a key has so many watchers and no more; whoever leaves makes room for one, and others watch as ever", arguments: [1, 5, 20])
    func bounds(limit: Int) throws {
        let watchers = Watchers<PersonID>(limit: limit)
        var open = try (0..<limit).map { _ in try #require(watchers.watch(anna)) }
        #expect(watchers.watch(anna) == nil)
        let his = try #require(watchers.watch(bruno))
        #expect(watchers.count(of: anna) == limit && watchers.count(of: bruno) == 1)
        open.removeLast()
        open.append(try #require(watchers.watch(anna)))
        #expect(watchers.watch(anna) == nil)
        open.append(watchers.watchUnbounded(anna))
        #expect(watchers.count(of: anna) == limit + 1, "a worker is not held off")
        open.removeAll()
        #expect(watchers.count(of: anna) == 0)
        withExtendedLifetime(his) { #expect(watchers.count(of: bruno) == 1) }
    }

    @Test("W1: a stream that is ended while it waits returns at once and gives its room back", arguments: [true, false])
    func ends(withLimit isLimited: Bool) async throws {
        let watchers = Watchers<PersonID>(limit: 1)
        let stream = Task { [anna] in
            let watcher = try #require(watchers.watch(anna))
            if isLimited { await watcher.wait(atMost: Self.long) } else { await watcher.wait() }
            #expect(Task.isCancelled)
        }
        try await eventually("it waits", isTrue: { watchers.count(of: anna) == 1 })
        stream.cancel()
        try await stream.value
        #expect(watchers.count(of: anna) == 0)
        #expect(watchers.watch(anna) != nil)
    }

    @Test("one that was cancelled before it began to wait does not wait")
    func cancelledBefore() async throws {
        let watcher = try #require(Watchers<PersonID>(limit: 1).watch(anna))
        let stream = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            await watcher.wait()
            await watcher.wait(atMost: Self.long)
        }
        await stream.value
    }

    @Test("one that wakes itself looks at once, and the others sleep on")
    func firstLook() async throws {
        let watchers = Watchers<PersonID>(limit: 2)
        let (first, second) = (try #require(watchers.watch(anna)), try #require(watchers.watch(anna)))
        first.notify()
        await first.wait()
        #expect(await !second.wait(atMost: .milliseconds(1)))
    }

    @Test("news, watchers who come and watchers who leave at once: every key is empty in the end, and nobody sleeps through the last news")
    func concurrently() async throws {
        let watchers = Watchers<Int>(limit: 4)
        await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask {
                    let key = number % 5
                    guard let watcher = watchers.watch(key) else { return }
                    watchers.notify(key)
                    await watcher.wait()
                }
                group.addTask { watchers.notify(number % 5) }
            }
        }
        for key in 0..<5 { #expect(watchers.count(of: key) == 0) }
    }
}
