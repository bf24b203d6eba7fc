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
    }

    /// One atom holds everybody.
    init(_ policy: AnonymityPolicy, size: Int) {
        self.policy = policy
        atomOfRow = [UInt16](repeating: 0, count: size)
        atoms = [Atom(people: size, within: [])]
    }

    var atomCount: Int { atoms.count }

    /// Each atom must be cut into two parts of enough people. A part may be empty only where the filters alone say so, to anybody who reads
    /// them: emptiness that only data know is refused exactly as one person is.
    /// - Parameter ignored: whose profile or opt-in changed since the first of the cohorts.
    func refusal(_ candidate: GroupFilters, members: Bitmap, ignored: Bitmap? = nil) -> RefusalReason? {
        if cohorts.contains(candidate) { return nil }
        let (inside, skipped) = counts(members, ignored)
        let isTooNear = atoms.indices.contains { index in
            let outside = atoms[index].people - skipped[index] - inside[index]
            let mustNotBeInside = isApart(atoms[index], candidate)
            let mustNotBeOutside = isCovered(atoms[index], candidate)
            return (inside[index] < policy.fewestDiffering && !mustNotBeInside) || (outside < policy.fewestDiffering && !mustNotBeOutside)
        }
        return isTooNear || atoms.count * 2 > Int(UInt16.max) ? .tooSimilar : nil
    }

    /// Takes an admitted cohort into the diagram. An atom that the filters alone put within the candidate, or outside it, stays whole: who
    /// seems to be elsewhere has changed since, and a few such people must not become an atom that refuses everything from then on.
    mutating func admit(_ candidate: GroupFilters, members: Bitmap) {
        guard !cohorts.contains(candidate) else { return }
        let (inside, _) = counts(members, nil)
        let number = cohorts.count
        var moved = [UInt16?](repeating: nil, count: atoms.count)
        for index in atoms.indices where inside[index] > 0 && !isApart(atoms[index], candidate) {
            if inside[index] == atoms[index].people || isCovered(atoms[index], candidate) {
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

    /// Whether the filters say that nobody of an atom can be in the candidate.
    private func isApart(_ atom: Atom, _ candidate: GroupFilters) -> Bool {
        cohorts.indices.contains { number in
            atom.within.contains(number) ? cohorts[number].isDisjoint(with: candidate) : candidate.isContained(in: cohorts[number])
        }
    }

    /// Whether the filters say that everybody of an atom is in the candidate.
    private func isCovered(_ atom: Atom, _ candidate: GroupFilters) -> Bool {
        atom.within.contains { cohorts[$0].isContained(in: candidate) }
    }
}
