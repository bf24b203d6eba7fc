// What waits for the writer: bounded, in order, and gathered into groups.

import Dispatch
import Synchronization

/// Any thread or task adds; one thread, the writer, takes. Adding never blocks. The writer is woken once for a group, not once
/// for each body: when the first one comes to an idle writer, and when half as many have come as shared the group before: of those
/// who wait for an answer before asking again, one half is then committed while the other half asks.
final class WriteQueue: Sendable {
    private struct State {
        var waiting: [WaitingWrite] = []
        /// Since when the first of `waiting` waits, or at most since when the last group was taken.
        var waitingSince = ContinuousClock.now
        var maintenance: [WaitingWrite] = []
        var isClosed = false
        /// The writer sleeps until so many bodies wait; `nil` while it is awake.
        var sleepsUntil: Int?
        /// How many bodies are waited for: half of those that shared the last group.
        var company = 1
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let limit: Int
    private let groupLimit: Int
    private let window: Duration

    init(settings: StoreSettings) {
        limit = settings.waitingLimit
        groupLimit = max(1, settings.groupLimit)
        window = settings.groupCommitWindow
    }

    var depth: Int {
        state.withLock { $0.waiting.count }
    }

    var isClosed: Bool {
        state.withLock { $0.isClosed }
    }

    func add(_ write: WaitingWrite) throws(StoreError) {
        let refusal: StoreError? = state.withLock { state in
            if state.isClosed { return .closed }
            if state.waiting.count >= limit { return .busy }
            if state.waiting.isEmpty { state.waitingSince = .now }
            state.waiting.append(write)
            wakeWriter(&state)
            return nil
        }
        if let refusal { throw refusal }
    }

    /// Goes before the bodies that wait. Not bounded: only the store itself adds some, now and then.
    func add(maintenance: WaitingWrite) throws(StoreError) {
        let isClosed = state.withLock { state in
            guard !state.isClosed else { return true }
            state.maintenance.append(maintenance)
            wakeWriter(&state)
            return false
        }
        if isClosed { throw .closed }
    }

    /// Takes nothing more; what waits is still done.
    func close() {
        state.withLock { state in
            state.isClosed = true
            wakeWriter(&state)
        }
    }

    /// Takes nothing more and gives back what waits, for the writer that must not go on.
    func abandon() -> [WaitingWrite] {
        state.withLock { state in
            state.isClosed = true
            wakeWriter(&state)
            defer { (state.waiting, state.maintenance) = ([], []) }
            return state.maintenance + state.waiting
        }
    }

    private func wakeWriter(_ state: inout State) {
        guard let enough = state.sleepsUntil else { return }
        if state.waiting.count >= enough || state.isClosed || !state.maintenance.isEmpty {
            state.sleepsUntil = nil
            wake.signal()
        }
    }
}

// MARK: The writer's side

extension WriteQueue {
    /// Blocks the calling thread until there is something to do.
    func next() -> Work {
        while true {
            sleep(untilWaiting: 1, atMost: nil)
            // What came during the last commit has waited for some or all of its window already.
            let (since, company) = state.withLock { ($0.waitingSince, $0.company) }
            let rest = window - (ContinuousClock.now - since)
            if rest > .zero { sleep(untilWaiting: company, atMost: rest) }
            if let work = take() { return work }
        }
    }

    private func take() -> Work? {
        state.withLock { state in
            if !state.maintenance.isEmpty { return .maintenance(state.maintenance.removeFirst()) }
            if state.waiting.isEmpty { return state.isClosed ? .end : nil }
            state.company = (min(state.waiting.count, groupLimit) + 1) / 2
            guard state.waiting.count > groupLimit else {
                defer { state.waiting.removeAll(keepingCapacity: true) }
                return .writes(state.waiting)
            }
            let group = Array(state.waiting.prefix(groupLimit))
            state.waiting.removeFirst(groupLimit)
            state.waitingSince = .now
            return .writes(group)
        }
    }

    private func sleep(untilWaiting enough: Int, atMost limit: Duration?) {
        let mustSleep = state.withLock { state in
            if state.waiting.count >= enough || state.isClosed || !state.maintenance.isEmpty { return false }
            state.sleepsUntil = enough
            return true
        }
        guard mustSleep else { return }
        guard let limit else { return wake.wait() }
        guard wake.wait(timeout: .now() + .nanoseconds(limit.wholeNanoseconds)) == .timedOut else { return }
        let wasWoken = state.withLock { state in
            defer { state.sleepsUntil = nil }
            return state.sleepsUntil == nil
        }
        // Somebody signalled between the time-out and the lock: that signal must not wake a later sleep.
        if wasWoken { wake.wait() }
    }
}

extension Duration {
    fileprivate var wholeNanoseconds: Int {
        Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000)
    }
}
