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
        default: listed ?? ""
        }
    }

    /// `change` of `EmergencyChanged`; nil for what is not said there.
    var said: String? {
        switch kind {
        case .opened, .dispatched, .acknowledged, .cancelled, .transient, .muted, .closed: listed
        case .confirmed, .updated, .helpArrived, .signalLost, .signalReturned: nil
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

    /// The message that it makes.
    var message: DispatchMessage.Kind? {
        switch kind {
        case .dispatched: .alert
        case .updated: .update
        case .cancelled: .cancel
        default: nil
        }
    }

    var actor: String {
        switch kind {
        case .muted, .cancelled, .helpArrived, .shakingCalledOff, .dispatched(.asked): "person"
        default: "dispatcher"
        }
    }

    var calledOffBy: AnswerPrompt.Answer? {
        if case .cancelled(let answer) = kind { answer } else { nil }
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

extension Trigger {
    fileprivate var detail: String {
        switch kind {
        case .threshold: "\(breach.metric) \(breach.side.rawValue) its bound"
        case .shaking: "repetitive shaking motion"
        case .silence: "nothing heard since the last \(breach.metric)"
        }
    }
}
