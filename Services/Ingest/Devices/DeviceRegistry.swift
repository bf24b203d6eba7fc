// The devices in memory, for what every upload begins with: whose token is this, and what may it deliver?

import Contracts
import Sealing
import ServiceKit
import Synchronization

/// A device as an upload needs it. Replaced whenever something about the device or its person changes.
final class KnownDevice: Sendable {
    let number: Int64
    let device: DeviceID
    let person: PersonID
    let personNumber: Int64
    let intervalMs: Int64?
    let kind: DeviceKind
    let origin: DeviceOrigin
    let admission: Admission
    /// Why nothing of its person is taken; nil where something may be.
    let bar: AcquisitionBar?
    /// False where it was paired before its person took the account back (`PersonState.readersSince`).
    let mayRead: Bool
    let pulse: DevicePulse
    /// The person as headers spell it, and the stream of theirs: every upload names both.
    let subject: String
    let stream: String
    /// The shortest interval that it can do; nil where it is not known.
    let fastestIntervalMs: Int64?
    /// Whether its person has others, one of which may be heard in its stead.
    let isOneOfSeveral: Bool

    init(
        _ row: DeviceRow, _ admission: Admission, _ bar: AcquisitionBar?, readersSince: Timestamp?, _ pulse: DevicePulse,
        isOneOfSeveral: Bool
    ) {
        self.isOneOfSeveral = isOneOfSeveral
        mayRead = readersSince.map { row.addedAt > $0 } ?? true
        (number, device, person, personNumber, intervalMs) = (row.number, row.device, row.person, row.personNumber, row.intervalMs)
        fastestIntervalMs = row.condition.fastestIntervalMs
        (kind, origin, self.admission, self.bar, self.pulse) = (row.kind, row.origin, admission, bar, pulse)
        (subject, stream) = (row.person.description, StreamFamily.samplesStream(of: row.person))
    }

    /// As facts about what it delivers say it.
    var publishedIntervalMs: Int64? { origin.isDevice ? intervalMs : SamplesRecorded.typedIntervalMs }

    /// Whether its right to deliver is over, though the upload began before.
    var isEnded: Bool { pulse.isEnded }
}

/// What is known of a device beside the store, shared by all that was ever known of it.
final class DevicePulse: Sendable {
    private let ended = Atomic<Bool>(false)
    private let heard: Atomic<Int64>
    private let wasHeard = Atomic<Bool>(false)
    private let since: Timestamp
    private let readings = Mutex<[Metric: Reading]>([:])

    /// The newest reading of one parameter.
    struct Reading: Sendable {
        var at: Timestamp
        /// How long it came after the one before; nil where that is not known.
        var gap: Duration?
    }

    /// - Parameter at: since when it could have been received.
    init(at: Timestamp) {
        since = at
        heard = Atomic(at.milliseconds)
    }

    var isEnded: Bool { ended.load(ordering: .acquiring) }

    func setEnded(_ isEnded: Bool) {
        ended.store(isEnded, ordering: .releasing)
    }

    /// The device has shown its token.
    func beat(at now: Timestamp) {
        heard.store(now.milliseconds, ordering: .relaxed)
        wasHeard.store(true, ordering: .relaxed)
    }

    /// When it last showed its token; the start of the process where it has not since.
    var lastHeard: Timestamp { Timestamp(milliseconds: heard.load(ordering: .relaxed)) }
    var hasBeenHeard: Bool { wasHeard.load(ordering: .relaxed) }

    /// It has delivered readings of now of these parameters: no other upload of it shows that its sensor measures.
    func delivered(_ metrics: Set<Metric>, at now: Timestamp) {
        readings.withLock { readings in
            for metric in metrics {
                readings[metric] = Reading(at: now, gap: readings[metric].map { max(.zero, now - $0.at) })
            }
        }
    }

