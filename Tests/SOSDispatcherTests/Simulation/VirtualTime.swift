// The time of one thread: what is due when, whose it is, and what the clocks show meanwhile.

import PlayedTime

/// Runs every task that begins on this thread, one job after the other, and jumps from one due time to the next. Each job belongs to a
/// process, which is that of the job that brought it: a process that is killed has no job left that would ever run.
final class VirtualTime {
    /// Of those who are no process of the suite: people, devices, peers, the network.
    static let world = 0
    /// What the wall clock shows when the simulation begins.
    static let beginning: Int64 = 1_800_000_000_000
    /// What the steady clock shows then; unlike the wall clock's, so that nobody takes one for the other unnoticed.
    private static let steadyBeginning: Int64 = 1_000_000_000
    private static let nanoseconds: Int64 = 1_000_000

    private enum Work {
        case job(UnsafeMutableRawPointer?, @convention(c) (UnsafeMutableRawPointer?) -> Void)
        case event(() -> Void)
    }

    private struct Entry {
        var at: Int64
        var order: Int
        var process: Int
        var work: Work
    }

    /// Nanoseconds since the beginning.
    private var instant: Int64 = 0
    private var later: [Entry] = []
    private var ready: [Entry] = []
    private var order = 0
    private var living: Set<Int> = [VirtualTime.world]
    private var processes = 0
    /// Whose job runs.
    private(set) var current = VirtualTime.world
    /// Milliseconds that the wall clock is ahead of an even one.
    private(set) var wallOffset: Int64 = 0
    /// Planted: whoever goes by the steady clock goes by the wall clock.
    var steadyFollowsWall = false
    /// Planted: a sleep of exactly so many milliseconds never ends.
    var endlessSleep: Int64?
    /// Which of those jobs runs that could run at the same time; the first unless told.
    var choose: (_ of: Int) -> Int = { _ in 0 }
    /// After each job.
    var afterEach: () -> Void = {}

    /// Milliseconds since the beginning.
    var now: Int64 { instant / VirtualTime.nanoseconds }

    // MARK: Processes

    func newProcess() -> Int {
        processes += 1
        living.insert(processes)
        return processes
    }

    func isAlive(_ process: Int) -> Bool { living.contains(process) }

    func kill(_ process: Int) { living.remove(process) }

    /// What `body` brings belongs to the process. Nothing happens in one that is dead.
    func enter(_ process: Int, _ body: () -> Void) {
        guard isAlive(process) else { return }
        let before = current
        current = process
        body()
        current = before
    }

    /// Runs `body` as the world's, in so many milliseconds.
    func after(_ milliseconds: Int64, _ body: @escaping () -> Void) {
        put(instant + max(0, milliseconds) * VirtualTime.nanoseconds, VirtualTime.world, .event(body))
    }

    func stepWallClock(by milliseconds: Int64) {
        wallOffset += milliseconds
        show()
    }

    // MARK: Running

    /// Runs until nothing is due before `end`, in milliseconds since the beginning; or until `isOver`.
    func run(until end: Int64, or isOver: () -> Bool = { false }) {
        played_time_begin(Unmanaged.passUnretained(self).toOpaque()) { player, due, context, work in
            guard let player, let work else { return }
            Unmanaged<VirtualTime>.fromOpaque(player).takeUnretainedValue().take(due, context, work)
        }
        defer { played_time_end() }
        show()
        while !isOver() {
            if !ready.isEmpty {
                perform(ready.remove(at: ready.count > 1 ? choose(ready.count) : 0))
            } else {
                guard let next = later.first, next.at <= end * VirtualTime.nanoseconds else { break }
                instant = max(instant, next.at)
                show()
                while let due = later.first, due.at <= instant { ready.append(takeFirst(due)) }
            }
        }
        instant = max(instant, isOver() ? instant : end * VirtualTime.nanoseconds)
    }

    private func perform(_ entry: Entry) {
        guard isAlive(entry.process) else { return }
        current = entry.process
        switch entry.work {
        case .job(let context, let work): work(context)
        case .event(let body): body()
        }
        current = VirtualTime.world
        afterEach()
    }

    private var steadyShift: Int64 {
        (VirtualTime.steadyBeginning + (steadyFollowsWall ? wallOffset : 0)) * VirtualTime.nanoseconds
    }

    private func show() {
        played_time_set((VirtualTime.beginning + wallOffset) * VirtualTime.nanoseconds + instant, steadyShift + instant)
    }

    /// From the runtime: `due` is a time of the steady clock.
    private func take(
        _ due: Int64, _ context: UnsafeMutableRawPointer?, _ work: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        var at = due - steadyShift
        if let endlessSleep, at - instant == endlessSleep * VirtualTime.nanoseconds { at = .max }
        put(at, current, .job(context, work))
    }

    // MARK: The heap

    private func put(_ at: Int64, _ process: Int, _ work: Work) {
        order += 1
        let entry = Entry(at: at, order: order, process: process, work: work)
        guard at > instant else { return ready.append(entry) }
        later.append(entry)
        var index = later.count - 1
        while index > 0, precedes(index, (index - 1) / 2) {
            later.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private func takeFirst(_ first: Entry) -> Entry {
        later.swapAt(0, later.count - 1)
        later.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < later.count && precedes(child, least) { least = child }
            guard least != index else { return first }
            later.swapAt(index, least)
            index = least
        }
    }

    private func precedes(_ one: Int, _ other: Int) -> Bool {
        (later[one].at, later[one].order) < (later[other].at, later[other].order)
    }
}
