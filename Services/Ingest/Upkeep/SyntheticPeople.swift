// Who is nobody: the dispatchers' synthetic subscribers, whose entries are forgotten after an hour.

import Contracts
import Synchronization

/// Noted with each of their entries, of which one comes every ten seconds while they fly; after a restart nobody is known until then,
/// and nothing is forgotten of whoever flies no more.
final class SyntheticPeople: Sendable {
    /// Long enough for every consumer of the stream to have been away for a while.
    static let kept = Duration.seconds(3600)

    private let people = Mutex<Set<PersonID>>([])

    var all: Set<PersonID> { people.withLock { $0 } }

    func note(_ person: PersonID) {
        people.withLock { _ = $0.insert(person) }
    }
}
