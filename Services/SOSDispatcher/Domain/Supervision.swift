// Table SOS-S as a value: what happens to one subscriber goes in with its time, what is to be done comes out.
// `docs/sos-rules.md` §3 says the same in words; a change here is a change there.

import Contracts

/// The supervision of one subscriber. Pure: all times are arguments, on one time line that never runs backwards (an earlier time
/// counts as the latest one seen). Every method first lets the timers fire that are due by then.
struct Supervision: Sendable {
    let rules: SupervisionRules
    private(set) var state: State

    init(rules: SupervisionRules, state: State = State()) {
        (self.rules, self.state) = (rules, state)
    }

    var thresholds: Thresholds { Thresholds(own: state.own, rules: rules) }

    /// Whether an emergency is running: opened, and neither over nor muted.
    var emergencyRuns: Bool {
        switch state.stage {
        case .alerted, .confirmed, .dispatching, .dispatched, .stoodDown: true
        case .off, .monitoring, .suspended, .paused: false
        }
    }

    /// Whether the call of the running emergency has gone out.
    var hasDispatched: Bool {
        switch state.stage {
        case .dispatching, .dispatched, .stoodDown: true
        case .off, .monitoring, .suspended, .paused, .alerted, .confirmed: false
        }
    }
}

// MARK: Time

extension Supervision {
    private enum Timer: Int {
        case confirm
        case dispatch
        case silence
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
        if state.stage == .alerted, let episode = state.episode { timers.append((.confirm, episode.t0 + rules.sustain)) }
        if state.stage == .confirmed, let episode = state.episode { timers.append((.dispatch, episode.t0 + rules.dispatchAt)) }
        if let due = silenceFallsDue { timers.append((.silence, due)) }
        let next = timers.min { ($0.due, $0.timer.rawValue) < ($1.due, $1.timer.rawValue) }
        return next.map { ($0.timer, max($0.due, state.now)) }
    }

    /// Nothing stops a call on its way: until it is acknowledged, silence changes nothing (SOS-25).
    private var silenceFallsDue: Timestamp? {
        guard state.subscribed, let due = state.silenceDue else { return nil }
        return switch state.stage {
        case .monitoring: state.monitoringPaused == true ? nil : due
        case .stoodDown: due
        case .dispatched: max(due, state.episode?.settledAt ?? due) + rules.silenceBeforeClosing
        case .off, .suspended, .paused, .alerted, .confirmed, .dispatching: nil
        }
    }

    private mutating func fire(_ timer: Timer) -> [SupervisionAction] {
        switch timer {
        case .confirm:
            state.stage = .confirmed
            return [action(.confirmed)]
        case .dispatch:
            state.stage = .dispatching
            return [action(.dispatched(.unanswered))]
        case .silence:
            state.silenceDue = nil
            return fellSilent()
        }
    }

    /// An emergency that is over but for values back in range ends here: with the device off they would never come.
    private mutating func fellSilent() -> [SupervisionAction] {
        let closed = emergencyRuns ? [ended(.closed)] : []
        guard state.monitoringPaused != true else { return closed }
        state.stage = .suspended
        return closed + [action(.signalLost, of: nil)]
    }
}

// MARK: Entries

extension Supervision {
    private struct CriticalEntry {
        var trigger: Trigger
        var parameters: Set<Parameter>
    }

    /// Compares every entry that counts, in order, and judges the upload as one instant (SOS-09, SOS-11, SOS-12, SOS-14).
    mutating func uploaded(_ upload: Upload) -> [SupervisionAction] {
        var actions = timePassed(to: upload.at)
        guard state.subscribed, state.stage != .paused else { return actions }
        let thresholds = thresholds
        let counting = upload.entries.filter { counts($0, in: upload, watched: thresholds.watched) }
        guard !counting.isEmpty else { return actions }
        actions += heard(upload)
        state.latest = state.latest.filter { upload.receivedAt <= $0.value.holdsUntil }
        let criticalEntries = measurements(counting).flatMap { take($0, in: upload, thresholds) }
        actions += judge(criticalEntries, thresholds.critical(by: state.latest), upload)
        return actions + timePassed(to: state.now)
    }

    private func counts(_ entry: Sample, in upload: Upload, watched: Set<Metric>) -> Bool {
        entry.value != nil && upload.receivedAt - entry.at <= rules.maximumAge
            && entry.type.definition.shape == .scalar && (entry.type.definition.vital || watched.contains(entry.type))
    }

    private mutating func heard(_ upload: Upload) -> [SupervisionAction] {
        let due = state.now + rules.silenceLimit(declaredInterval: upload.declaredInterval)
        state.silenceDue = max(state.silenceDue ?? due, due)
        guard state.stage == .suspended else { return [] }
        state.stage = .monitoring
        return [action(.signalReturned, of: nil)]
    }

    /// Entries with one own time were measured together: a maximum is not judged with the minimum of before.
    private func measurements(_ entries: [Sample]) -> [[Sample]] {
        var places: [Timestamp: Int] = [:]
        var measurements: [[Sample]] = []
        for entry in entries {
            if let place = places[entry.at] {
                measurements[place].append(entry)
            } else {
                places[entry.at] = measurements.count
                measurements.append([entry])
            }
        }
        return measurements
    }

