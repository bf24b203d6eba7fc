// The stricter guard: no combination of an organisation's groups may isolate few people, however many groups it takes.

/// The cells of the Venn diagram of all groups that something was released of. Who is in the same groups is in the same atom; 2 bytes a
/// person.
struct AtomGuard: Sendable {
    let policy: AnonymityPolicy
    /// By row.
    private var atomOfRow: [UInt16]
    private var atoms: [Atom]
    private var cohorts: [GroupFilters] = []

    private struct Atom {
        var people: Int
        /// Numbers of the cohorts that hold it.
        var within: Set<Int>
        /// Of people in none of the cohorts nothing is released, however cohorts are combined: they may be few.
        var isSeen: Bool { !within.isEmpty }
    }

    /// One atom holds everybody.
    init(_ policy: AnonymityPolicy, size: Int) {
        self.policy = policy
        atomOfRow = [UInt16](repeating: 0, count: size)
        atoms = [Atom(people: size, within: [])]
    }

    var atomCount: Int { atoms.count }

    /// Whether an atom is too small already, so that every further group but a known one is refused: no later one makes it larger. Until
    /// then there are few atoms.
    var refusesAll: Bool {
        atoms.count * 2 > Int(UInt16.max) || atoms.contains { $0.isSeen && $0.people < policy.fewestDiffering }
    }

    /// Each atom must be cut into two parts of enough people; of those in no group yet only who joins one has to be enough. A part may be
    /// empty only where the filters alone say so, to anybody who reads them: emptiness that only data know is refused exactly as one
    /// person is.
    /// - Parameter ignored: whose profile or opt-in changed since the first of the cohorts.
    func refusal(_ candidate: GroupFilters, members: Bitmap, ignored: Bitmap? = nil) -> RefusalReason? {
        if cohorts.isEmpty || cohorts.contains(candidate) { return nil }
        if refusesAll { return .tooSimilar }
        let (inside, skipped) = counts(members, ignored)
        let relations = Relations(candidate, cohorts)
        let isTooNear = atoms.indices.contains { index in
            let outside = atoms[index].people - skipped[index] - inside[index]
            let mustNotBeInside = relations.isApart(atoms[index].within)
            let mustNotBeOutside = relations.isCovered(atoms[index].within) || !atoms[index].isSeen
            return (inside[index] < policy.fewestDiffering && !mustNotBeInside) || (outside < policy.fewestDiffering && !mustNotBeOutside)
        }
        return isTooNear ? .tooSimilar : nil
    }

    /// Takes an admitted cohort into the diagram. An atom that the filters alone put within the candidate, or outside it, stays whole: who
    /// seems to be elsewhere has changed since, and a few such people must not become an atom that refuses everything from then on.
    mutating func admit(_ candidate: GroupFilters, members: Bitmap) {
        guard !cohorts.contains(candidate) else { return }
        let (inside, _) = counts(members, nil)
        let number = cohorts.count
        let relations = Relations(candidate, cohorts)
        var moved = [UInt16?](repeating: nil, count: atoms.count)
        for index in atoms.indices where inside[index] > 0 && !relations.isApart(atoms[index].within) {
            if inside[index] == atoms[index].people || relations.isCovered(atoms[index].within) {
                atoms[index].within.insert(number)
            } else {
                moved[index] = UInt16(atoms.count)
                atoms.append(Atom(people: inside[index], within: atoms[index].within.union([number])))
                atoms[index].people -= inside[index]
            }
        }
        cohorts.append(candidate)
        members.forEach { row in
            if let atom = moved[Int(atomOfRow[row])] { atomOfRow[row] = atom }
        }
    }

    /// By atom: how many of its people are in a set, and how many are ignored; who is ignored is not counted as inside.
    private func counts(_ members: Bitmap, _ ignored: Bitmap?) -> (inside: [Int], ignored: [Int]) {
        func count(_ rows: Bitmap) -> [Int] {
            var counts = [Int](repeating: 0, count: atoms.count)
            counts.withUnsafeMutableBufferPointer { counts in
                atomOfRow.withUnsafeBufferPointer { atomOfRow in
                    rows.forEach { counts[Int(atomOfRow[$0])] &+= 1 }
                }
            }
            return counts
        }
        guard let ignored else { return (count(members), [Int](repeating: 0, count: atoms.count)) }
        return (count(members.subtracting(ignored)), count(ignored))
    }

    /// What filters alone say of a candidate and the cohorts, which are named by their numbers; once for all atoms.
    private struct Relations {
        private let disjoint: Set<Int>
        private let containing: Set<Int>
        private let contained: Set<Int>

        init(_ candidate: GroupFilters, _ cohorts: [GroupFilters]) {
            disjoint = Set(cohorts.indices.filter { cohorts[$0].isDisjoint(with: candidate) })
            containing = Set(cohorts.indices.filter { candidate.isContained(in: cohorts[$0]) })
            contained = Set(cohorts.indices.filter { cohorts[$0].isContained(in: candidate) })
        }

        /// Whether nobody of an atom can be in the candidate. - Parameter within: the cohorts that hold the atom.
        func isApart(_ within: Set<Int>) -> Bool {
            !within.isDisjoint(with: disjoint) || !containing.isSubset(of: within)
        }

        /// Whether everybody of an atom is in the candidate. - Parameter within: the cohorts that hold the atom.
        func isCovered(_ within: Set<Int>) -> Bool {
            !within.isDisjoint(with: contained)
        }
    }
}
