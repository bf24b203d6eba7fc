// What a subscription tells about its own log: that it was restored, or that something may be missing.

import Contracts

enum FeedEpoch {
    /// The number before the first of a new epoch. As many as there were microseconds until now: no life of the log can have given so many,
    /// at a million a second; programs that read numbers as doubles still tell them apart (until the year 2255).
    static func start(at now: Timestamp, after head: Int64) -> Int64 {
        max(head, now.milliseconds * 1000)
    }
}

/// An item that says nothing about the person: it has its place among the others, so that it comes once, in order, by every way.
enum FeedNotice: Hashable, Sendable {
    /// The log was restored from a copy. Items up to `through` stand; whatever was delivered above it, before this one, is not known here
    /// any more, and what it told comes again.
    case restored(through: Int64, epoch: String)
    /// Entries about times before this one, which arrived late and while nothing was received, may be missing.
    case gap(before: Timestamp)

    /// As JSON members.
    var members: String {
        switch self {
        case .restored(let through, let epoch): #""restored":{"through":\#(through),"epoch":"\#(epoch)"}"#
        case .gap(let before): #""gap":{"before":"\#(before.rfc3339)"}"#
        }
    }
}
