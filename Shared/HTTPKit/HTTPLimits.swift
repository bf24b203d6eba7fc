// Every limit of the door, by name.

/// Sizes are in bytes.
package struct HTTPLimits: Sendable {
    /// Open connections; further ones wait in the kernel's backlog.
    package var connections = 2000
    /// Connections that the kernel keeps until they are accepted; its own `somaxconn` may be lower.
    package var backlog = 1024
    /// Requests being worked on; one more is 503 with `Retry-After: 1`.
    package var concurrentRequests = 4096
    /// All header fields of a request together.
    package var headerBytes = 16 << 10
    /// More fields than these, or than `headerBytes` hold, are 431 `head-too-large`.
    package var headerFields = 100
    /// A connection whose other end neither sends what it owes nor takes what it is given for that long is closed; also bounds a head
    /// that trickles in.
    package var idle: Duration = .seconds(75)
    /// From a request's head to the end of a body that is read whole; a sender that is later, or silent by then, is answered with 408.
    package var bodyArrival: Duration = .seconds(10)
    /// Longest silence within a body that is read piece by piece; then 408.
    package var bodyPause: Duration = .seconds(20)
    /// Bytes a second of a body that is read piece by piece; whoever is slower from its beginning on is answered with 408 once
    /// `bodyPause` is used up.
    package var slowestBody = 512
    /// How long running requests may go on after a graceful stop has begun; then they are cancelled.
    package var drain: Duration = .seconds(5)
    /// How long a connection whose body was not wanted stays open for its sender to read the answer.
    package var linger: Duration = .seconds(2)
    /// Of a body that nobody read: up to here it is read away and the connection kept, beyond it is closed.
    package var discardedBody = 256 << 10

    package init() {}
}
