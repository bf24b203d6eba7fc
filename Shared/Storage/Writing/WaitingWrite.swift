// One body on its way through the writer.

import GRDB

/// A body that waits for its turn, with the two ways in which it can end. Exactly one of them is called, once.
enum WaitingWrite: Sendable {
    /// Runs the body and gives what tells the waiter so. Whether that is called is for the commit to say.
    case single(perform: @Sendable (Database) throws -> @Sendable () -> Void, refuse: @Sendable (any Error) -> Void)
    /// Can be performed together with adjacent writes.
    case gathered(any GatheredWork)

    init(
        perform: @escaping @Sendable (Database) throws -> @Sendable () -> Void, refuse: @escaping @Sendable (any Error) -> Void
    ) {
        self = .single(perform: perform, refuse: refuse)
    }

    func perform(_ database: Database) throws -> @Sendable () -> Void {
        switch self {
        case .single(let perform, _): try perform(database)
        case .gathered(let work): try work.perform([self], in: database)
        }
    }

    func refuse(_ error: any Error) {
        switch self {
        case .single(_, let refuse): refuse(error)
        case .gathered(let work): work.refuse(error)
        }
    }

    /// Equal for bodies that may be performed together; nil for one that is always alone.
    var kind: ObjectIdentifier? {
        if case .gathered(let work) = self { work.kind } else { nil }
    }
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
