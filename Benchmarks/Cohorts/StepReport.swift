// How far something long is, for whoever waits before a screen.

import Foundation

/// One line for each tenth, on standard error.
struct StepReport {
    private let what: String
    private let total: Int
    private let begun = ContinuousClock.now

    init(_ what: String, of total: Int) {
        (self.what, self.total) = (what, total)
    }

    /// - Parameter done: one more than the last time.
    func reached(_ done: Int) {
        guard done * 10 / total > (done - 1) * 10 / total else { return }
        let seconds = Int((ContinuousClock.now - begun) / .seconds(1))
        FileHandle.standardError.write(Data("\(done) of \(total) \(what), \(seconds) s\n".utf8))
    }
}
