// Beginning, pausing and ending one supervision, and what the person sets.

import Contracts

extension Supervision {
    /// Starts supervision, or changes the bounds of one who is supervised; those count from the next upload on.
    mutating func subscribed(own: [Metric: Bounds], declaredInterval: Duration?, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        state.own = own
        if state.stage == .off {
            beginMonitoring(declaredInterval)
        } else if !state.subscribed {
            state.silenceDue = state.now + rules.silenceLimit(declaredInterval: declaredInterval)
        }
        state.subscribed = true
        forgetUnwatched()
        return due + timePassed(to: state.now)
    }

    /// The person's history gives other bounds (SOS-07); they count from the next upload on. Empty: the defaults again.
    mutating func personalised(_ bounds: [Metric: Bounds], at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        state.personal = bounds.isEmpty ? nil : bounds
        forgetUnwatched()
        return due
    }

    /// What the person wants to be watched besides (SOS-23).
    mutating func preferences(shaking: Bool, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        state.shaking = shaking ? true : nil
        if !shaking { state.seizure = nil }
        return due
    }

    private mutating func forgetUnwatched() {
        let watched = thresholds.watched
        state.latest = state.latest.filter { watched.contains($0.key) }
    }

    /// Ends supervision at once; a running emergency is still completed (SOS-03).
    mutating func unsubscribed(at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        state.subscribed = false
        switch state.stage {
        case .alerted, .confirmed, .dispatching: return due
        case .dispatched, .stoodDown: return due + [ended(.closed)]
        case .off, .monitoring, .suspended, .paused:
            leaveEmergency()
            return due
        }
    }

    /// Refused while an emergency runs: the prompt is there to be answered.
    mutating func paused(at time: Timestamp) -> Outcome {
        var outcome = Outcome(actions: timePassed(to: time), refusal: nil, alreadyDispatched: hasDispatched, episode: state.episode)
        switch state.stage {
        case .monitoring, .suspended:
            state.stage = .paused
            state.episode = nil
            forgetSignal()
        case .paused: break
        case .off: outcome.refusal = Failure(.notFound, "this person is not subscribed")
        case .alerted, .confirmed, .dispatching, .dispatched, .stoodDown:
            outcome.refusal = Failure(.conflict, "an emergency is running: answer the prompt or report a false alarm first")
        }
        return outcome
    }

    mutating func resumed(declaredInterval: Duration?, at time: Timestamp) -> Outcome {
        var outcome = Outcome(actions: timePassed(to: time), refusal: nil, alreadyDispatched: hasDispatched, episode: state.episode)
        if state.stage == .paused { beginMonitoring(declaredInterval) }
        if state.stage == .off { outcome.refusal = Failure(.notFound, "this person is not subscribed") }
        return outcome
    }

    /// Everything's recording was paused or resumed (ACC-28): meanwhile silence is the person's own. An emergency goes on.
    mutating func monitoring(isPaused: Bool, declaredInterval: Duration?, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard isPaused != (state.monitoringPaused ?? false) else { return due }
        state.monitoringPaused = isPaused ? true : nil
        // Whoever pauses or resumes is there.
        (state.contactsDue, state.contactsTold) = (nil, nil)
        if !isPaused, state.stage != .off, state.stage != .paused {
            state.silenceDue = state.now + rules.silenceLimit(declaredInterval: declaredInterval)
        }
        return due
    }

    private mutating func beginMonitoring(_ declaredInterval: Duration?) {
        state.stage = .monitoring
        state.episode = nil
        forgetSignal()
        state.silenceDue = state.now + rules.silenceLimit(declaredInterval: declaredInterval)
    }
}
