// What one seed means: who lives in the simulated suite, what happens to them, and which faults come when.

import Contracts
import TestKit

@testable import SOSDispatcher

/// A small generator, so that a seed means the same run everywhere.
struct SimulationDice: RandomNumberGenerator, Sendable {
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed &* 0xD134_2543_DE82_EF95 &+ 1)
    }

    mutating func next() -> UInt64 { generator.next() }

    mutating func happens(_ percent: Int) -> Bool {
        Int(next() % 100) < percent
    }

    mutating func between(_ low: Int64, _ high: Int64) -> Int64 {
        low + Int64(next() % UInt64(high - low + 1))
    }

    mutating func one<Value>(of values: [Value]) -> Value {
        values[Int(next() % UInt64(values.count))]
    }
}

/// A stretch of virtual time in milliseconds.
struct Span: Sendable {
    var from: Int64
    var until: Int64

    func contains(_ time: Int64) -> Bool { time >= from && time < until }
}

/// One subscriber of the simulated population.
struct SimulatedLife: Sendable {
    enum Role: String, Sendable {
        /// Critical from some moment on for good: exactly one emergency, acknowledged in time.
        case breach
        /// Critical for a while, then well again.
        case passing
        /// One critical entry: nobody is called unless the entries after it are late.
        case spike
        /// As `breach`, but the person says "I am fine" while the prompt stands.
        case fine
        /// As `breach`, and the person calls it a false alarm after the call.
        case falseAlarm
        /// Well throughout.
        case healthy
        /// Well, but the device hands in critical entries of long ago.
        case stale
    }

    var person: PersonID
    var role: Role
    /// Between two measurements.
    var interval: Int64
    var critical: Span
    var value: Double
    /// How long after the alert, or the call, the person answers.
    var answersAfter: Int64
}

/// How an address of an integrator takes messages during a stretch of time.
enum IntegratorManners: CaseIterable, Sendable {
    case accepts
    /// Nobody listens.
    case isDown
    /// Takes the connection and never answers.
    case blackHole
    /// An error.
    case fails
    /// A 2xx without a word about the message.
    case justDelivers
    case rejects
    /// An acknowledgement that proves nothing: badly signed.
    case forges
    /// A well signed acknowledgement of another message.
    case confusesMessages
    case answersSlowly
    /// Takes it, and acknowledges by a call of its own later.
    case callsBack
    /// Acknowledges it, and rejects it by a call of its own later.
    case takesBack
}

struct SimulationPlan: Sendable {
    struct Weather: Sendable {
        var span: Span
        var percentLost: Int
        var percentDoubled: Int
        var percentDelayed: Int
        var percentCorrupt: Int
    }

    enum DiskFault: CaseIterable, Sendable {
        case slow
        case hangs
        case full
        /// The first write fails, and nobody knows what of it is there.
        case breaks
    }

    /// Faults end here; whatever is still to be done must be done before `end`.
    static let calm: Int64 = 40_000
    /// Late enough for whoever was well by then to be well for long enough on both sides: each counts from what it has heard itself since
    /// its last start, and what is called ends by an entry.
    static let lastMeasurement: Int64 = 53_000
    static let end: Int64 = 60_000
    /// The same in every run, so that their subscriptions are made once.
    static let people = (1...4).map { PersonID(bits: UInt128($0) << 64 | UInt128($0)) }

    var lives: [SimulatedLife] = []
    /// Of each address.
    var manners: [[(span: Span, manners: IntegratorManners)]] = SimulatedAddress.allCases.map { _ in [] }
    var weathers: [Weather] = []
    /// Nothing goes between ingest and that dispatcher.
    var cuts: [PairRole: [Span]] = [:]
    /// Nothing goes between the two dispatchers.
    var pairCuts: [Span] = []
    var disks: [PairRole: [(span: Span, fault: DiskFault)]] = [:]
    var ingestDiskRefuses: [Span] = []
    var crashes: [PairRole: [Span]] = [:]
    var ingestCrashes: [Span] = []
    /// The dispatcher is killed after its n-th job, wherever that is.
    var crashSteps: [PairRole: Set<Int>] = [:]
    /// When ingest's log forgets everything but the last seconds.
    var forgets: [Int64] = []
    /// When a dispatcher is killed and its store put back from the copy with which everything began.
    var restores: [PairRole: Int64] = [:]
    var clockSteps: [(at: Int64, by: Int64)] = []
    /// An outage of both dispatchers after which they are behind for long.
    var backlog: SimulatedBacklog?
    /// Whether the seed chooses which of several jobs runs first.
    var shuffles = false

    /// Nothing happens and nothing goes wrong.
    init() {}

