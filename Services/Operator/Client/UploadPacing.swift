// When the reference client tries what waits: what is freshest first and soon, what is older when it may. Pure.

/// Times count from when the sender began; an `end` is the sequence that the partition's next entry gets.
struct UploadPacing: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        /// As many of the newest entries as an upload holds.
        case newest
        /// The newest entries in a small upload of their own, while everything else has to wait.
        case urgent
        /// As many of the oldest entries as an upload holds.
        case oldest
        /// Nothing for so long, unless a new entry comes.
        case wait(Duration)
    }

    /// A new entry is tried at once, but so long after the latest try began where everything else has to wait.
    static let urgentInterval = Duration.seconds(1)

    /// The next try's number since the latest success, urgent ones not counted; from 1.
    private(set) var attempt = 1
    /// Until when everything but new entries has to wait.
    private var heldUntil: Duration?
    /// The server has said until when, by `Retry-After`: that holds for what is old, also where it takes what is new meanwhile.
    private var isAsked = false
    private var latestTry = Duration.zero
    /// The end at the latest try of the newest entries.
    private var triedEnd: UInt64 = 0
    /// The end at the latest such try that was acknowledged, a small one not counted.
    private var deliveredEnd: UInt64 = 0
    /// After the newest, so that entries that come faster than they are taken do not keep the old ones for ever.
    private var isOldestDue = false

    func step(end: UInt64, at now: Duration) -> Step {
        guard let heldUntil, now < heldUntil else { return end > deliveredEnd && !isOldestDue ? .newest : .oldest }
        guard end > triedEnd else { return .wait(heldUntil - now) }
        let due = latestTry + Self.urgentInterval
        return now < due ? .wait(min(due, heldUntil) - now) : .urgent
    }

    mutating func began(_ step: Step, end: UInt64, at now: Duration) {
        latestTry = now
        if step != .oldest { triedEnd = end }
    }

    /// - Parameter last: the greatest sequence of what was acknowledged.
    mutating func succeeded(_ step: Step, through last: UInt64) {
        attempt = 1
        if step == .urgent {
            if !isAsked { heldUntil = nil }
            return
        }
        heldUntil = nil
        deliveredEnd = max(deliveredEnd, step == .newest ? triedEnd : last + 1)
        isOldestDue = step == .newest
    }

    /// - Parameters:
    ///   - pause: how long everything but new entries has to wait from now on. A failed urgent try changes nothing of that.
    ///   - isAsked: by the server.
    mutating func failed(_ step: Step, pause: Duration, isAsked: Bool, at now: Duration) {
        guard step != .urgent else { return }
        heldUntil = now + pause
        self.isAsked = isAsked
        isOldestDue = false
        attempt += 1
    }
}
