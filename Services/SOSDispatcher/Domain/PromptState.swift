// What a person is asked and told while an emergency of theirs runs (SOS-13, SOS-19, SOS-21).

import Contracts

struct PromptState: Hashable, Sendable {
    enum Phase: String, CaseIterable, Sendable {
        /// The call goes out at `callAt` unless the person says that all is well.
        case asking
        /// The call has gone out; nobody has taken it yet.
        case calling
        /// The emergency service has taken it.
        case informed
        case helpIsHere = "help-is-here"
        /// Called off after the call had gone out: the emergency service is being told.
        case calledOff = "called-off"
        /// "I am fine" before the call: nobody was called, and help may still be asked for.
        case muted
    }

    var emergency: EmergencyID
    var phase: Phase
    /// What the alert came from.
    var trigger: Trigger.Kind
    /// The first critical entry, by the wall clock.
    var t0: Timestamp
    var callAt: Timestamp
    /// Until when calling it off stays prominent; it stays possible until the emergency is closed.
    var abortUntil: Timestamp
    var dispatchedAt: Timestamp?
    var acknowledgedAt: Timestamp?
    /// What became critical, by name; never values.
    var parameters: [String]

    /// nil where there is nothing to ask or tell.
    init?(_ state: Supervision.State, emergency: EmergencyID, record: EmergencyRecord?, dispatchAt: Duration, abortWindow: Duration) {
        guard let episode = state.episode else { return nil }
        switch state.stage {
        case .off, .paused: return nil
        case .monitoring, .suspended: phase = .muted
        case .alerted, .confirmed: phase = .asking
        case .dispatching: phase = .calling
        case .dispatched: phase = record?.acknowledgedAt == nil ? .helpIsHere : .informed
        case .stoodDown: phase = .calledOff
        }
        self.emergency = emergency
        trigger = episode.trigger.kind
        t0 = episode.receivedAt
        callAt = episode.receivedAt + dispatchAt
        abortUntil = episode.receivedAt + abortWindow
        (dispatchedAt, acknowledgedAt) = (record?.dispatchedAt, record?.acknowledgedAt)
        parameters = episode.parameters.map(\.description).sorted()
    }

    /// Whether it is to be shown wherever the person looks; a muted one is gone from there.
    var isShown: Bool { phase != .muted }

    /// The same as long as there is nothing new to see.
    var version: String { "\(emergency).\(phase.rawValue)" }

    /// What the person may say now, the most likely first.
    func answers(at now: Timestamp) -> [AnswerPrompt.Answer] {
        switch phase {
        case .asking: [.fine, .help, .falseAlarm, .helpIsHere]
        case .calling, .informed, .helpIsHere:
            now < abortUntil ? [.fine, .help, .falseAlarm, .helpIsHere] : [.help, .helpIsHere, .falseAlarm, .fine]
        case .calledOff, .muted: [.help]
        }
    }
}
