// Every limit of the door, by name.

/// Sizes are in bytes. What is allowed altogether is for ordinary work; `reserve` comes on top of it.
package struct HTTPLimits: Sendable {
    // MARK: The whole server

    /// Open connections; further ones wait in the kernel's backlog. As the end of them comes near, those that wait for a request are
    /// closed, the oldest first, so that requests and their reserve find room.
    package var connections = 2000
    /// Connections that the kernel keeps until they are accepted; its own `somaxconn` may be lower.
    package var backlog = 1024
    /// Requests being worked on, event streams among them; one more is 503 with `Retry-After: 1`. Statistics, search and live view are
    /// refused before, in this order; see `room`.
    package var concurrentRequests = 1400
    /// Requests and bodies under way beyond those, for routes with `Route.usesReserve` alone, once the caller is proved.
    package var reserve = 300
    /// Open event streams; one more is 503.
    package var eventStreams = 1000
    /// Bodies that had not come completely with their head and are still coming; one more is 503.
    package var bodies = 500
    /// Of such bodies that are held in memory, before and after inflating; more is 503.
    package var bodyBytes = 256 << 20

    // MARK: One caller: an account with its devices, an organisation, an integrator, or whoever is at an address and shows no token

    /// Requests being worked on, without event streams; one more is 429.
    package var requestsPerCaller = 100
    /// As `requestsPerCaller` and `streamsPerCaller`, for an organisation with all its members and clients.
    package var requestsPerOrganisation = 500
    /// Open event streams; one more is 429 `too-many-streams`.
    package var streamsPerCaller = 20
    /// Bodies that are still coming; one more is 429.
    package var bodiesPerCaller = 32
    /// Of such bodies that are held in memory; more is 429.
    package var bodyBytesPerCaller = 64 << 20
    /// Processors that a caller may use in the long run; 0 counts nothing.
    package var processorsPerCaller = 0.5
    /// Processor time beyond that before requests are 429.
    package var processorBurst: Duration = .seconds(20)
    /// Wrong tokens and secrets of one address at once; then they are 429 until that address has waited.
    package var refusalsPerAddress = 100
    /// How many of these an address gets back per second.
    package var refusalsRefilled = 1.0
    /// Open connections of one address, those of loopback and private networks excepted: there the edge is.
    package var connectionsPerAddress = 200

    // MARK: One request

    /// All header fields of a request together.
    package var headerBytes = 16 << 10
    /// More fields than these, or than `headerBytes` hold, are 431 `head-too-large`.
    package var headerFields = 100
    /// From a connection's beginning to the end of its first request's head; then it is closed.
    package var headArrival: Duration = .seconds(10)
    /// A connection whose other end neither sends what it owes nor takes what it is given for that long is closed; also bounds a later
    /// head that trickles in.
    package var idle: Duration = .seconds(75)
    /// From a request's head: how long a body that is read whole may take whatever its pace, and a body that nobody reads; each
    /// `slowestBody` bytes that came buy a second more. A sender that is later, or silent by then, is answered with 408.
    package var bodyArrival: Duration = .seconds(10)
    /// What a body that is read whole may take with all the seconds that it bought.
    package var bodyLongest: Duration = .seconds(60)
    /// Longest silence within a body that is read piece by piece; then 408.
    package var bodyPause: Duration = .seconds(20)
    /// Bytes a second; whoever sends a body that is read piece by piece slower from its beginning on is answered with 408 once
    /// `bodyPause` is used up.
    package var slowestBody = 500
    /// How long running requests may go on after a graceful stop has begun; then they are cancelled.
    package var drain: Duration = .seconds(5)
    /// How long a connection whose body was not wanted stays open for its sender to read the answer.
    package var linger: Duration = .seconds(2)
    /// Of a body that nobody read: up to here it is read away and the connection kept, beyond it is closed.
    package var discardedBody = 256 << 10

    // MARK: All of them

    /// How often event streams and connections are looked at: a stream ends so long after its session at the latest.
    package var sweepInterval: Duration = .milliseconds(250)
    /// An event stream without events says so often that it lives; shorter than the usual timeout of proxies, 30 s to 60 s.
    package var eventHeartbeat: Duration = .seconds(15)

    package init() {}

    /// What routes of each kind leave free for those that yield later: of `concurrentRequests`, in hundredths.
    func room(_ yields: Yielding) -> Int {
        let share =
            switch yields {
            case .statistics: 75
            case .search: 85
            case .liveView: 95
            case .last: 100
            }
        return concurrentRequests * share / 100
    }
}

/// The order in which an overloaded server stops to answer (NFR-03); what `Route.usesReserve` is answered when nothing else is.
package enum Yielding: Sendable, CaseIterable {
    case statistics
    case search
    case liveView
    /// When everything but the reserve is full.
    case last
}
