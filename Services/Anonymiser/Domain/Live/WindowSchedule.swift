// A group subscription's windows: released, held and merged, or withheld, each exactly once and in order.

/// What an organisation is sent. Its number counts from 1 without gaps; a push that was stored is sent again as it was.
struct WindowPush: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        /// The table of this span is released, once and whole.
        case release
        /// The group was too small for too long.
        case withheld
    }

    let sequence: Int
    let span: TimeSpan
    let content: Content
}

/// A window that was closed before its turn: somebody skipped one.
struct WindowSkipped: Error, Hashable, Sendable {
    let expected: TimeSpan
}

/// The machine of one subscription. It is stored with each push in one transaction, so that a window that is closed twice is released once.
struct WindowSchedule: Hashable, Sendable {
    let granularity: Granularity
    /// Its end ends the subscription. Whole buckets of it alone are windows.
    let period: DayWindow
    let policy: AnonymityPolicy
    /// The number of the last push; 0 before the first.
    private(set) var sequence = 0
    /// Where the next window begins, in quarter hours since 1970.
    private(set) var next: Int
    /// Windows that wait to be merged; nil where none do.
    private(set) var held: TimeSpan?

    /// - Parameter begin: the first quarter hour that may be in a window; windows that began before are history.
    /// - Precondition: the granularity is not the window.
    init(_ granularity: Granularity, period: DayWindow, begin: Int, _ policy: AnonymityPolicy) {
        (self.granularity, self.period, self.policy) = (granularity, period, policy)
        next = 0
        next = Self.firstStart(granularity, atOrAfter: max(begin, period.span.start))
    }

    /// As it was kept.
    init(
        _ granularity: Granularity, period: DayWindow, sequence: Int, next: Int, held: TimeSpan?, _ policy: AnonymityPolicy
    ) {
        (self.granularity, self.period, self.policy) = (granularity, period, policy)
        (self.sequence, self.next, self.held) = (sequence, next, held)
    }

    private static func firstStart(_ granularity: Granularity, atOrAfter quarter: Int) -> Int {
        guard let bucket = granularity.bucket(holding: quarter) else { preconditionFailure("a subscription has windows of the grid") }
        return bucket.start >= quarter ? bucket.start : bucket.end
    }

    /// The next window; nil once the period is over.
    var window: TimeSpan? {
        guard let bucket = granularity.bucket(holding: next), bucket.end <= period.span.end else { return nil }
        return bucket
    }

    /// What is released where the next window has enough people: it, joined with what waits unless both are too long together.
    var candidate: TimeSpan? {
        guard let window, let held, window.end - held.start <= policy.holdDays * TimeSpan.perDay else { return window }
        return TimeSpan(held.start, window.end)
    }

    /// The next window is closed.
    /// - Parameters:
    ///   - closed: a window that was closed before changes nothing; one that is not yet its turn is an error.
    ///   - represented: by type, distinct people represented in a span: of the window, or of all that is merged.
    /// - Returns: what to send, in order.
    mutating func close(_ closed: TimeSpan, represented: (TimeSpan) -> [Int]) throws(WindowSkipped) -> [WindowPush] {
        guard let window, closed.start >= window.start else { return [] }
        guard closed == window else { throw WindowSkipped(expected: window) }
        next = window.end
        var pushes: [WindowPush] = []
        let longest = policy.holdDays * TimeSpan.perDay
        // What is held and this window may be too long together.
        if let held, window.end - held.start > longest { pushes.append(withhold(held)) }
        let merged = TimeSpan(held?.start ?? window.start, window.end)
        let people = represented(merged)
        if !people.isEmpty, people.allSatisfy({ $0 >= policy.fewestIndividuals }) {
            held = nil
            pushes.append(push(merged, .release))
        } else if merged.length >= longest || self.window == nil {
            pushes.append(withhold(merged))
        } else {
            held = merged
        }
        return pushes
    }

    /// The organisation unsubscribes, or has not paid: what is held is withheld.
    mutating func pause() -> [WindowPush] {
        held.map { [withhold($0)] } ?? []
    }

    /// It subscribes again: numbers go on, windows that began before are gone.
    mutating func resume(at quarter: Int) {
        next = max(next, Self.firstStart(granularity, atOrAfter: quarter))
    }

    private mutating func withhold(_ span: TimeSpan) -> WindowPush {
        held = nil
        return push(span, .withheld)
    }

    private mutating func push(_ span: TimeSpan, _ content: WindowPush.Content) -> WindowPush {
        sequence += 1
        return WindowPush(sequence: sequence, span: span, content: content)
    }
}
