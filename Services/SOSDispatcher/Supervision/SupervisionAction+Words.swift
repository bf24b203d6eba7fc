// What an action is called on the stream, in the audit log and in the outbox.

import Contracts

extension SupervisionAction {
    /// In the audit log and the timeline.
    var word: String {
        switch kind {
        case .worse: "got-worse"
        case .helpArrived: "help-arrived"
        case .opened: "alerted"
        case .shakingAlarm: "shaking-reported"
        case .shakingCalledOff: "shaking-called-off"
        case .charging: "charging-begun"
        case .located: "located"
        default: listed ?? ""
        }
    }

    /// `change` of `EmergencyChanged`; nil for what is not said there.
    var said: String? {
        switch kind {
        case .opened, .dispatched, .acknowledged, .cancelled, .transient, .muted, .closed: listed
        case .askedAgain: "asked-again"
        case .worse: "worse"
        case .confirmed, .located, .helpArrived, .signalLost, .signalReturned, .silenceContacts, .shakingAlarm, .shakingCalledOff,
            .charging, .doubted, .doubtEnded, .fell, .fallEnded, .fallUnanswered, .lateCritical, .helpTooLate:
            nil
        }
    }

    /// Whether devices measure at the rate of an alert from here on (SOS-11).
    var keepsAlert: Bool {
        switch kind {
        case .transient, .muted, .closed: false
        default: episode != nil
        }
    }

    /// A wall clock that shows so much less than it should has been set back.
    private static let setBack = Duration.seconds(1)

    /// The message that it makes. "I am fine" before the call makes one too where the process before this one may have called without
    /// storing it, since the emergency service might have an alert of which nobody here knows: where the first critical entry was
    /// received before this process began, or may have been, the wall clock having been set back since.
    /// - Parameters:
    ///   - began: when this process did, on the machine's time line.
    ///   - now: what the wall clock shows at the action.
    func message(since began: Timestamp, now: Timestamp) -> DispatchMessage.Kind? {
        switch kind {
        case .dispatched: .alert
        // A worse one takes the place of an alert that nobody has taken.
        case .worse: episode?.settledAt == nil ? .alert : .update
        case .located: .update
        case .cancelled: .cancel
        case .muted: mayBeRepeated(since: began, now: now) ? .cancel : nil
        default: nil
        }
    }

    private func mayBeRepeated(since began: Timestamp, now: Timestamp) -> Bool {
        guard let episode else { return false }
        // A machine that has seen a later time counts from that.
        if episode.t0 < began || episode.receivedAt < now - (at - began) { return true }
        return episode.receivedAt + (at - episode.t0) > now + Self.setBack
    }

    var actor: String {
        switch kind {
        case .muted, .cancelled, .helpArrived, .shakingCalledOff, .fallEnded, .helpTooLate, .dispatched(.asked): "person"
        default: "dispatcher"
        }
    }

    /// What became worse; nil where that is not what it is about.
    var worse: Worse? {
        if case .worse(let worse) = kind { worse } else { nil }
    }

    var calledOffBy: AnswerPrompt.Answer? {
        switch kind {
        case .cancelled(let answer): answer
        case .muted: .fine
        default: nil
        }
    }

    /// Names parameters, never values.
    var detail: String {
        switch kind {
        case .opened: episode?.trigger.detail ?? ""
        case .worse(let worse):
            worse.breaches.isEmpty ? worse.trigger.word : worse.breaches.map(\.description).joined(separator: ", ")
        case .signalLost(let signal), .signalReturned(let signal): signal?.description ?? ""
        case .askedAgain: (episode?.open.keys.sorted() ?? []).map(\.description).joined(separator: ", ")
        case .doubted, .fell, .lateCritical: question?.trigger.detail ?? ""
        case .dispatched(let cause): cause.rawValue
        case .cancelled(let answer): answer.rawValue
        default: ""
        }
    }
}

extension DispatchMessage.Kind {
    /// The number of an emergency's first message, if it is of this kind: an alert has always been before all others, here or elsewhere.
    var first: Int { self == .alert ? 0 : 1 }
}

extension Trigger {
    fileprivate var detail: String {
        switch kind {
        case .threshold: "\(passed.metric) \(passed.side.rawValue) its bound"
        case .shaking: "repetitive shaking motion"
        case .fall: "a fall"
        case .manual: "a call for help"
        case .silence: "nothing heard since the last \(passed.metric)"
        }
    }
}
