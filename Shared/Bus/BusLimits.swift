// Every bound of the bus, with its name.

/// Sizes are in bytes.
package enum BusLimits {
    /// Largest fact: ingest says an upload of 2 MiB as one, which its names for places make larger.
    package static let factBytes = 4 << 20
    /// Largest question.
    package static let frameBytes = 1 << 20
    /// Largest answer: a page holds at least one fact, which may double when it is escaped as a JSON string.
    package static let answerBytes = 9 << 20
    /// Largest payload text of one replayed page, unless a single fact is larger.
    package static let pageBytes = 1 << 20
    /// Of one page of a replay, which has at most 1 MiB beside.
    package static let factsPerPage = 1000
    /// Pages of one snapshot before it is given up.
    package static let pagesPerSnapshot = 10_000
    /// Messages taken from a socket, or facts handed to a consumer, at once.
    package static let batch = 256
    /// Frames that wait in a publisher for the socket thread; further ones are dropped and replayed.
    package static let framesWaitingToGo = 100_000
    /// The same bound by size, headers included; whichever is reached first holds.
    package static let bytesWaitingToGo = 64 << 20
    /// Frames that wait in an inbox for its consumer; further ones are dropped and replayed.
    package static let framesWaitingToBeRead = 10_000
    /// The same bound by size, headers included; whichever is reached first holds.
    package static let bytesWaitingToBeRead = 64 << 20
    /// Frames that a consumer keeps while it waits for what is missing before them; as many that have no place in a stream.
    package static let framesHeldBack = 10_000
    /// Replays and snapshots that one consumer asks for at once.
    package static let asksAtOnce = 4
    /// Questions that one answering socket works on at once; further ones get `unavailable`.
    package static let questionsInWork = 64
    /// Of those, kept for each of the two dispatchers, and for each other peer of the suite (`AnswerSlots`).
    static let slotsOfRescue = 8
    static let slotsOfAPeer = 1
    /// Replays and snapshots among them, so that catching up never starves the rest.
    package static let replaysInWork = 4
    /// Questions of one client without an answer yet.
    package static let questionsWaiting = 10_000
    /// After how long a question is asked again to which the server said `unavailable`, at most: it may be stopping, and another one beginning.
    package static let unavailablePause = Duration.milliseconds(250)
    /// Bytes of an ipc path; the system ends at 107.
    package static let ipcPathBytes = 99
    /// Longest id, method or trace in an envelope.
    package static let wordBytes = 64
    /// How long a shutdown waits for answers in work, and for an endpoint to be free again.
    package static let shutdownGrace = Duration.milliseconds(500)
    /// In what time a stranger must have been refused. It usually takes a millisecond; a loaded machine must not keep a service down.
    package static let selfTest = Duration.seconds(5)
    /// How often a waiting consumer looks at the clock.
    package static let inboxTick = Duration.milliseconds(50)
    /// How often a consumer tells its positions.
    package static let confirmEvery = Duration.seconds(5)
}
