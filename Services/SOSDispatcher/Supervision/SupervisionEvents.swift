// What parts beside supervision are told of a person's supervision, once it is stored.

import Contracts
import Synchronization

/// One thing that happened in a person's supervision, as those who show, send and count hear it. Personal.
struct SupervisionEvent: Hashable, Sendable {
    enum Kind: String, Hashable, Sendable, CaseIterable {
        // Of an emergency, in the order of table SOS-S.
        case opened
        case confirmed
        case dispatched
        /// The person is asked once more: a mute ended, or what was muted begins anew.
        case askedAgain = "asked-again"
        /// Further breaches after the call, or one beyond what the emergency service knows.
        case gotWorse = "got-worse"
        /// Where the person is has become known, or can be relied on, only after the call.
        case located
        case acknowledged
        case helpArrived = "help-arrived"
        case transient
        case muted
        case cancelled
        case closed
        /// A new process found the emergency running: whoever missed an event of it reads it up. Comes at every start.
        case goesOn = "goes-on"
        // Of what is asked beside an emergency.
        case doubted
        case doubtEnded = "doubt-ended"
        case fell
        case fallEnded = "fall-ended"
        /// Nobody answered the fall: the contacts are to know.
        case fallUnanswered = "fall-contacts"
        /// A critical reading came too late to call for: the person and the contacts are to know.
        case lateCritical = "late-critical"
        /// A call for help came too late: the contacts are to know.
        case helpTooLate = "help-contacts"
        // Of the signal.
        case signalLost = "signal-lost"
        case signalReturned = "signal-returned"
        /// Nothing has come for so long that the contacts are to know.
        case silenceContacts = "silence-contacts"
        case shakingAlarm = "shaking-alarm"
        /// The person says that the shaking was nothing.
        case shakingCalledOff = "shaking-called-off"
        /// Everything that measures the person is on charge: supervision is suspended, and the person is not protected.
        case charging
        // Of the subscription, as the person asked for it.
        case subscribed
        case unsubscribed
        case paused
        case resumed
    }

    var person: PersonID
    var kind: Kind
    /// nil for those that belong to no emergency.
    var emergency: EmergencyID?
    /// The emergency as it stood after this.
    var episode: Episode?
    /// By the wall clock: people read it.
    var at: Timestamp
    /// Of a silence, the last sign of life, or when the person joined where there was none since; of shaking, when it was felt; nil where
    /// that is not known, and for emergencies.
    var since: Timestamp?

    /// What became worse, of `gotWorse`.
    var worse: Worse?
    /// Of a signal that fell silent while others are heard; nil where nothing is.
    var signal: Parameter?
    /// Of a silence since joining and of charging, which joining it was.
    var joining: Int?
    /// In place of the time at which it was noticed, where each dispatcher notices by itself.
    var occasion: Timestamp?
    /// Whether a warning of silence sounds.
    var sounds = true

    /// Whether what the person is told of it was stored with it, and is on its way by itself.
    var isKept = false

    /// The same whenever the same thing is told again: whatever is sent because of it is named after it.
    var name: String {
        let occasion = emergency.map { "\($0)" } ?? String((occasion ?? since ?? at).milliseconds) + (joining.map { ".\($0)" } ?? "")
        return "\(person)|\(kind.rawValue)\(signal.map { ".\($0)" } ?? "")|\(occasion)"
    }

    /// Each dispatcher notices by itself, some milliseconds apart, that nothing was heard since joining. Named after the joining, which
    /// they share, it is one silence with one warning (SOS-34). So it is with a watch on its charger: off it, it joins anew (SOS-27). That
    /// has the hour in its name as well, so that a dispatcher that has counted otherwise finds no name of long ago, and tells it all the same.
    mutating func noteJoining(of subscriber: Subscriber) {
        switch kind {
        case .charging:
            let hour: Int64 = 3_600_000
            (occasion, joining) = (Timestamp(milliseconds: at.milliseconds / hour * hour), subscriber.supervision.joins)
        case .signalLost, .silenceContacts:
            guard since == nil, subscriber.supervision.joiningLost == true, let joinedAt = subscriber.joinedAt else { return }
            (since, joining) = (joinedAt, subscriber.supervision.joins)
        default: return
        }
    }
}

