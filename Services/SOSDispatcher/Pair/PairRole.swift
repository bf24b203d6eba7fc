// Which of the two dispatchers a process is.

import Contracts
import ServiceKit

/// Both run the same executable on the same streams, each with a store of its own. The first calls; the second calls where the
/// first does not.
enum PairRole: String, CaseIterable, Sendable {
    case first
    case second

    /// Any other bus peer is a test's, in the role of the first.
    init(_ peer: Peer) {
        self = peer == PairRole.second.peer ? .second : .first
    }

    var peer: Peer {
        switch self {
        case .first: .sosDispatcher
        case .second: .sosDeputy
        }
    }

    var other: PairRole { self == .first ? .second : .first }

    /// What this one tells the other.
    var family: StreamFamily {
        switch self {
        case .first: .pairOfFirst
        case .second: .pairOfSecond
        }
    }

    var stream: String { family.streams[0] }

    var httpPort: Int {
        switch self {
        case .first: 8102
        case .second: 8112
        }
    }

    /// The suite learns of emergencies and subscriptions from the first alone; it says what happened while it was down when it is back.
    var speaks: Bool { self == .first }
}
