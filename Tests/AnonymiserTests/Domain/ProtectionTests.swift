// Budgets and guards.

import TestKit
import Testing

@testable import Anonymiser

@Suite("PrivacyBudget")
struct PrivacyBudgetTests {
    @Test("bit-sliced counters agree with an array, saturate at 15, and know who has reached a cap")
    func counters() {
        let seed: UInt64 = 0x1ED6
        var generator = SeededGenerator(seed: seed)
        for size in [64, 100, 1000] {
            var counters = DayCounters(size: size)
            var array = [Int](repeating: 0, count: size)
            for round in 0..<40 {
                let cohort = Bitmap(size: size, members: (0..<size).filter { _ in Int.random(in: 0..<3, using: &generator) > 0 })
                counters.add(cohort)
                cohort.forEach { array[$0] = min(15, array[$0] + 1) }
                #expect((0..<size).allSatisfy { counters.count(of: $0) == array[$0] }, "seed \(seed), round \(round)")
                for cap in 1...15 {
                    #expect(counters.exhausted(cap: cap).members == array.indices.filter { array[$0] >= cap }, "seed \(seed), cap \(cap)")
                }
            }
            let kept = DayCounters(slices: counters.slices, additions: counters.additions)
            #expect(kept == counters)
            counters.grow(to: size + 100)
            #expect(counters.count(of: size + 99) == 0 && counters.count(of: 0) == array[0])
        }
    }

    @Test("an organisation may have two releases of a data-day, ever; a release over several days is charged for all or none")
    func organisation() {
        var budget = OrganisationBudget(AnonymityPolicy())
        #expect(budget.charge(10..<20) && budget.charge(15..<16))
        #expect(!budget.charge(14..<17) && budget.spent[14] == 50_000 && budget.spent[16] == 50_000)
        #expect(budget.charge(16..<30) && !budget.charge(16..<17) && budget.spent[16] == 100_000)
    }
}

@Suite("DifferencingGuard")
struct DifferencingGuardTests {
    private static let policy = AnonymityPolicy()
    private static let size = 20_000
    private static let guardRule = DifferencingGuard(policy: policy, keyedHash: testHash)

    private static func filters(_ from: Int, _ to: Int) -> GroupFilters {
        var filters = GroupFilters()
        filters.age = from...to
        return filters
    }

    private static func earlier(
        _ filters: GroupFilters, _ members: Range<Int>, days: Range<Int> = 100..<130, day: Int = 1000, changed: Range<Int> = 0..<0,
        isAdmitted: Bool = true
    ) -> EarlierCohort {
        EarlierCohort(
            filters: filters, members: Bitmap(size: size, members: members), window: DayWindow(days), day: day, isAdmitted: isAdmitted,
            changed: Bitmap(size: size, members: changed))
    }

    private static func refusal(
        _ members: Range<Int>, days: Range<Int> = 100..<130, _ history: [EarlierCohort], today: Int = 1000,
        as filters: GroupFilters = filters(20, 41)
    ) -> RefusalReason? {
        guardRule.refusal(
            filters, members: Bitmap(size: size, members: members), window: DayWindow(days), history: history, today: today)
    }

    @Test(
        "groups that differ in 0, 1, 99 or 1000 people are refused alike; from 1052 on they pass, whatever the key",
        arguments: [
            (0, true), (1, true), (99, true), (100, true), (1000, true), (1052, false), (2000, false),
        ])
    func difference(people: Int, isRefused: Bool) {
        for isAdmitted in [true, false] {
            let history = [Self.earlier(Self.filters(20, 40), 0..<5000, isAdmitted: isAdmitted)]
            #expect(Self.refusal(0..<5000 + people, history) == (isRefused ? .tooSimilar : nil))
            #expect(Self.refusal(0..<5000 - people, history) == (isRefused ? .tooSimilar : nil))
        }
        #expect(RefusalReason.tooSimilar.body == RefusalReason.tooSimilar.body)
    }

