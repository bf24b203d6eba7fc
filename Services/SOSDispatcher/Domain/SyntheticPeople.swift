// Who is nobody: the subscribers whose emergencies test the chain of each dispatcher (the canary).

import Contracts

/// Both are derived from the identity key that the two dispatchers share (`Names`), so that each knows them before it has read anything,
/// whatever store was put back and whatever the other one tells. Nobody else's identifier is one of them.
struct SyntheticPeople: Hashable, Sendable {
    let first: PersonID
    let second: PersonID

    var all: Set<PersonID> { [first, second] }

    func person(of role: PairRole) -> PersonID { role == .first ? first : second }

    func contains(_ person: PersonID) -> Bool { person == first || person == second }
}
