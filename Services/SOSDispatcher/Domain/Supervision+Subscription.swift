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
            joinSignals(declaredInterval)
        }
        state.subscribed = true
        forgetUnwatched(declaredInterval)
        return due + timePassed(to: state.now)
    }

    /// The person's history gives other bounds (SOS-07); they count from the next upload on. Empty: the defaults again.
    mutating func personalised(_ bounds: [Metric: Bounds], at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        state.goBy(personal: bounds, shaking: state.shaking ?? false, falls: state.falls)
        forgetUnwatched()
        return due
    }

    /// What the person wants to be watched besides (SOS-23, SOS-36).
    mutating func preferences(shaking: Bool, falls: FallWatch? = nil, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        state.goBy(personal: state.personal ?? [:], shaking: shaking, falls: falls)
        return due
    }

    /// - Parameter declaredInterval: the longest of the person's devices; nil where nobody says.
    private mutating func forgetUnwatched(_ declaredInterval: Duration? = nil) {
        let thresholds = thresholds
        let wasHeard = state.sources.values.contains { !$0.signals.isEmpty }
        var declared = declaredInterval?.wholeMilliseconds ?? 0
        for (name, source) in state.sources {
            if !thresholds.pairInForce { state.sources[name]?.runs?[Breach(.bloodPressure, .above)] = nil }
            let unwatched = Set(source.latest.keys).union(source.signals.keys).filter { !thresholds.watches($0) }
            guard !unwatched.isEmpty else { continue }
            for metric in unwatched { declared = max(declared, source.signals[metric]?.declared ?? 0) }
            state.sources[name]?.forget(unwatched)
            state.sources[name]?.signals = source.signals.filter { !unwatched.contains($0.key) }
        }
        forgetSilences(wasHeard ? declared : nil)
    }

    /// The person's data are erased, the supervision goes on: nothing that was measured, or computed from it, is known any more.
    mutating func forgetMeasured(at time: Timestamp) {
        let declared = state.sources.values.flatMap { $0.signals.values.map(\.declared) }.max()
        state.sources = [:]
        (state.personal, state.lastHeard, state.seizure, state.impact, state.answered) = (nil, nil, nil, nil, nil)
        // Not when the latest was: a late copy of it would call once more.
        state.reports = state.reports?.mapValues { Reports(measured: $0.measured) }
        forgetSilences(declared, at: time)
    }

    /// Whoever was heard by nothing that is known any more has no deadline left: what is watched must be heard first, as after joining. Off
    /// its charger it joins by itself.
    /// - Parameter declared: the longest interval of what is forgotten, in milliseconds; nil where nothing was heard.
    private mutating func forgetSilences(_ declared: Int64?, at time: Timestamp? = nil) {
        let signals = Set(state.sources.values.flatMap { $0.signals.keys.map(\.signal) })
        state.silences = state.silences?.filter { signals.contains($0.key) }
        guard let declared, signals.isEmpty, state.charging != true else { return }
        state.joiningDue = max(state.now, time ?? state.now) + rules.silenceLimit(interval: .milliseconds(declared))
    }

    /// Ends supervision at once; a running emergency is still completed (SOS-03).
    mutating func unsubscribed(at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        state.subscribed = false
        (state.doubt, state.fall, state.late, state.impact, state.mutes) = (nil, nil, nil, nil, nil)
        switch state.stage {
        case .alerted, .confirmed, .dispatching: return due
        case .askedAgain: return due + [ended(.transient)]
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
            if let doubt = state.doubt { outcome.actions.append(action(.doubtEnded, about: doubt)) }
            state.stage = .paused
            forgetEverything()
        case .paused: break
        case .off: outcome.refusal = Failure(.notFound, "this person is not subscribed")
        case .alerted, .confirmed, .askedAgain, .dispatching, .dispatched, .stoodDown:
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

    mutating func beginMonitoring(_ declaredInterval: Duration?) {
        state.stage = .monitoring
        state.episode = nil
        forgetEverything()
        joinSignals(declaredInterval)
    }
}
