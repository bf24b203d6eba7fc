// How `trackme` ends: the exit codes that scripts may rely on, and errors that say what to do.

import ArgumentParser

/// Exit codes of every command, a subset of BSD's `sysexits.h`.
enum ExitStatus: Int32, Sendable {
    case ok = 0
    /// It was tried and did not succeed.
    case failed = 1
    /// The command line cannot be understood.
    case usage = 64
    /// A service that is needed does not answer.
    case unavailable = 69
    /// A setting, a key or a file that is needed is missing or wrong.
    case configuration = 78

    static let documentation = "Exit codes: 0 done, 1 failed, 64 wrong usage, 69 a service does not answer, 78 wrong configuration."
}

/// Why a command could not do its work. The text has no personal data and ends with what can be done.
struct OperatorError: Error, CustomStringConvertible, Sendable {
    var status: ExitStatus
    var problem: String
    var mend: String

    init(_ status: ExitStatus, _ problem: String, mend: String) {
        (self.status, self.problem, self.mend) = (status, problem, mend)
    }

    var description: String { "\(problem)\n  → \(mend)" }
}
