// What a dispatcher knows of the other one: what it has told, and what it has heard.

import Contracts
import ServiceKit
import Synchronization

/// Shared by supervision, dispatch and the link between the two. Decides when the second may send, and keeps what was heard about
/// an emergency that this side has not come to yet.
final class PairState: Sendable {
    /// How long the second waits for the first, at most (design §4).
    static let lead = Duration.milliseconds(400)
    /// No call is made later than this after `t0`, whoever makes it.
    static let latestCall = Duration.milliseconds(4950)
    /// Emergencies of which something is remembered: a whole city's, of some hours.
    static let remembered = 20_000
    /// Answers of one person that are known again when they come once more.
    static let answersPerPerson = 64

    /// One message on its way to one emergency service.
    private struct DeliveryKey: Hashable {
        var message: MessageID
        var integrator: String
    }

    private struct HeardEmergency {
        var answers: [GivenAnswer] = []
        /// What integrators have said of it last, good or bad.
        var said: [DeliveryKey: TakenMessage] = [:]
        var words: [ContactReply] = []
        var attempts: [DeliveryKey: Timestamp] = [:]
        var kinds: [Int: DispatchMessage.Kind] = [:]
    }

    private struct State {
        var settled: [PersonID: SubscriberSettings] = [:]
        var versions: [PersonID: SettingsVersion] = [:]
        var heard: [EmergencyID: HeardEmergency] = [:]
        var opened: Set<EmergencyID> = []
        /// Of `heard` and `opened`, the oldest first.
        var order: [EmergencyID] = []
        var hasAnswers = false
        /// Calls for help that began an emergency, whichever side was given them, and what else this side was given; the newest last.
        var known: [PersonID: [GivenAnswer]] = [:]
        var erased: [ErasureID: [ErasedStore]] = [:]
        /// Nothing is sent before: what the other has done meanwhile is heard first.
        var notBefore: Timestamp?
        /// People whom the other side knows nothing of.
        var secret: Set<PersonID> = []
    }

    let role: PairRole
    /// How much later than the first this side sends.
    let lead: Duration
    private let retry: Duration
    private let say: @Sendable (PairFact) -> Void
    private let sayAtOnce: @Sendable (PairFact) -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - say: gets facts into the stream.
    ///   - sayAtOnce: gets them to the other side before they are stored.
    init(
        _ role: PairRole, lead: Duration, retry: Duration, say: @escaping @Sendable (PairFact) -> Void = { _ in },
        sayAtOnce: @escaping @Sendable (PairFact) -> Void = { _ in }
    ) {
        (self.role, self.retry, self.say, self.sayAtOnce) = (role, retry, say, sayAtOnce)
        self.lead = role == .first ? .zero : lead
    }

    /// Less than `lead` where calls go out so late that the second's would be too late.
    static func lead(dispatchAt: Duration) -> Duration {
        min(lead, max(.zero, latestCall - dispatchAt))
    }

    // MARK: Settings

    func load(_ memory: PairMemory, settings: [PersonID: SubscriberSettings]) {
        state.withLock { state in
            (state.versions, state.erased) = (memory.versions, memory.erased)
            state.settled = settings
        }
        for answer in memory.given { noteGiven(answer) }
        for fact in memory.heard { note(fact) }
    }

    /// The person stays between this side and ingest (the canary).
    func keepSecret(_ person: PersonID) {
        state.withLock { _ = $0.secret.insert(person) }
    }

    /// What of these changes the other side must be told.
    func news(of changed: [PersonID: Watched], removed: Set<PersonID>, at now: Timestamp) -> [PersonSettings] {
        state.withLock { state in
            var news: [PersonSettings] = []
            for (person, watched) in changed where !state.secret.contains(person) {
                let settings = SubscriberSettings(watched.subscriber)
                if state.settled[person] != settings { news.append(PairState.tell(person, settings, &state, role, now)) }
            }
            for person in removed {
                guard var settings = state.settled.removeValue(forKey: person), settings.isSubscribed else { continue }
                settings.isSubscribed = false
                news.append(PairState.tell(person, settings, &state, role, now))
                state.settled[person] = nil
            }
            return news
        }
    }

