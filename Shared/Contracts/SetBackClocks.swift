// What times that a service wrote itself say after its clock was set back: none of them is waited for.

/// A clock is set back by hand, or by NTP after it was wrong. What was written before then lies ahead, perhaps by a day, though it cannot:
/// it says when something happened, or until when something was put off. Taken at its word it kept log-ins, messages, webhooks and files
/// waiting until the clock had caught up. Not for what others write, such as the times of devices and of tokens.
extension Timestamp {
    /// When something happened: now, where it says that it has yet to.
    package func notAhead(of now: Timestamp) -> Timestamp {
        min(self, now)
    }

    /// Whether the time until which something was put off is over. One that lies further ahead than anything is put off is, too.
    /// - Parameter longest: for how long it is put off at most.
    package func isOver(at now: Timestamp, putOffAtMost longest: Duration) -> Bool {
        self <= now || self > now + longest
    }

    /// The latest time that counts as one of the hour or day before this one: what lies further ahead would count until the clock has
    /// caught up. What lies ahead by less counts, since of requests that come together one that came first may be written last.
    package var latestCounted: Timestamp { self + .seconds(600) }
}