    /// Takes all of one measurement, then says which of its entries are critical.
    private mutating func take(_ measurement: [Sample], in upload: Upload, _ thresholds: Thresholds) -> [CriticalEntry] {
        let taken = measurement.filter { take($0, in: upload, thresholds) }
        return taken.compactMap { entry in
            let parameters = thresholds.critical(entry.type, by: state.latest)
            let breach = entry.value.flatMap { thresholds.breach(of: entry.type, value: $0) }
            guard let breach, !parameters.isEmpty else { return nil }
            return CriticalEntry(trigger: Trigger(breach: breach, at: entry.at), parameters: parameters)
        }
    }

    /// Makes the entry its metric's latest value, unless it is older harmless news.
    private mutating func take(_ entry: Sample, in upload: Upload, _ thresholds: Thresholds) -> Bool {
        guard let value = entry.value, thresholds.watched.contains(entry.type) else { return false }
        let at = min(entry.at, upload.receivedAt)
        if let known = state.latest[entry.type], at < known.at, thresholds.breach(of: entry.type, value: value) == nil { return false }
        let holding = rules.holding(declaredInterval: upload.declaredInterval)
        state.latest[entry.type] = LatestValue(value: value, at: at, holdsUntil: at + holding)
        return true
    }

    private mutating func judge(_ entries: [CriticalEntry], _ critical: Set<Parameter>, _ upload: Upload) -> [SupervisionAction] {
        let seen = entries.reduce(into: critical) { $0.formUnion($1.parameters) }
        let known = state.episode?.parameters ?? []
        let worse = entries.first { !$0.parameters.isSubset(of: known) }
        switch state.stage {
        case .monitoring, .suspended:
            if let worse { return opened(by: worse.trigger, seen, critical, upload) }
            if critical.isEmpty { state.episode = nil }
            return []
        case .alerted:
            state.episode?.parameters.formUnion(seen)
            return critical.isEmpty ? [ended(.transient)] : []
        case .confirmed, .dispatching, .dispatched:
            follow(critical, seen)
            if isNormalAgain { return [ended(.closed)] }
            let added = seen.subtracting(known)
            guard hasDispatched, !added.isEmpty else { return [] }
            return [action(.updated(added.sorted { $0.description < $1.description }))]
        case .stoodDown:
            if let worse {
                let closed = ended(.closed)
                return [closed] + opened(by: worse.trigger, seen, critical, upload)
            }
            return critical.isEmpty ? [ended(.closed)] : []
        case .off, .paused:
            return []
        }
    }

    private mutating func opened(
        by trigger: Trigger, _ seen: Set<Parameter>, _ critical: Set<Parameter>, _ upload: Upload
    ) -> [SupervisionAction] {
        state.stage = .alerted
        state.episode = Episode(trigger: trigger, t0: state.now, receivedAt: upload.receivedAt, parameters: seen)
        let opened = action(.opened)
        return critical.isEmpty ? [opened, ended(.transient)] : [opened]
    }

    /// Keeps account of how long values have been normal, once the call is due.
    private mutating func follow(_ critical: Set<Parameter>, _ seen: Set<Parameter>) {
        state.episode?.parameters.formUnion(seen)
        if !seen.isEmpty { state.episode?.normalSince = nil }
        if critical.isEmpty, state.episode?.normalSince == nil { state.episode?.normalSince = state.now }
    }

    /// Whether an acknowledged emergency may be closed.
    private var isNormalAgain: Bool {
        guard state.stage == .dispatched, let since = state.episode?.normalSince else { return false }
        return state.now - since >= rules.normalBeforeClosing
    }
}

// MARK: What the person and the emergency service say

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
        case .off, .monitoring, .suspended, .paused, .stoodDown:
            return []
        }
    }

    private mutating func helpAsked() -> [SupervisionAction] {
        guard state.episode != nil, state.stage != .dispatching, state.stage != .dispatched else { return [] }
        // Values were not followed while nobody was called; only fresh ones may close it again.
        if state.stage != .alerted, state.stage != .confirmed { state.episode?.normalSince = nil }
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

// MARK: Subscription

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
        let watched = thresholds.watched
        state.latest = state.latest.filter { watched.contains($0.key) }
        state.subscribed = true
        return due + timePassed(to: state.now)
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
            (state.latest, state.episode, state.silenceDue) = ([:], nil, nil)
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
        if !isPaused, state.stage != .off, state.stage != .paused {
            state.silenceDue = state.now + rules.silenceLimit(declaredInterval: declaredInterval)
        }
        return due
    }

    /// The dispatcher was not listening for a while: silence counts from `time` on, since it was its own.
    mutating func listeningAgain(at time: Timestamp) {
        guard let due = state.silenceDue else { return }
        state.silenceDue = max(due, time + rules.signalLost)
    }

    private mutating func beginMonitoring(_ declaredInterval: Duration?) {
        state.stage = .monitoring
        (state.latest, state.episode) = ([:], nil)
        state.silenceDue = state.now + rules.silenceLimit(declaredInterval: declaredInterval)
    }
}

// MARK: Ends

extension Supervision {
    private mutating func ended(_ kind: SupervisionAction.Kind) -> SupervisionAction {
        let action = action(kind)
        leaveEmergency()
        return action
    }

    private mutating func leaveEmergency() {
        state.episode = nil
        state.stage = state.subscribed ? .monitoring : .off
        if !state.subscribed { (state.latest, state.silenceDue) = ([:], nil) }
    }

    private func action(_ kind: SupervisionAction.Kind) -> SupervisionAction {
        action(kind, of: state.episode)
    }

    private func action(_ kind: SupervisionAction.Kind, of episode: Episode?) -> SupervisionAction {
        SupervisionAction(kind: kind, at: state.now, episode: episode)
    }
}