    private static func tell(
        _ person: PersonID, _ settings: SubscriberSettings, _ state: inout State, _ role: PairRole, _ now: Timestamp
    ) -> PersonSettings {
        let version = SettingsVersion(at: now, by: role, after: state.versions[person] ?? .none)
        state.versions[person] = version
        state.settled[person] = settings
        return PersonSettings(person: person, version: version, settings: settings)
    }

    /// Takes note of what the other side has set; false where this side's are newer, or the same.
    func takes(_ fact: PersonSettings) -> Bool {
        state.withLock { state in
            guard !state.secret.contains(fact.person), state.settled[fact.person] != fact.settings || state.versions[fact.person] == nil,
                fact.version > state.versions[fact.person] ?? SettingsVersion(number: -1)
            else { return false }
            state.versions[fact.person] = fact.version
            state.settled[fact.person] = fact.settings.isSubscribed ? fact.settings : nil
            return true
        }
    }

    /// The settings as they have come to stand here are the same as the other side's.
    func settle(_ person: PersonID, _ settings: SubscriberSettings?) {
        state.withLock { $0.settled[person] = settings }
    }

    func forget(_ person: PersonID) {
        state.withLock { state in
            (state.settled[person], state.versions[person], state.known[person]) = (nil, nil, nil)
            state.heard = state.heard.filter {
                !$0.value.answers.contains { $0.person == person } && $0.value.words.first?.person != person
            }
        }
    }

    // MARK: Emergencies

    /// Whether any answer was heard, ever since the start: asked at each entry, so it costs nothing.
    var hasAnswers: Bool { state.withLock { $0.hasAnswers } }

    /// In the order in which they were given.
    func answers(in emergency: EmergencyID) -> [GivenAnswer] {
        state.withLock { $0.heard[emergency]?.answers ?? [] }
    }

    /// Whether this side opens an emergency for the first time.
    func opens(_ emergency: EmergencyID) -> Bool {
        state.withLock { state in
            PairState.remember(emergency, &state)
            return state.opened.insert(emergency).inserted
        }
    }

    /// The next number from `first` on that the other side has not given to a message of another kind.
    func number(of kind: DispatchMessage.Kind, in emergency: EmergencyID, from first: Int) -> Int {
        state.withLock { state in
            guard let kinds = state.heard[emergency]?.kinds else { return first }
            var number = first
            while let taken = kinds[number], taken != kind { number += 1 }
            return number
        }
    }

    /// The number behind every message that the other side is known to have sent or had answered; 1 where none is known.
    func numberBehind(in emergency: EmergencyID) -> Int {
        let known: [Int] = state.withLock { state in
            state.heard[emergency].map { Array($0.kinds.keys) + $0.said.keys.map(\.message.sequence) } ?? []
        }
        let decided = known.map { MessageID(emergency: emergency, sequence: $0) }.filter { !$0.isRelease && !$0.isRepetition }
        return (decided.map(\.sequence).max() ?? 0) + 1
    }

    private static func remember(_ emergency: EmergencyID, _ state: inout State) {
        guard state.heard[emergency] == nil, !state.opened.contains(emergency) else { return }
        state.order.append(emergency)
        guard state.order.count > PairState.remembered else { return }
        for old in state.order.prefix(PairState.remembered / 10) {
            state.heard[old] = nil
            state.opened.remove(old)
        }
        state.order.removeFirst(PairState.remembered / 10)
    }

    /// The person has answered on this side: told back, it is known.
    func noteGiven(_ answer: GivenAnswer) {
        state.withLock { PairState.know(answer, &$0) }
    }

    private static func know(_ answer: GivenAnswer, _ state: inout State) {
        guard state.known[answer.person]?.contains(answer) != true else { return }
        state.known[answer.person] = ((state.known[answer.person] ?? []) + [answer]).suffix(PairState.answersPerPerson)
    }

