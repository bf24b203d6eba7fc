// One body on its way through the writer.

import GRDB

/// A body that waits for its turn, with the two ways in which it can end. Exactly one of them is called, once.
struct WaitingWrite: Sendable {
    /// Runs the body and gives what tells the waiter so. Whether that is called is for the commit to say.
    let perform: @Sendable (Database) throws -> @Sendable () -> Void
    let refuse: @Sendable (any Error) -> Void
}

/// What the writer finds when it asks for work.
enum Work: Sendable {
    /// At least one; in the order in which they came.
    case writes([WaitingWrite])
    /// To be run outside a transaction.
    case maintenance(WaitingWrite)
    /// Closed, and everything that had been taken is done.
    case end
}