    /// Its newest reading of the parameter; where there was none, since when one could have come. Never in the future: where the clock was
    /// set back, it counts from then on.
    func reading(of metric: Metric, at now: Timestamp) -> Reading {
        readings.withLock { readings in
            var reading = readings[metric] ?? Reading(at: since)
            reading.at = min(reading.at, now)
            readings[metric] = reading
            return reading
        }
    }
}

/// Active devices by the keyed look-up of their tokens. Filled from the store at the start, changed after each commit.
final class DeviceRegistry: Sendable {
    private struct State {
        var byToken: [UInt128: KnownDevice] = [:]
        /// What the digests of tokens were, by their fingerprints. Does not check whether they are still valid.
        var digests: [UInt128: UInt128] = [:]
        /// Revoked ones too: their entries keep naming them.
        var byNumber: [Int64: KnownDevice] = [:]
        var households: [Int64: Household] = [:]
        var numbers: [PersonID: Int64] = [:]
        var accounts: [PersonID: PersonState] = [:]
    }

    /// Most digests that are remembered; at the next one all are forgotten.
    static let mostDigests = 100_000

    private let lookupKey: LookupKey
    private let fingerprints = TokenFingerprint()
    private let startedAt: Timestamp
    private let state: Mutex<State>

    /// - Parameter accounts: what consent has published of people.
    init(_ households: [Household], accounts: [PersonState], lookupKey: LookupKey, startedAt: Timestamp) {
        (self.lookupKey, self.startedAt) = (lookupKey, startedAt)
        var state = State()
        state.accounts = Dictionary(accounts.map { ($0.person, $0) }) { $1 }
        for household in households { Self.put(household, into: &state, startedAt, settlesEnds: true) }
        self.state = Mutex(state)
    }

    /// - Parameter settlesEnds: the household was just read from the store, so it knows which devices have ended.
    private static func put(_ household: Household, into state: inout State, _ startedAt: Timestamp, settlesEnds: Bool) {
        state.numbers[household.person] = household.number
        state.households[household.number] = household
        let plan = household.plan
        let bar = bar(household, state)
        let isOneOfSeveral = household.active.count > 1
        for row in household.devices {
            let pulse = state.byNumber[row.number]?.pulse ?? DevicePulse(at: startedAt)
            if settlesEnds { pulse.setEnded(!row.isActive) }
            let known = KnownDevice(
                row, household.admission(of: row, plan), bar, readersSince: state.accounts[household.person]?.readersSince, pulse,
                isOneOfSeveral: isOneOfSeveral)
            state.byNumber[row.number] = known
            state.byToken[word(row.tokenLookup)] = row.isActive && row.origin.isDevice ? known : nil
        }
    }

    private static func bar(_ household: Household, _ state: State) -> AcquisitionBar? {
        guard let account = state.accounts[household.person] else { return household.isEnrolled ? nil : .unknown }
        return account.active ? nil : .inactive
    }

    private static func word(_ lookup: [UInt8]) -> UInt128 {
        lookup.prefix(16).reduce(0) { $0 << 8 | UInt128($1) }
    }

    // MARK: Asking

    func tokenLookup(_ token: DeviceToken) -> [UInt8] {
        lookupKey.lookup(token.secret)
    }

    /// The active device with this token. Tokens are 256 random bits and only keyed digests of them are compared. The digest of a
    /// token never changes and costs more than the rest of the search, so it is remembered; which device it stands for is looked
    /// up each time. The token's shard finds nobody: it is compared with the person's once the secret has found who that is.
    func device(withToken token: String) -> KnownDevice? {
        let fingerprint = fingerprints.of(token)
        let remembered = state.withLock { state in state.digests[fingerprint].flatMap { state.byToken[$0] } }
        if let remembered { return remembered }
        let shown = DeviceToken(text: token)
        let word = Self.word(tokenLookup(shown))
        return state.withLock { state in
            guard let known = state.byToken[word], shown.mayBe(of: known.person) else {
                state.digests[fingerprint] = nil
                return nil
            }
            if state.digests.count >= Self.mostDigests { state.digests.removeAll(keepingCapacity: true) }
            state.digests[fingerprint] = word
            return known
        }
    }