    @Test("the bound jitters by the key, the same for the same pair")
    func jitter() {
        let limits = (1...200).map { Self.guardRule.limit(Self.filters(20, 40), Self.filters(0, $0 % 120)) }
        #expect(limits.allSatisfy { (1001...1051).contains($0) } && Set(limits).count > 20)
        #expect(
            Self.guardRule.limit(Self.filters(1, 2), Self.filters(3, 4)) == Self.guardRule.limit(Self.filters(1, 2), Self.filters(3, 4)))
        let limit = Self.guardRule.limit(Self.filters(20, 41), Self.filters(20, 40))
        let history = [Self.earlier(Self.filters(20, 40), 0..<5000)]
        #expect(Self.refusal(0..<5000 + limit - 1, history) == .tooSimilar && Self.refusal(0..<5000 + limit, history) == nil)
    }

    @Test("the same filters are no danger; neither are days that do not overlap, nor what is older than a year")
    func exceptions() {
        let near = Self.filters(20, 40)
        #expect(Self.refusal(0..<5001, [Self.earlier(Self.filters(20, 41), 0..<5000)]) == nil)
        #expect(Self.refusal(0..<5001, days: 130..<140, [Self.earlier(near, 0..<5000)]) == nil)
        #expect(Self.refusal(0..<5001, days: 129..<140, [Self.earlier(near, 0..<5000)]) == .tooSimilar)
        #expect(Self.refusal(0..<5001, [Self.earlier(near, 0..<5000)], today: 1364) == .tooSimilar)
        #expect(Self.refusal(0..<5001, [Self.earlier(near, 0..<5000)], today: 1365) == nil)
    }

    @Test("people whose profile changed since do not make two groups different")
    func changed() {
        #expect(Self.refusal(0..<7000, [Self.earlier(Self.filters(20, 40), 0..<5000)]) == nil)
        #expect(Self.refusal(0..<7000, [Self.earlier(Self.filters(20, 40), 0..<5000, changed: 5000..<6500)]) == .tooSimilar)
    }
}

@Suite("AtomGuard")
struct AtomGuardTests {
    private static let size = 40_000

    private static func people(_ range: Range<Int>) -> Bitmap { Bitmap(size: size, members: range) }

    private static func sex(_ sex: Sex) -> GroupFilters {
        var filters = GroupFilters()
        filters.sexes = [sex]
        return filters
    }

    private static func age(_ range: ClosedRange<Int>) -> GroupFilters {
        var filters = GroupFilters()
        filters.age = range
        return filters
    }

    @Test(
        "each cell of the diagram needs 1001 people; emptiness that only data know is refused as one person is",
        arguments: [
            (0, true), (1, true), (99, true), (1000, true), (1001, false),
        ])
    func cells(people: Int, isRefused: Bool) {
        var atoms = AtomGuard(AnonymityPolicy(), size: Self.size)
        atoms.admit(Self.sex(.female), members: Self.people(0..<20_000))
        // Of the other attribute, so that filters say nothing of the overlap.
        let candidate = Self.age(30...60)
        #expect(atoms.refusal(candidate, members: Self.people(20_000 - people..<30_000)) == (isRefused ? .tooSimilar : nil))
        #expect(atoms.refusal(candidate, members: Self.people(people..<30_000)) == (isRefused ? .tooSimilar : nil))
    }

    @Test("emptiness that anybody reads from the filters is no secret")
    func implied() {
        var atoms = AtomGuard(AnonymityPolicy(), size: Self.size)
        atoms.admit(Self.age(20...40), members: Self.people(0..<10_000))
        // Apart, within and around.
        #expect(atoms.refusal(Self.age(41...60), members: Self.people(10_000..<20_000)) == nil)
        #expect(atoms.refusal(Self.age(25...35), members: Self.people(3000..<6000)) == nil)
        #expect(atoms.refusal(Self.age(10...50), members: Self.people(0..<15_000)) == nil)
        // The same filters, and ones that differ in 5 people.
        #expect(atoms.refusal(Self.age(20...40), members: Self.people(0..<10_000)) == nil)
        #expect(atoms.refusal(Self.age(20...41), members: Self.people(0..<10_005)) == .tooSimilar)
    }

    @Test("a group of nearly everybody leaves few people in no group, of whom nothing is said: it blocks no further one")
    func everybody() {
        var atoms = AtomGuard(AnonymityPolicy(), size: Self.size)
        atoms.admit(Self.age(20...80), members: Self.people(0..<39_990))
        #expect(!atoms.refusesAll)
        #expect(atoms.refusal(Self.age(20...40), members: Self.people(0..<10_000)) == nil)
        #expect(atoms.refusal(Self.age(19...80), members: Self.people(0..<40_000)) == .tooSimilar)
    }

    @Test("a few people whose profile changed do not block an organisation for ever")
    func changedPeople() {
        var atoms = AtomGuard(AnonymityPolicy(), size: Self.size)
        atoms.admit(Self.age(20...40), members: Self.people(0..<10_000))
        // Three of them have turned 41 meanwhile, and three others are new at 20.
        let next = Self.people(9997..<20_000)
        #expect(atoms.refusal(Self.age(41...60), members: next) == nil)
        atoms.admit(Self.age(41...60), members: next)
        #expect(atoms.atomCount == 3)
        #expect(atoms.refusal(Self.sex(.female), members: Bitmap(size: Self.size, members: stride(from: 0, to: Self.size, by: 2))) == nil)
    }

