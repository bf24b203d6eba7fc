// When uploads were received, as far as a clock that was set back can still tell.

import Contracts

/// Ingest tells of uploads in the order in which it received them. Heard again after a crash, one that came before its clock was set
/// back seems to lie in the future, which counts as now; taken so, it would draw the one after it to now as well, and an alert that
/// is already running would begin anew.
enum ReceiptOrder {
    /// The times of facts in their order, none later than one that follows it on its stream.
    static func settled(_ received: [(stream: String, at: Timestamp)]) -> [Timestamp] {
        var earliest: [String: Timestamp] = [:]
        let backwards = received.reversed().map { fact in
            let at = min(fact.at, earliest[fact.stream] ?? fact.at)
            earliest[fact.stream] = at
            return at
        }
        return backwards.reversed()
    }
}
