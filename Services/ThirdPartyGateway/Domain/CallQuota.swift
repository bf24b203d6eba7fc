// How many calls somebody may make in a stretch of time, and what is told of it.

import Contracts

/// So many calls in each stretch of `length`, which begins at a round time of UTC: everybody can see when it starts anew.
struct CallWindow: Hashable, Sendable {
    let limit: Int
    let length: Duration
    private var begin = Timestamp(milliseconds: 0)
    private var count = 0

    init(limit: Int, length: Duration) {
        (self.limit, self.length) = (limit, length)
    }

    /// What is left and when it starts anew.
    struct State: Hashable, Sendable {
        let limit: Int
        let remaining: Int
        /// Until then, rounded up to whole seconds.
        let resetSeconds: Int
    }

    mutating func state(at now: Timestamp) -> State {
        let milliseconds = length.wholeMilliseconds
        let current = Timestamp(milliseconds: now.milliseconds - now.milliseconds.modulo(milliseconds))
        // A clock that is set back gives no calls back, nor makes anybody wait until it has caught up. A call of the stretch before has
        // been overtaken: it takes nothing back, or those that it does not count would be free.
        if current > begin { (begin, count) = (current, 0) } else if begin - current > length { begin = current }
        let left = max(0, begin.milliseconds + milliseconds - now.milliseconds)
        return State(limit: limit, remaining: max(0, limit - count), resetSeconds: Int((left + 999) / 1000))
    }

    fileprivate mutating func take() {
        count += 1
    }
}

/// Two windows at once: a short one against bursts, a long one as quota. A call counts in both or in neither.
struct CallQuota: Hashable, Sendable {
    private var windows: [CallWindow]

    init(perMinute: Int, perDay: Int) {
        windows = [
            CallWindow(limit: perMinute, length: .seconds(60)), CallWindow(limit: perDay, length: .seconds(86_400)),
        ]
    }

    /// - Returns: whether the call may be made, and the window that has least left, after it.
    mutating func take(at now: Timestamp) -> (isAdmitted: Bool, tightest: CallWindow.State) {
        let before = windows.indices.map { windows[$0].state(at: now) }
        if let used = before.filter({ $0.remaining == 0 }).max(by: { $0.resetSeconds < $1.resetSeconds }) { return (false, used) }
        for index in windows.indices { windows[index].take() }
        let after = windows.indices.map { windows[$0].state(at: now) }
        let tightest = after.min { $0.remaining < $1.remaining } ?? after[0]
        return (true, tightest)
    }

    /// Whether nothing is counted any more.
    mutating func isUnused(at now: Timestamp) -> Bool {
        windows.indices.allSatisfy { index in
            let state = windows[index].state(at: now)
            return state.remaining == state.limit
        }
    }

    /// `6000;w=60, 1000000;w=86400`.
    var policy: String {
        windows.map { "\($0.limit);w=\($0.length.wholeMilliseconds / 1000)" }.joined(separator: ", ")
    }
}

extension Int64 {
    fileprivate func modulo(_ divisor: Int64) -> Int64 {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }
}
