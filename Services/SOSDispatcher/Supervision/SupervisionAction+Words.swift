// What an action is called on the stream, in the audit log and in the outbox.

import Contracts

extension SupervisionAction {
    /// In the audit log and the timeline.
    var word: String {
        switch kind {
        case .updated: "got-worse"
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
        case .confirmed, .updated, .located, .helpArrived, .signalLost, .signalReturned: nil
        case .silenceContacts, .shakingAlarm, .shakingCalledOff, .charging: nil
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
        case .updated, .located: .update
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
        case .muted, .cancelled, .helpArrived, .shakingCalledOff, .dispatched(.asked): "person"
        default: "dispatcher"
        }
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
        case .updated(let parameters): parameters.map(\.description).joined(separator: ", ")
        case .dispatched(let cause): cause.rawValue
        case .cancelled(let answer): answer.rawValue
        default: ""
        }
    }
}

extension DispatchMessage.Kind {
    /// The number of an emergency's first message, if it is of this kind: an alert has always been before a cancel, here or elsewhere.
    var first: Int { self == .cancel ? 1 : 0 }
}

extension Trigger {
    fileprivate var detail: String {
        switch kind {
        case .threshold: "\(breach.metric) \(breach.side.rawValue) its bound"
        case .shaking: "repetitive shaking motion"
        case .silence: "nothing heard since the last \(breach.metric)"
        }
    }
}