extension SupervisionEvent {
    fileprivate var unkept: SupervisionEvent {
        var unkept = self
        unkept.isKept = false
        return unkept
    }
}

extension SupervisionEvent.Kind {
    init(_ action: SupervisionAction.Kind) {
        self =
            switch action {
            case .opened: .opened
            case .transient: .transient
            case .confirmed: .confirmed
            case .dispatched: .dispatched
            case .worse: .gotWorse
            case .askedAgain: .askedAgain
            case .doubted: .doubted
            case .doubtEnded: .doubtEnded
            case .fell: .fell
            case .fallEnded: .fallEnded
            case .fallUnanswered: .fallUnanswered
            case .lateCritical: .lateCritical
            case .helpTooLate: .helpTooLate
            case .located: .located
            case .acknowledged: .acknowledged
            case .helpArrived: .helpArrived
            case .muted: .muted
            case .cancelled: .cancelled
            case .closed: .closed
            case .signalLost: .signalLost
            case .signalReturned: .signalReturned
            case .silenceContacts: .silenceContacts
            case .shakingAlarm: .shakingAlarm
            case .shakingCalledOff: .shakingCalledOff
            case .charging: .charging
            }
    }
}

/// Receives everybody's events, each person's in their order. A crash may take some with it, but for what the person is told of them
/// (`SupervisionEventBus.keep`): `goesOn` comes after it for every emergency that runs.
protocol SupervisionEventConsumer: Sendable {
    /// Must be quick: others wait for it, though no call does. Takes note and hands over to its own actor.
    func heard(_ events: [SupervisionEvent]) async
}

/// Hands events on in the order in which they were decided, after the disk had its chance.
final class SupervisionEventBus: Sendable {
    /// Notes in the batch what the person is told of an event; false where that is nothing.
    typealias Keep = @Sendable (SupervisionEvent, Subscriber, inout StoreBatch) -> Bool

    private struct State {
        var listeners: [any SupervisionEventConsumer] = []
        var last: Task<Void, Never>?
    }

    private let journal: Journal
    private let noteKept: Keep
    private let state = Mutex(State())

    /// - Parameter keep: what it notes is stored in one transaction with what the event tells about: a crash takes both, or neither.
    init(journal: Journal, keep: @escaping Keep) {
        (self.journal, noteKept) = (journal, keep)
    }

    /// Receives all that is announced from now on. Whoever listens follows supervision, and most ask it in turn: they come after it.
    func add(_ listener: any SupervisionEventConsumer) {
        state.withLock { $0.listeners.append(listener) }
    }

    /// The event as it is announced after the batch.
    func keep(_ event: SupervisionEvent, of subscriber: Subscriber, in batch: inout StoreBatch) -> SupervisionEvent {
        var kept = event
        kept.isKept = noteKept(event, subscriber, &batch)
        return kept
    }

    /// Returns at once; what they are about must have been noted in the journal. A hanging disk keeps nobody in the dark: what is
    /// not stored in time is told all the same, and may be told again after a crash.
    func announce(_ events: [SupervisionEvent]) {
        guard !events.isEmpty else { return }
        state.withLock { state in
            let (listeners, before) = (state.listeners, state.last)
            guard !listeners.isEmpty else { return }
            state.last = Task { [journal] in
                let isStored = await journal.commit(within: SupervisionService.storeTimeout)
                let heard = isStored ? events : events.map(\.unkept)
                await before?.value
                for listener in listeners { await listener.heard(heard) }
            }
        }
    }

    /// Returns once everything announced so far has been heard.
    func quiet() async {
        await state.withLock { $0.last }?.value
    }
}
