// The doctor's finding about one thing that it checked.

struct Finding: Hashable, Sendable {
    enum Level: String, Sendable {
        case ok
        /// The suite works, but less well or not for long.
        case warning = "warn"
        /// The suite does not start, or not safely.
        case failure = "FAIL"
    }

    var level: Level
    var subject: String
    var detail: String
    /// What to do; empty where nothing needs doing.
    var mend: String

    static func ok(_ subject: String, _ detail: String) -> Finding {
        Finding(level: .ok, subject: subject, detail: detail, mend: "")
    }

    static func warning(_ subject: String, _ detail: String, mend: String) -> Finding {
        Finding(level: .warning, subject: subject, detail: detail, mend: mend)
    }

    static func failure(_ subject: String, _ detail: String, mend: String) -> Finding {
        Finding(level: .failure, subject: subject, detail: detail, mend: mend)
    }

    var line: String {
        let head = "\(level.rawValue.padded(to: 4))  \(subject.padded(to: 28))  \(detail)"
        return mend.isEmpty ? head : head + "\n      → \(mend)"
    }
}