    init(seed: UInt64) {
        var dice = SimulationDice(seed: seed)
        let roles: [SimulatedLife.Role] = [.breach, .breach, .passing, .spike, .fine, .falseAlarm, .healthy, .stale]
        for index in 0..<Int(dice.between(2, 4)) {
            let begins = dice.between(2000, 30_000)
            let role: SimulatedLife.Role = index == 0 ? .breach : dice.one(of: roles)
            let lasts = role == .passing ? dice.between(5000, 9000) : SimulationPlan.end
            lives.append(
                SimulatedLife(
                    person: SimulationPlan.people[index], role: role,
                    interval: dice.one(of: [700, 1000, 1500, 2500]), critical: Span(from: begins, until: begins + lasts),
                    value: dice.one(of: [30, 44, 121, 170]), answersAfter: dice.between(200, 2400)))
        }
        addFaults(&dice)
        for role in PairRole.allCases { addFaults(at: role, &dice) }
        if dice.happens(25) { stallMachine(&dice) }
        if dice.happens(15) { forget(what: dice.one(of: PairRole.allCases), &dice) }
        if dice.happens(15) { restores[dice.one(of: PairRole.allCases)] = dice.between(3000, SimulationPlan.calm - 1000) }
        shuffles = dice.happens(50)
        // By dice of its own: the other seeds mean what they meant without it.
        var own = SimulationDice(seed: seed &+ 5 << 28)
        if own.happens(20) { addBacklog(&own) }
    }

    private mutating func addFaults(_ dice: inout SimulationDice) {
        for _ in 0..<dice.between(0, 3) { weathers.append(weather(&dice)) }
        for _ in 0..<dice.between(0, 2) { pairCuts.append(span(&dice, 100, 15_000)) }
        for _ in 0..<dice.between(0, 1) { ingestDiskRefuses.append(span(&dice, 100, 600)) }
        for _ in 0..<dice.between(0, 1) { ingestCrashes.append(span(&dice, 60, 800)) }
        for address in SimulatedAddress.allCases {
            for _ in 0..<dice.between(0, 3) {
                manners[address.rawValue].append((span(&dice, 500, 20_000), dice.one(of: IntegratorManners.allCases)))
            }
        }
        let day: Int64 = 86_400_000
        for _ in 0..<dice.between(0, 1) {
            clockSteps.append((dice.between(1000, SimulationPlan.calm), dice.one(of: [3_600_000, -3_600_000, day, -day, 1000, -1000])))
        }
        // Both at once, now and then.
        if dice.happens(25) {
            let both = span(&dice, 60, 900)
            for role in PairRole.allCases { crashes[role, default: []].append(both) }
        }
    }

    /// Both dispatchers share a machine whose disk hangs just when somebody's heart fails; half of the time it loses its power before that is
    /// over.
    private mutating func stallMachine(_ dice: inout SimulationDice) {
        let from = lives[0].critical.from + dice.between(-1000, 2500)
        let stall = Span(from: from, until: min(SimulationPlan.calm, from + dice.between(3000, 9000)))
        for role in PairRole.allCases { disks[role, default: []].append((stall, .hangs)) }
        guard dice.happens(50) else { return }
        let killed = dice.between(stall.from + 500, stall.until)
        for role in PairRole.allCases { crashes[role, default: []].append(Span(from: killed, until: killed + dice.between(60, 900))) }
    }

    /// Just before that dispatcher hears of ingest again, which has nothing any more of what was said meanwhile.
    private mutating func forget(what role: PairRole, _ dice: inout SimulationDice) {
        let cut = span(&dice, 4000, 9000)
        cuts[role, default: []].append(cut)
        forgets.append(cut.until - 1)
    }

    private mutating func addFaults(at role: PairRole, _ dice: inout SimulationDice) {
        for _ in 0..<dice.between(0, 1) { cuts[role, default: []].append(span(&dice, 100, 4000)) }
        for _ in 0..<dice.between(0, 2) { disks[role, default: []].append((span(&dice, 300, 8000), dice.one(of: DiskFault.allCases))) }
        for _ in 0..<dice.between(0, 1) { crashes[role, default: []].append(span(&dice, 60, 800)) }
        for _ in 0..<dice.between(0, 1) { crashSteps[role, default: []].insert(Int(dice.between(1, 6000))) }
    }

    private func span(_ dice: inout SimulationDice, _ least: Int64, _ most: Int64) -> Span {
        let from = dice.between(1000, SimulationPlan.calm - 1000)
        return Span(from: from, until: min(SimulationPlan.calm, from + dice.between(least, most)))
    }

    private func weather(_ dice: inout SimulationDice) -> Weather {
        Weather(
            span: span(&dice, 500, 5000), percentLost: dice.one(of: [0, 5, 30]), percentDoubled: dice.one(of: [0, 30]),
            percentDelayed: dice.one(of: [0, 30]), percentCorrupt: dice.one(of: [0, 10]))
    }
}

extension SimulationPlan {
    func manners(of address: SimulatedAddress, at time: Int64) -> IntegratorManners {
        manners[address.rawValue].last { $0.span.contains(time) }?.manners ?? .accepts
    }

    func weather(at time: Int64) -> Weather? {
        weathers.last { $0.span.contains(time) }
    }

    func isCut(_ role: PairRole, at time: Int64) -> Bool {
        cuts[role]?.contains { $0.contains(time) } ?? false
    }

    func disk(of role: PairRole, at time: Int64) -> (fault: DiskFault, until: Int64)? {
        disks[role]?.last { $0.span.contains(time) }.map { ($0.fault, $0.span.until) }
    }
}
