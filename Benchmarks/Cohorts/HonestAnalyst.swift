// What organisations ask that want to know something of a group, and nothing of anybody in it.

/// Draws requests as the attack suite's honest analyst does (`random_filters` of `Tests/Interop/group_shadow.py`, `ask_at_random` of
/// `group_structure.py`): the same predicates, as often and as wide, the same types and windows.
struct HonestAnalyst {
    private static let widths = [5, 10, 15, 20, 30, 40, 60]
    private static let weights = [15, 20, 30, 50]
    /// Of a thousand inhabitants of all towns, more live in a place that is asked about.
    private static let placePermille = 30

    /// What is the same for everybody who asks.
    struct World {
        let catalogue: PlaceCatalogue
        /// Codes of places of all levels.
        let places: [String]
        /// Whole days since 1970.
        let days: Range<Int>

        init(_ places: GroupPlaces, days: Range<Int>) {
            catalogue = places.catalogue
            self.days = days
            var ofLeaf = [Int](repeating: 0, count: catalogue.leaves.count)
            for town in SyntheticCountry(places).towns.towns { ofLeaf[places.leaf(ofCity: town.code)] += town.inhabitants }
            let before = ofLeaf.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1) }
            let everybody = before[before.count - 1]
            self.places = catalogue.places.filter { place in
                let inhabitants = before[place.leaves.upperBound] - before[place.leaves.lowerBound]
                return inhabitants * 1000 > HonestAnalyst.placePermille * everybody
            }.map(\.code)
        }
    }

    private let world: World
    private let policy: AnonymityPolicy
    private var random: SyntheticRandom

    /// - Parameter number: of the organisation; each asks something else.
    init(_ world: World, number: Int, seed: UInt64, _ policy: AnonymityPolicy) {
        (self.world, self.policy) = (world, policy)
        random = SyntheticRandom(seed, UInt64(number), 0x68_6F_6E_65_73_74)
    }

    /// - Throws: `GroupRequestFaults`, where an analyst writes what cannot be asked for: then this file is wrong.
    mutating func request() throws -> GroupRequest {
        let types: [GroupDataType] = random.isTrue(permille: 150) ? [.position] : some([1, 1, 2], of: Self.numeric)
        let length = min(one(of: [1, 1, 2, 3]), world.days.count)
        let first = world.days.lowerBound + random.below(world.days.count - length + 1)
        var typed = TypedGroupRequest(
            types: types.map(\.code), from: Int64(first) * Self.millisecondsPerDay, to: Int64(first + length) * Self.millisecondsPerDay,
            granularity: Granularity.day.code)
        choosePeople(&typed)
        return try typed.read(
            RequestCatalogue(places: world.catalogue, areas: []), policy, closedUntil: world.days.upperBound * TimeSpan.perDay)
    }

    private static let millisecondsPerDay: Int64 = 86_400_000
    private static let numeric = SyntheticPerson.types.map { $0.type }.filter { $0 != .position }

    private mutating func choosePeople(_ typed: inout TypedGroupRequest) {
        let low = policy.youngestAge + random.below(80 - policy.youngestAge)
        if random.isTrue(permille: 800) { typed.age = TypedInterval(from: low, to: min(100, low + one(of: Self.widths))) }
        if random.isTrue(permille: 400) { typed.sex = [one(of: [Sex.female, .male]).code] }
        if random.isTrue(permille: 250) { typed.occupation = some([1, 2], of: Occupation.allCases).map(\.code) }
        if random.isTrue(permille: 200) {
            let least = 40 + 5 * random.below(12)
            typed.weight = TypedInterval(from: least, to: least + one(of: Self.weights))
        }
        if random.isTrue(permille: 300) { typed.residence = some([1, 1, 2, 3], of: world.places) }
        if typed.age == nil, typed.sex == nil, typed.occupation == nil, typed.weight == nil, typed.residence == nil {
            typed.age = TypedInterval(from: low, to: 100)
        }
    }

    private mutating func one<Value>(of options: [Value]) -> Value { options[random.below(options.count)] }

    /// Each at most once. - Parameter counts: how many, each as likely.
    private mutating func some<Value>(_ counts: [Int], of options: [Value]) -> [Value] {
        let count = one(of: counts)
        var (rest, chosen): ([Value], [Value]) = (options, [])
        while chosen.count < count, !rest.isEmpty { chosen.append(rest.remove(at: random.below(rest.count))) }
        return chosen
    }
}
