// Table SOS-S as a value: what happens to one subscriber goes in with its time, what is to be done comes out.
// `docs/sos-rules.md` §3 says the same in words; a change here is a change there.

import Contracts

/// The supervision of one subscriber. Pure: all times are arguments, on one time line that never runs backwards (an earlier time
/// counts as the latest one seen). Every method first lets the timers fire that are due by then.
struct Supervision: Sendable {
    let rules: SupervisionRules
    /// Changed by the machine's own methods alone.
    var state: State

    init(rules: SupervisionRules, state: State = State()) {
        (self.rules, self.state) = (rules, state)
    }

    var thresholds: Thresholds { state.thresholds(by: rules) }

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
        case contacts
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
        if let due = contactsFallDue { timers.append((.contacts, due)) }
        let next = timers.min { ($0.due, $0.timer.rawValue) < ($1.due, $1.timer.rawValue) }
        return next.map { ($0.timer, max($0.due, state.now)) }
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
        case .contacts:
            state.contactsDue = nil
            return contactsMustKnow()
        }
    }
}

// MARK: Entries

extension Supervision {
    struct CriticalEntry {
        var trigger: Trigger
        var parameters: Set<Parameter>
    }

    /// Compares every entry that counts, in order, and judges the upload as one instant (SOS-09, SOS-11, SOS-12, SOS-14).
    mutating func uploaded(_ upload: Upload) -> [SupervisionAction] {
        var actions = timePassed(to: upload.at)
        guard state.subscribed, state.stage != .paused else { return actions }
        let thresholds = thresholds
        let counting = withoutFrozen(
            upload.entries.filter { counts($0, in: upload, thresholds) }, in: upload, thresholds)
        let shaking = upload.entries.filter { isSeizure($0, in: upload) }
        guard !counting.isEmpty || !shaking.isEmpty else { return actions }
        if shaking.isEmpty, isTorn(counting, in: upload, thresholds) { return actions + passedOverAsTorn() }
        if !counting.isEmpty { actions += heard(upload, counting) }
        state.latest = state.latest.filter { upload.receivedAt <= $0.value.holdsUntil }
        var criticalEntries = measurements(counting).flatMap { take($0, in: upload, thresholds) }
        for entry in shaking { actions += shaken(entry) }
        if rules.seizureCallsAmbulance {
            criticalEntries += shaking.map { CriticalEntry(shaking: $0) }
        } else if counting.isEmpty {
            return actions
        }
        actions += judge(criticalEntries, thresholds.critical(by: state.latest).union(seizureParameters), upload)
        return actions + timePassed(to: state.now)
    }

    private func counts(_ entry: Sample, in upload: Upload, _ thresholds: Thresholds) -> Bool {
        guard let value = entry.value, isFresh(entry, in: upload), entry.type.definition.shape == .scalar else { return false }
        return (entry.type.definition.vital || thresholds.watches(entry.type)) && Plausibility.isPossible(value, of: entry.type)
    }

    func isFresh(_ entry: Sample, in upload: Upload) -> Bool {
        upload.receivedAt - entry.at <= rules.maximumAge
    }

    /// What a stuck source sends is no reading, unless it is critical: an alarm is never taken back for being improbable.
    private mutating func withoutFrozen(_ entries: [Sample], in upload: Upload, _ thresholds: Thresholds) -> [Sample] {
        entries.filter { entry in
            guard let value = entry.value, Plausibility.showsStillness(value, of: entry.type) else {
                if state.unchanged != nil { noteRun(nil, of: entry.type) }
                return true
            }
            let at = min(entry.at, upload.receivedAt)
            var run = state.unchanged?[entry.type] ?? UnchangedRun(value: value, since: at, count: 0)
            if run.value != value { run = UnchangedRun(value: value, since: at, count: 0) }
            run.count += 1
            noteRun(run, of: entry.type)
            return !run.isFrozen(at: at) || thresholds.breach(of: entry.type, value: value) != nil
        }
    }

    private mutating func noteRun(_ run: UnchangedRun?, of metric: Metric) {
        var runs = state.unchanged ?? [:]
        runs[metric] = run
        state.unchanged = runs.isEmpty ? nil : runs
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
        guard let value = entry.value, thresholds.watches(entry.type) else { return false }
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

// MARK: Ends

extension Supervision {
    mutating func ended(_ kind: SupervisionAction.Kind) -> SupervisionAction {
        let action = action(kind)
        leaveEmergency()
        return action
    }

    mutating func leaveEmergency() {
        state.episode = nil
        state.stage = state.subscribed ? .monitoring : .off
        if !state.subscribed { forgetSignal() }
    }

    func action(_ kind: SupervisionAction.Kind) -> SupervisionAction {
        action(kind, of: state.episode)
    }

    /// - Parameter since: see `SupervisionAction`; only of what belongs to no emergency.
    func action(_ kind: SupervisionAction.Kind, of episode: Episode?, since: Timestamp? = nil) -> SupervisionAction {
        SupervisionAction(kind: kind, at: state.now, episode: episode, since: since)
    }
}
