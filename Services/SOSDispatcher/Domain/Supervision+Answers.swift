// What the person and the emergency service say to one supervision.

import Contracts

extension Supervision {
    /// What came of something that may be refused; the actions stand either way, they were due by then.
    struct Outcome: Sendable {
        var actions: [SupervisionAction]
        var refusal: Failure?
        /// Whether the call had gone out before it (SOS-21).
        var alreadyDispatched: Bool
        /// The emergency that it was about.
        var episode: Episode?
    }

    /// The answer to the prompt, or the report of a false alarm (SOS-14, SOS-21).
    mutating func answered(_ answer: AnswerPrompt.Answer, at time: Timestamp) -> Outcome {
        let due = timePassed(to: time)
        var outcome = Outcome(actions: due, refusal: nil, alreadyDispatched: hasDispatched, episode: state.episode)
        switch answer {
        case .fine, .falseAlarm: outcome.actions += calledOff(answer)
        case .help:
            if state.episode == nil { outcome.refusal = Failure(.conflict, "there is no alert to answer") }
            outcome.actions += helpAsked()
        case .helpIsHere: outcome.actions += helpArrived()
        }
        outcome.actions += timePassed(to: state.now)
        return outcome
    }

    private mutating func calledOff(_ answer: AnswerPrompt.Answer) -> [SupervisionAction] {
        switch state.stage {
        case .alerted, .confirmed:
            let muted = action(.muted)
            let episode = state.episode
            leaveEmergency()
            state.episode = state.subscribed ? episode : nil
            return [muted]
        case .dispatching, .dispatched:
            state.stage = .stoodDown
            let cancelled = action(.cancelled(answer))
            return state.subscribed ? [cancelled] : [cancelled, ended(.closed)]
        case .monitoring, .suspended:
            return shakingCalledOff()
        case .off, .paused, .stoodDown:
            return []
        }
    }

    private mutating func helpAsked() -> [SupervisionAction] {
        guard state.episode != nil, state.stage != .dispatching, state.stage != .dispatched else { return [] }
        // Values were not followed while nobody was called; only fresh ones may close it again.
        if state.stage != .alerted, state.stage != .confirmed { state.episode?.normalSince = nil }
        // The silence goes on beside it, and closes it in the end.
        if state.stage == .suspended { state.silenceDue = state.now }
        state.stage = .dispatching
        state.episode?.settledAt = nil
        return [action(.dispatched(.asked))]
    }

    private mutating func helpArrived() -> [SupervisionAction] {
        guard state.stage == .dispatching else { return [] }
        return settled(.helpArrived)
    }

    /// The emergency service accepted the call; anywhere but in DISPATCHING it changes nothing.
    mutating func acknowledged(at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard state.stage == .dispatching else { return due }
        let settled = settled(.acknowledged)
        return due + settled + timePassed(to: state.now)
    }

    private mutating func settled(_ kind: SupervisionAction.Kind) -> [SupervisionAction] {
        state.stage = .dispatched
        state.episode?.settledAt = state.now
        let settled = action(kind)
        return state.subscribed ? [settled] : [settled, ended(.closed)]
    }
}