    /// Takes note of what the other side has told of an emergency.
    /// - Parameter now: when it happened there, on this side's time line; nil for what is read from the file.
    /// - Returns: whether it was not known: a side whose store was restored is told much again.
    @discardableResult
    func note(_ fact: PairFact, at now: Timestamp? = nil) -> Bool {
        state.withLock { state in
            switch fact {
            case .answered(let told):
                let answer = told.given
                guard state.known[answer.person]?.contains(answer) != true else { return false }
                guard let emergency = answer.emergency else {
                    PairState.know(answer, &state)
                    return true
                }
                PairState.remember(emergency, &state)
                guard state.heard[emergency]?.answers.contains(answer) != true else { return false }
                state.heard[emergency, default: .init()].answers.append(answer)
                state.hasAnswers = true
            case .attempted(let attempt):
                let delivery = DeliveryKey(message: attempt.message, integrator: attempt.integrator)
                PairState.remember(attempt.emergency, &state)
                state.heard[attempt.emergency, default: .init()].kinds[attempt.sequence] = attempt.kind
                if let now { state.heard[attempt.emergency]?.attempts[delivery] = now }
            case .acknowledged(let taken):
                guard let id = MessageID(taken.acknowledgement.messageId) else { return false }
                let delivery = DeliveryKey(message: id, integrator: taken.integrator)
                PairState.remember(id.emergency, &state)
                // The integrator's last word counts: it may reject what it had taken. What it had said before comes late from a side that
                // was not heard, and does not take the rejection back.
                let known = state.heard[id.emergency]?.said[delivery]
                if known == taken { return false }
                if taken.acknowledgement.accepts, let known, !known.acknowledgement.accepts, let at = taken.at, at < known.at ?? at {
                    return false
                }
                state.heard[id.emergency, default: .init()].said[delivery] = taken
            case .contact(let word):
                let emergency = EmergencyID(bits: word.occasion.bits)
                PairState.remember(emergency, &state)
                guard state.heard[emergency]?.words.contains(word) != true else { return false }
                state.heard[emergency, default: .init()].words.append(word)
            case .erased(let erasure, let stores): state.erased[erasure] = stores
            case .settings, .opened, .note: break
            }
            return true
        }
    }

    /// What the other side has had answered about this message; nil where nothing is known.
    func acknowledgement(of message: MessageID, by integrator: String) -> TakenMessage? {
        let said = state.withLock { $0.heard[message.emergency]?.said[DeliveryKey(message: message, integrator: integrator)] }
        return said.flatMap { $0.acknowledgement.accepts ? $0 : nil }
    }

    /// What contacts have said on the other side, and who was called again there.
    func words(of occasion: OccasionID) -> [ContactReply] {
        state.withLock { $0.heard[EmergencyID(bits: occasion.bits)]?.words ?? [] }
    }

    /// Whether the other side has sent any message of this emergency.
    func hasHeardAttempts(in emergency: EmergencyID) -> Bool {
        state.withLock { !($0.heard[emergency]?.kinds.isEmpty ?? true) }
    }

    /// When this side may next send a message: the first at any time, the second once the first should have and was not heard to.
    func mayAttempt(_ message: OutboxMessage, to integrator: String) -> Timestamp {
        state.withLock { state in
            var earliest = role == .second ? message.createdAt + lead : message.createdAt
            let delivery = DeliveryKey(message: message.id, integrator: integrator)
            if role == .second, let heard = state.heard[message.id.emergency]?.attempts[delivery] {
                earliest = max(earliest, heard + retry + lead)
            }
            return max(earliest, state.notBefore ?? earliest)
        }
    }

    /// Nothing is sent until `release`, or `time`.
    func hold(until time: Timestamp) {
        state.withLock { $0.notBefore = time }
    }

    func release() {
        state.withLock { $0.notBefore = nil }
    }

    // MARK: Others

    func tell(_ fact: PairFact) {
        say(fact)
    }

    /// Besides what is told in its place: should this side's disk hang, the other knows all the same. It may hear it twice.
    func tellAtOnce(_ fact: PairFact) {
        sayAtOnce(fact)
    }

    /// What the other side has erased; nil while it has not said so.
    func erased(_ erasure: ErasureID) -> [ErasedStore]? {
        state.withLock { $0.erased[erasure] }
    }
}
