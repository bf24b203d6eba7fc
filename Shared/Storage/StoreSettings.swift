// What can be chosen about a store.

/// How a store writes. The defaults are those that the suite promises with; only what is documented as a service's choice differs.
package struct StoreSettings: Sendable {
    /// How long the first waiting body waits at most for others to share its disk flush. It waits for half as many as shared the last
    /// one: a body that comes alone is committed at once. Zero commits what waits at once.
    package var groupCommitWindow: Duration = .milliseconds(2)
    /// Most bodies in one transaction; reaching it ends the window early.
    package var groupLimit = 512
    /// Most bodies that may wait; one more is refused with `StoreError.busy`.
    package var waitingLimit = 4096
    /// Connections that read at the same time.
    package var readers = 4
    /// Further ones for `readBriefly`: as many as tasks run at the same time on a small machine.
    package var briefReaders = 2
    /// How long SQLite waits for a lock. Nobody else has the file open, so it is short waits behind checkpoints only.
    package var lockTimeout: Duration = .seconds(2)
    /// Time between looks at the write-ahead log.
    package var checkpointInterval: Duration = .milliseconds(200)
    /// The log is copied into the file once it has more pages than this.
    package var checkpointPages = 1000
    /// The log's file is made no longer than this; at a quarter of it the log is begun anew. In bytes. It also bounds recovery time.
    package var logLimit = 64 << 20
    /// Only the fault tests choose another: to show that they notice.
    package var synchronous = Synchronous.full
    /// Only the fault tests choose another: to show that they notice.
    package var acknowledge = Acknowledgement.afterCommit
    /// What to do when nothing that the store says can be believed any more; gets SQLite's extended result code. Must not return
    /// except in tests: a commit that failed with an I/O error may or may not be on disk, and only a new process that reads the
    /// file again knows.
    package var onFatal: @Sendable (_ code: Int32) -> Void = { _ in endProcess() }

    /// How many bytes the file system that holds a file has left, nil where it does not say. Only tests choose another.
    package var freeBytes: @Sendable (_ path: String) -> Int64? = { DiskRoom.free(beside: $0) }

    /// Only the simulation of `Tests/Simulation` has one.
    package var disk: (any PlayedDisk)?

    package init() {}

    /// SQLite's `synchronous`: whether each commit waits for the disk.
    package enum Synchronous: Int, Sendable {
        /// Loses acknowledged writes at a power cut. Exists so that the fault tests can show that they bite.
        case normal = 1
        case full = 2
    }

    /// When the caller of a write goes on.
    package enum Acknowledgement: Sendable {
        case afterCommit
        /// Loses acknowledged writes at a kill. Exists so that the fault tests can show that they bite.
        case beforeCommit
    }

    /// Between a fatal fault and the end of the process, in µs.
    static let lastWords: UInt32 = 60_000

    /// `EX_SOFTWARE` of sysexits: the supervisor starts the process again.
    package static let fatalExitCode: Int32 = 70
}
