// Table SOS-S as a value: what happens to one subscriber goes in with its time, what is to be done comes out.
// `docs/sos-rules.md` §3 says the same in words; a change here is a change there.

import Contracts

/// The supervision of one subscriber. Pure: all times are arguments, on one time line that never runs backwards (an earlier time
/// counts as the latest one seen). Every method first lets the timers fire that are due by then.
struct Supervision: Sendable {
    let rules: SupervisionRules
    /// Changed by the machine's own methods alone.
    var state: State
    /// When the device of the upload that is being judged first tried to send it, where it says so (SOS-41).
    var firstTriedAt: Timestamp?

    init(rules: SupervisionRules, state: State = State()) {
        (self.rules, self.state) = (rules, state)
    }

    var thresholds: Thresholds { state.thresholds(by: rules) }

    /// Whether an emergency is running, or the person is asked whether one is.
    var emergencyRuns: Bool {
        switch state.stage {
        case .alerted, .confirmed, .askedAgain, .dispatching, .dispatched, .stoodDown: true
        case .off, .monitoring, .suspended, .paused: false
        }
    }

    /// Whether the call of the running emergency has gone out.
    var hasDispatched: Bool {
        switch state.stage {
        case .dispatching, .dispatched, .stoodDown: true
        case .off, .monitoring, .suspended, .paused, .alerted, .confirmed, .askedAgain: false
        }
    }
}

// MARK: Time

extension Supervision {
    /// In the order in which those fire that are due at one time.
    private enum Timer: Int {
        case confirm
        case dispatch
        case question
        case doubt
        case fall
        case mutes
        case joining
        case silence
        case contacts
        case closing
        case late
    }

    /// When the machine next wants to hear of the time; nil if only an event can change it.
    var nextDue: Timestamp? {
        nextTimer?.due
    }

    /// Lets every timer fire that is due at or before `time`, each at its own due time.
    mutating func timePassed(to time: Timestamp) -> [SupervisionAction] {
        var actions: [SupervisionAction] = []
        while let (timer, due) = nextTimer, due <= time {
            state.now = due
            actions += fire(timer)
        }
        state.now = max(state.now, time)
        return actions
    }

    private var nextTimer: (timer: Timer, due: Timestamp)? {
        var timers: [(timer: Timer, due: Timestamp)] = []
        func add(_ timer: Timer, _ due: Timestamp?) {
            if let due { timers.append((timer, due)) }
        }
        if let episode = state.episode {
            switch state.stage {
            case .alerted: add(.confirm, episode.t0 + (isWaiting(episode) ? max(rules.sustain, rules.doubt) : rules.sustain))
            case .confirmed: add(.dispatch, episode.t0 + rules.dispatchAt)
            case .askedAgain: add(.question, episode.dueAt ?? episode.t0 + rules.reask)
            case .dispatched: add(.closing, closingDue(episode))
            case .off, .monitoring, .suspended, .paused, .dispatching, .stoodDown: break
            }
        }
        if state.subscribed {
            add(.doubt, state.doubt?.dueAt)
            add(.fall, state.fall?.dueAt)
            add(.mutes, mutesEnd)
            add(.joining, listensForSilence ? state.joiningDue : nil)
            add(.silence, listensForSilence ? nextSilence?.due : nil)
            add(.contacts, contactsFallDue)
            add(.late, state.late?.dueAt)
        }
        let next = timers.min { ($0.due, $0.timer.rawValue) < ($1.due, $1.timer.rawValue) }
        return next.map { ($0.timer, max($0.due, state.now)) }
    }

    private mutating func fire(_ timer: Timer) -> [SupervisionAction] {
        switch timer {
        case .confirm:
            state.stage = .confirmed
            return [action(.confirmed)]
        case .dispatch, .question: return [call(.unanswered)]
        case .doubt: return doubtStands()
        case .fall: return fallUnanswered()
        case .mutes: return mutesEnded()
        case .joining: return nothingHeard()
        case .silence: return nextSilence.map { fellSilent($0.signal) } ?? []
        case .contacts:
            state.contactsDue = nil
            return contactsMustKnow()
        case .closing: return closedByTime()
        case .late:
            state.late = nil
            return []
        }
    }
}

// MARK: Ends

extension Supervision {
    /// The call for what runs goes out, for the first time or again.
    mutating func call(_ cause: SupervisionAction.DispatchCause) -> SupervisionAction {
        state.stage = .dispatching
        state.episode?.tellAll()
        // Values were not followed while nobody was called; only fresh ones may close it again.
        state.episode?.normalSince = nil
        state.episode?.settledAt = nil
        state.episode?.dueAt = nil
        // "Help is here" was said of what was called for before.
        state.episode?.askedBackAt = nil
        return action(.dispatched(cause))
    }

    /// What was asked beside an emergency becomes one, and is called for at once.
    /// - Parameter time: when it became one; nil for now.
    mutating func call(
        for question: Episode, since time: Timestamp? = nil, isKept: Bool, _ cause: SupervisionAction.DispatchCause
    ) -> [SupervisionAction] {
        var actions: [SupervisionAction] = []
        if state.stage == .stoodDown { actions.append(ended(.closed)) }
        if state.stage == .paused { beginMonitoring(nil) }
        let t0 = time ?? state.now
        state.episode = Episode(trigger: question.trigger, t0: t0, receivedAt: wall(t0), open: question.open)
        state.episode?.firstTriedAt = question.firstTriedAt ?? firstTriedAt
        if isKept { state.episode?.isKept = true }
        state.stage = .alerted
        actions.append(action(.opened))
        return actions + [call(cause)]
    }

    /// Goes on with a call of which nothing but its name and its time are known any more. No value ends it: which it came from is not known.
    mutating func goOn(with emergency: EmergencyID, since t0: Timestamp, receivedAt: Timestamp) {
        var trigger = Trigger(.help, at: receivedAt, kind: .manual)
        trigger.emergency = emergency
        state.episode = Episode(trigger: trigger, t0: t0, receivedAt: receivedAt)
        state.episode?.keep()
        state.stage = .dispatching
    }

    mutating func ended(_ kind: SupervisionAction.Kind) -> SupervisionAction {
        let action = action(kind)
        leaveEmergency()
        return action
    }

    mutating func leaveEmergency() {
        state.episode = nil
        state.stage = state.subscribed ? isSilent ? .suspended : .monitoring : .off
        if !state.subscribed { forgetEverything() }
    }

    /// Ingest's clock at a time of the machine, as far as is known.
    func wall(_ time: Timestamp) -> Timestamp { time + .milliseconds(state.wallOffset ?? 0) }

    func action(_ kind: SupervisionAction.Kind) -> SupervisionAction {
        action(kind, of: state.episode)
    }

    /// - Parameter since: see `SupervisionAction`; only of what belongs to no emergency.
    func action(_ kind: SupervisionAction.Kind, of episode: Episode?, since: Timestamp? = nil) -> SupervisionAction {
        SupervisionAction(kind: kind, at: state.now, episode: episode, since: since)
    }

    /// Of what is asked beside an emergency.
    func action(_ kind: SupervisionAction.Kind, about question: Episode) -> SupervisionAction {
        SupervisionAction(kind: kind, at: state.now, episode: nil, question: question)
    }
}
