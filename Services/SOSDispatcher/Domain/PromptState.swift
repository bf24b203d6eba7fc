// What a person is asked and told while an emergency of theirs runs, or might (SOS-13, SOS-19, SOS-21, SOS-33, SOS-36, SOS-38).

import Contracts

struct PromptState: Hashable, Sendable {
    enum Phase: String, CaseIterable, Sendable {
        /// The call goes out at `callAt` unless the person says that all is well.
        case asking
        /// As `asking`, with more time: the person said that all is well, and values say otherwise still or again.
        case askingAgain = "asking-again"
        /// A fall was felt.
        case fell
        /// A reading may be none, or came late.
        case doubtful
        /// The call has gone out; nobody has taken it yet.
        case calling
        /// The emergency service has taken it.
        case informed
        case helpIsHere = "help-is-here"
        /// Called off after the call had gone out: the emergency service is being told.
        case calledOff = "called-off"
    }

    /// What is heard with it, after IEC 60601-1-8: three that nobody confuses.
    enum Sound: String, CaseIterable, Sendable {
        case call
        case question
        case silence
    }

    var emergency: EmergencyID
    var phase: Phase
    /// What the alert came from.
    var trigger: Trigger.Kind
    /// The first critical entry, by the wall clock.
    var t0: Timestamp
    /// nil where nobody is called without being asked for.
    var callAt: Timestamp?
    /// Until when calling it off stays prominent; it stays possible until the emergency is closed.
    var abortUntil: Timestamp
    var dispatchedAt: Timestamp?
    var acknowledgedAt: Timestamp?
    /// What became critical, by name; never values.
    var parameters: [String]
    /// Until when each breach is muted, by the wall clock.
    var mutedUntil: [String: Timestamp]
    /// Whether "help is here" was said before anybody had taken the call: it has to be said again.
    var asksBack: Bool
    /// Whether "I am fine" or a false alarm, given before help was called for, came once more: it has to be said again.
    var asksBackCallingOff = false
    var sound: Sound?

    /// nil where there is nothing to ask or tell.
    /// - Parameter name: what an episode is called.
    init?(
        _ state: Supervision.State, record: EmergencyRecord?, rules: SupervisionRules, abortWindow: Duration,
        name: (Trigger) -> EmergencyID
    ) {
        let beside = state.beside.first
        let episode: Episode
        switch state.stage {
        case .off: return nil
        case .monitoring, .suspended, .paused, .stoodDown:
            if let beside {
                episode = beside
                phase = state.fall == nil ? .doubtful : .fell
            } else {
                guard state.stage == .stoodDown, let running = state.episode else { return nil }
                episode = running
                phase = .calledOff
            }
        case .alerted, .confirmed, .askedAgain, .dispatching, .dispatched:
            guard let running = state.episode else { return nil }
            episode = running
            phase =
                switch state.stage {
                case .askedAgain: .askingAgain
                case .dispatching: .calling
                case .dispatched: record?.acknowledgedAt == nil ? .helpIsHere : .informed
                default: .asking
                }
        }
        let named = name(episode.trigger)
        emergency = named
        trigger = episode.trigger.kind
        t0 = episode.receivedAt
        switch phase {
        case .asking: callAt = episode.receivedAt + rules.dispatchAt
        case .askingAgain, .fell: callAt = episode.dueAt.map { episode.wall($0) }
        case .doubtful: callAt = state.doubt == nil ? nil : episode.dueAt.map { episode.wall($0) }
        case .calling, .informed, .helpIsHere, .calledOff: callAt = episode.receivedAt
        }
        abortUntil = episode.receivedAt + abortWindow
        let known = record.flatMap { $0.id == named ? $0 : nil }
        (dispatchedAt, acknowledgedAt) = (known?.dispatchedAt, known?.acknowledgedAt)
        parameters = episode.parameters.map(\.description).sorted()
        mutedUntil = state.mutedUntil
        asksBack = episode.askedBackAt != nil && phase == .calling
        sound =
            switch phase {
            case .asking, .calling: .call
            case .askingAgain, .fell, .doubtful: .question
            case .informed, .helpIsHere, .calledOff: nil
            }
    }

    /// The same as long as there is nothing new to see.
    var version: String { "\(emergency).\(phase.rawValue)\(asksBack ? ".back" : "")" }

    /// What the person may say now, the most likely first.
    func answers(at now: Timestamp) -> [AnswerPrompt.Answer] {
        switch phase {
        case .asking, .askingAgain, .fell, .doubtful: [.fine, .help, .falseAlarm, .helpIsHere]
        case .calling, .informed, .helpIsHere:
            now < abortUntil ? [.fine, .help, .falseAlarm, .helpIsHere] : [.help, .helpIsHere, .falseAlarm, .fine]
        case .calledOff: [.help]
        }
    }
}

extension Supervision.State {
    /// Until when each breach is muted, by its name and the wall clock; a lapsed one ends with its next reading.
    var mutedUntil: [String: Timestamp] {
        let muted = (mutes ?? [:]).filter { $0.value.isLapsed != true }
        return Dictionary(uniqueKeysWithValues: muted.map { ("\($0.key)", $0.value.until + .milliseconds(wallOffset ?? 0)) })
    }
}
