// What the supervision machine wants done.

import Contracts

/// One thing that happened in a supervision, in order; the service stores, says and sends what follows from it.
struct SupervisionAction: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case opened
        case transient
        case confirmed
        case dispatched(DispatchCause)
        /// Further parameters became critical after the call.
        case updated([Parameter])
        /// Where the person is has become known, or can be relied on, only after the call.
        case located
        case acknowledged
        case helpArrived
        case muted
        case cancelled(AnswerPrompt.Answer)
        case closed
        case signalLost
        case signalReturned
        /// The person was warned of the signal loss long enough ago: now the contacts.
        case silenceContacts
        /// The wearable felt repetitive shaking (SOS-23).
        case shakingAlarm
        /// The person says that it was nothing.
        case shakingCalledOff
        /// Everything that measures the person lies in its charger (SOS-27).
        case charging
    }

    enum DispatchCause: String, Hashable, Sendable {
        /// Nobody answered the prompt in time.
        case unanswered
        /// The person asked for help.
        case asked
    }

    var kind: Kind
    var at: Timestamp
    /// As it stands after the action; nil for those that belong to no emergency.
    var episode: Episode?
    /// Own time of the entry that it goes by, where it belongs to no emergency: the last sign of life, the shaking.
    var since: Timestamp?

    /// The word for it in the list of `docs/sos-rules.md` §4; nil for what that list leaves out.
    var listed: String? {
        switch kind {
        case .opened: "opened"
        case .transient: "transient"
        case .confirmed: "confirmed"
        case .dispatched: "dispatched"
        case .acknowledged: "acknowledged"
        case .muted: "muted"
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .signalLost: "signal-lost"
        case .signalReturned: "signal-returned"
        case .silenceContacts: "silence-contacts"
        case .updated, .located, .helpArrived, .shakingAlarm, .shakingCalledOff, .charging: nil
        }
    }

    /// One line of that list.
    var line: String? {
        listed.map { "\(at.milliseconds) \($0) \(episode?.trigger.breach.metric.code ?? "-")" }
    }
}