    @Test("the four-cohort trick passes the pairwise guard and is caught here")
    func fourCohorts() {
        // A + B − C − D isolates five people, though each two differ in thousands.
        let groups: [(GroupFilters, Range<Int>)] = [
            (Self.sex(.female), 0..<10_000), (Self.age(20...40), 10_000..<20_005), (Self.sex(.male), 0..<5000),
            (Self.age(50...70), 5000..<20_000),
        ]
        let pairs = DifferencingGuard(policy: AnonymityPolicy(), keyedHash: testHash)
        var history: [EarlierCohort] = []
        var atoms = AtomGuard(AnonymityPolicy(), size: Self.size)
        var answers: [RefusalReason?] = []
        for (filters, range) in groups {
            let members = Self.people(range)
            #expect(pairs.refusal(filters, members: members, window: DayWindow(0..<9), history: history, today: 5) == nil)
            history.append(
                EarlierCohort(
                    filters: filters, members: members, window: DayWindow(0..<9), day: 5, isAdmitted: true, changed: Bitmap(size: Self.size)
                ))
            answers.append(atoms.refusal(filters, members: members))
            atoms.admit(filters, members: members)
        }
        #expect(answers.contains(.tooSimilar))
    }

    @Test("atoms agree with a plain Venn diagram over random groups")
    func diagram() {
        let seed: UInt64 = 0xA70
        var generator = SeededGenerator(seed: seed)
        var atoms = AtomGuard(AnonymityPolicy(), size: Self.size)
        var signature = [[Int]](repeating: [], count: Self.size)
        var (admitted, refused) = (0, 0)
        for number in 0..<20 {
            let start = Int.random(in: 0..<30_000, using: &generator)
            let range = start..<min(Self.size, start + Int.random(in: 1001...20_000, using: &generator))
            // One place each: filters say nothing about two of them but that they are apart if equal, which they never are.
            var filters = GroupFilters()
            filters.area = .area("\(number)")
            let members = Self.people(range)
            var cells: [[Int]: (inside: Int, outside: Int)] = [:]
            for row in 0..<Self.size {
                if range.contains(row) {
                    cells[signature[row], default: (0, 0)].inside += 1
                } else {
                    cells[signature[row], default: (0, 0)].outside += 1
                }
            }
            let isNear = cells.contains { $0.value.inside < 1001 || (!$0.key.isEmpty && $0.value.outside < 1001) }
            #expect((atoms.refusal(filters, members: members) != nil) == isNear, "seed \(seed), group \(number)")
            if isNear, number % 5 != 0 {
                refused += 1
                continue
            }
            admitted += 1
            atoms.admit(filters, members: members)
            for row in range { signature[row].append(number) }
            #expect(atoms.atomCount == Set(signature).count, "seed \(seed)")
        }
        #expect(admitted > 2 && refused > 2)
    }
}

@Suite("GroupFilters")
struct GroupFiltersTests {
    @Test("what filters say about each other holds for everybody who could live")
    func implications() throws {
        let seed: UInt64 = 0xF117
        var generator = SeededGenerator(seed: seed)
        let rows = (0..<4000).map { _ in Samples.row(&generator) }
        let columns = PopulationColumns(rows)
        func random() throws -> GroupFilters {
            try Samples.filters { typed in
                typed.age =
                    Bool.random(using: &generator) ? TypedInterval(from: 10 * Int.random(in: 0...6, using: &generator), to: 70) : nil
                typed.sex = [["male"], ["female"], ["male", "female"], nil, nil].randomElement(using: &generator) ?? nil
                typed.residence = [["R00"], ["P000", "FR"], ["IT"], ["JP"], nil].randomElement(using: &generator) ?? nil
                typed.weight = TypedInterval(from: 30, to: [100, 150, 200].randomElement(using: &generator))
            }
        }
        var (apart, within) = (0, 0)
        for _ in 0..<1500 {
            let (one, other) = (try random(), try random())
            let (first, second) = (columns.matching(one), columns.matching(other))
            if one.isDisjoint(with: other) {
                apart += 1
                #expect(first.intersectionCount(second) == 0, "seed \(seed)")
            }
            if one.isContained(in: other) {
                within += 1
                #expect(first.subtracting(second).isEmpty, "seed \(seed)")
            }
            #expect(one.isContained(in: one) && one.isDisjoint(with: other) == other.isDisjoint(with: one))
        }
        #expect(apart > 50 && within > 50)
    }
}
