// What the supervision machine wants done.

import Contracts

/// What became worse in an emergency that was called for (SOS-32, SOS-36).
struct Worse: Hashable, Sendable {
    /// The entry by which it did.
    var trigger: Trigger
    /// Empty for a fall.
    var breaches: [Breach]
    /// Whether the contacts hear of it: once by breach.
    var isNewsToContacts: Bool
}

/// One thing that happened in a supervision, in order; the service stores, says and sends what follows from it.
struct SupervisionAction: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        case opened
        case transient
        case confirmed
        case dispatched(DispatchCause)
        /// Further breaches after the call, or one of them beyond what the emergency service knows.
        case worse(Worse)
        /// A mute ended, or what was muted begins anew: the person is asked once more (SOS-33).
        case askedAgain
        /// Where the person is has become known, or can be relied on, only after the call.
        case located
        case acknowledged
        case helpArrived
        case muted
        case cancelled(AnswerPrompt.Answer)
        case closed
        /// A reading that may be none: the person is asked, the contacts are told (SOS-38).
        case doubted
        /// Another reading, or the person, says that it was nothing.
        case doubtEnded
        /// A fall was reported or judged: the person is asked (SOS-36).
        case fell
        case fallEnded
        /// Nobody answered: the contacts are told, and an ambulance is called unless the person does not want that.
        case fallUnanswered
        /// A critical reading that came too late to call for: the person is asked, the contacts are told (SOS-37).
        case lateCritical
        /// A call for help that came too late: the contacts are told (SOS-35).
        case helpTooLate
        /// Of one signal, or of everything since joining.
        case signalLost(Parameter?)
        case signalReturned(Parameter?)
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
    /// What is asked beside an emergency; it is named as the emergency that it would become.
    var question: Episode?
    /// Own time of the entry that it goes by, where it belongs to no emergency: the last sign of life, the shaking.
    var since: Timestamp?
    /// Whether the warning of a silence sounds.
    var sounds = true

    /// Whether something is called for or asked that was not before: answers that were given under its name are none to it.
    var asks: Bool {
        switch kind {
        case .opened, .askedAgain, .doubted, .fell, .lateCritical: true
        default: false
        }
    }

    /// The word for it in the list of `docs/sos-rules.md` §4; nil for what that list leaves out.
    var listed: String? {
        switch kind {
        case .opened: "opened"
        case .transient: "transient"
        case .confirmed: "confirmed"
        case .dispatched: "dispatched"
        case .worse: "worse"
        case .askedAgain: "asked-again"
        case .acknowledged: "acknowledged"
        case .muted: "muted"
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .doubted: "doubted"
        case .doubtEnded: "doubt-ended"
        case .fell: "fell"
        case .fallEnded: "fall-ended"
        case .fallUnanswered: "fall-contacts"
        case .lateCritical: "late-critical"
        case .helpTooLate: "help-contacts"
        case .signalLost: "signal-lost"
        case .signalReturned: "signal-returned"
        case .silenceContacts: "silence-contacts"
        case .located, .helpArrived, .shakingAlarm, .shakingCalledOff, .charging: nil
        }
    }

    /// What the list names beside the word.
    var subject: String {
        switch kind {
        case .signalLost(let signal), .signalReturned(let signal): signal?.description ?? "-"
        case .worse(let worse): worse.trigger.passed.metric.code
        default: (episode ?? question)?.trigger.passed.metric.code ?? "-"
        }
    }

    /// One line of that list.
    var line: String? {
        listed.map { "\(at.milliseconds) \($0) \(subject)" }
    }
}