    func device(number: Int64) -> KnownDevice? {
        state.withLock { $0.byNumber[number] }
    }

    /// The person's number in the store; nil where there is nothing of them.
    func number(of person: PersonID) -> Int64? {
        state.withLock { $0.numbers[person] }
    }

    func household(of person: PersonID) -> Household? {
        state.withLock { state in state.numbers[person].flatMap { state.households[$0] } }
    }

    /// The device as reports need it.
    /// - Parameter undeclared: the interval of one that declares none.
    func reported(_ row: DeviceRow, undeclared: Duration) -> ReportedSource {
        ReportedSource(
            source: row.source, condition: row.condition, heardAt: device(number: row.number)?.pulse.lastHeard ?? .now,
            interval: row.intervalMs.map { .milliseconds($0) } ?? undeclared)
    }

    /// Whether the parameter is to come from another device of the person, and no reading of it comes from that one: it was removed, lies
    /// in its charger, is not worn, or has delivered none of this parameter for too long, whatever else it sends. Whatever this device
    /// reports: a doubt about a reading never ends in silence. Where no interval is declared, the last gap tells it, so that this is no
    /// later than supervision finds the parameter silent.
    func isMissed(_ metric: Metric, besides device: KnownDevice, undeclared: Duration, at now: Timestamp) -> Bool {
        guard let household = household(of: device.person), let source = household.plan.source(of: metric),
            source.device != device.device, let row = household.device(source.device)
        else { return false }
        guard let pulse = self.device(number: row.number)?.pulse, !pulse.isEnded else { return true }
        let reading = pulse.reading(of: metric, at: now)
        let reported = ReportedSource(
            source: row.source, condition: row.condition, heardAt: reading.at,
            interval: row.intervalMs.map { .milliseconds($0) } ?? min(undeclared, reading.gap ?? undeclared))
        return reported.trouble(at: now) != nil
    }

    /// Why nothing of the person may be acquired; nil where something may.
    func bar(of person: PersonID) -> AcquisitionBar? {
        state.withLock { state in
            let household = state.numbers[person].flatMap { state.households[$0] }
            return household.map { Self.bar($0, state) } ?? (state.accounts[person].map { $0.active ? nil : .inactive } ?? .unknown)
        }
    }

    /// In what the person reads.
    func language(of person: PersonID) -> Language {
        state.withLock { $0.accounts[person]?.language } ?? .english
    }

    // MARK: Changing

    /// Ends a device within the transaction that revokes it: no upload behind it in the writer's queue is taken any more.
    func end(_ device: Int64) {
        state.withLock { $0.byNumber[device] }?.pulse.setEnded(true)
    }

    /// The person is erased: no token of theirs is known any more, and no upload behind this in the writer's queue is taken.
    func forget(_ person: PersonID) {
        state.withLock { state in
            state.accounts[person] = nil
            guard let number = state.numbers.removeValue(forKey: person), let known = state.households.removeValue(forKey: number) else {
                return
            }
            for row in known.devices {
                state.byNumber.removeValue(forKey: row.number)?.pulse.setEnded(true)
                state.byToken[Self.word(row.tokenLookup)] = nil
            }
        }
    }

    /// Takes over what the store holds of a person; after the commit (`Database.afterCommit`), so that what was written last counts.
    func takeOver(_ household: Household) {
        state.withLock { Self.put(household, into: &$0, startedAt, settlesEnds: true) }
    }

    /// Takes over what consent publishes of people.
    func takeOver(_ accounts: [PersonState]) {
        state.withLock { state in
            for account in accounts { state.accounts[account.person] = account }
            for person in Set(accounts.map(\.person)) {
                guard let known = state.numbers[person].flatMap({ state.households[$0] }) else { continue }
                Self.put(known, into: &state, startedAt, settlesEnds: false)
            }
        }
    }
}
