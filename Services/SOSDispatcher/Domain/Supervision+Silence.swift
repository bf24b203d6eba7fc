// When nothing is heard of a parameter, or of a person: whom that concerns, and when (SOS-25, SOS-27, SOS-34, CON-32).

import Contracts

extension Supervision {
    // MARK: Signals

    /// Nothing stops a call on its way, and where help was sent the person need not be warned.
    var listensForSilence: Bool {
        switch state.stage {
        case .monitoring, .suspended: state.monitoringPaused != true
        case .stoodDown: state.monitoringPaused != true
        case .off, .paused, .alerted, .confirmed, .askedAgain, .dispatching, .dispatched: false
        }
    }

    /// Until when each signal that is not measured on demand is heard: another source of a metric keeps it heard, no other metric does.
    var deadlines: [Parameter: Timestamp] {
        var latest: [Metric: Timestamp] = [:]
        for source in state.sources.values {
            for (metric, signal) in source.signals {
                guard let deadline = signal.deadline(of: metric, rules) else { continue }
                latest[metric] = max(latest[metric] ?? deadline, deadline)
            }
        }
        var deadlines: [Parameter: Timestamp] = [:]
        for (metric, deadline) in latest { deadlines[metric.signal] = min(deadlines[metric.signal] ?? deadline, deadline) }
        return deadlines
    }

    var nextSilence: (signal: Parameter, due: Timestamp)? {
        deadlines.filter { state.silences?[$0.key] == nil }
            .min { ($0.value, $0.key) < ($1.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// Whether nothing is heard by which an emergency could be seen.
    var isSilent: Bool {
        if state.joiningLost == true { return true }
        let deadlines = deadlines
        guard deadlines.keys.allSatisfy({ state.silences?[$0] != nil }) else { return false }
        return !deadlines.isEmpty || state.charging == true
    }

    /// Signs of life: whatever had fallen silent returns.
    mutating func heard(_ counting: [Sample], in upload: Upload, _ thresholds: Thresholds) -> [SupervisionAction] {
        // Who types in a value does not show that the watch is heard, and would hide that it is not.
        guard !upload.isTyped else { return [] }
        let declared = upload.declaredInterval?.wholeMilliseconds ?? 0
        let known = Set(state.sources.values.flatMap(\.signals.keys))
        var source = state.sources[upload.source] ?? Source()
        let watched = Set(counting.map(\.type)).filter(thresholds.watches)
        for metric in watched {
            source.signals[metric]?.heard(at: state.now, declared: declared, rules)
            if source.signals[metric] == nil { source.signals[metric] = SourceSignal(at: state.now, declared: declared) }
        }
        source.together = Set(counting.map(\.type).filter(\.definition.vital))
        source.tornSeen = nil
        state.sources[upload.source] = source
        guard !watched.isEmpty else { return [] }
        noteLastHeard(counting.filter { watched.contains($0.type) }, in: upload)
        var actions: [SupervisionAction] = []
        let wasJoining = state.joiningDue != nil || state.joiningLost == true
        if state.joiningLost == true { actions.append(action(.signalReturned(nil), of: nil, since: state.lastHeard?.at)) }
        (state.joiningDue, state.joiningLost) = (nil, nil)
        let deadlines = deadlines
        for (signal, silence) in (state.silences ?? [:]).sorted(by: { $0.key < $1.key }) {
            // What was just heard and has no deadline is measured on demand from now on.
            guard deadlines[signal].map({ $0 > state.now }) ?? true else { continue }
            state.silences?[signal] = nil
            if silence.isSaid { actions.append(action(.signalReturned(signal), of: nil, since: state.lastHeard?.at)) }
        }
        if state.silences?.isEmpty == true { state.silences = nil }
        let isNew = wasJoining || !watched.isSubset(of: known)
        if state.stage == .suspended, isNew || !isSilent { state.stage = .monitoring }
        if !concernsHeart { (state.contactsDue, state.contactsTold) = (nil, nil) }
        return actions
    }

    private mutating func noteLastHeard(_ entries: [Sample], in upload: Upload) {
        for entry in entries {
            let at = min(entry.at, upload.ageEnd)
            if let last = state.lastHeard, state.now - upload.age(of: entry) < last.measured { continue }
            state.lastHeard = LastHeard(
                metric: entry.type, value: entry.value ?? 0, at: at, heardAt: state.now, receivedAt: upload.receivedAt,
                sentAt: upload.sentAt.map { _ in upload.ageEnd })
        }
    }

    // MARK: Silence

    mutating func nothingHeard() -> [SupervisionAction] {
        (state.joiningDue, state.joiningLost) = (nil, true)
        return warned(of: nil)
    }

    mutating func fellSilent(_ signal: Parameter) -> [SupervisionAction] {
        var silences = state.silences ?? [:]
        silences[signal] = Silence(since: state.now, isSaid: state.charging != true)
        state.silences = silences
        return warned(of: signal)
    }

    private mutating func warned(of signal: Parameter?) -> [SupervisionAction] {
        let isCharging = state.charging == true
        var actions: [SupervisionAction] = []
        if !isCharging {
            let key = signal ?? .silence
            var lost = action(.signalLost(signal), of: nil, since: state.lastHeard?.at)
            lost.sounds = state.sounded?[key].map { state.now - $0 >= SupervisionRules.soundEvery } ?? true
            if lost.sounds { state.sounded = (state.sounded ?? [:]).merging([key: state.now]) { $1 } }
            actions.append(lost)
            let isTold = state.contactsTold == true || state.contactsDue != nil
            if !isTold, signal == .metric(.heartRate) || isSilent { state.contactsDue = state.now + rules.silenceContacts }
        }
        guard isSilent else { return actions }
        if state.stage == .stoodDown {
            actions.append(ended(.closed))
        } else {
            state.stage = .suspended
        }
        return isCharging ? actions + [action(.charging, of: nil)] : actions
    }

    // MARK: Contacts

    /// Whether a silence concerns the heart, or everything.
    private var concernsHeart: Bool { state.silences?[.metric(.heartRate)] != nil || isSilent }

    var contactsFallDue: Timestamp? {
        guard state.monitoringPaused != true, state.charging != true else { return nil }
        return state.stage == .monitoring || state.stage == .suspended ? state.contactsDue : nil
    }

    /// Once for each silence. An ambulance is only called where something was ever heard: the emergency refers to that entry.
    mutating func contactsMustKnow() -> [SupervisionAction] {
        state.contactsTold = true
        let told = action(.silenceContacts, of: nil, since: state.lastHeard?.at)
        guard rules.silenceCallsAmbulance, isSilent, let last = state.lastHeard else { return [told] }
        let passed = PassedBound(metric: last.metric, side: .below, limit: last.value, value: last.value)
        state.stage = .alerted
        state.episode = Episode(
            trigger: Trigger(passed, at: last.at, kind: .silence), t0: state.now,
            receivedAt: last.receivedAt + (state.now - last.heardAt), open: [Breach(.silence, .below): BreachCourse(isSevere: true)])
        return [told, action(.opened)]
    }

    /// Ingest itself is not heard, so that nobody can be: contacts hear of silences of the person's own alone.
    mutating func putOffContacts(at time: Timestamp) {
        guard let due = state.contactsDue, due <= time else { return }
        state.contactsDue = time + rules.silenceContacts
    }

    // MARK: An emergency that nothing is heard of

    /// With the device off, or a call for help that nobody takes back, values in range would never come.
    func closingDue(_ episode: Episode) -> Timestamp? {
        guard let settled = episode.settledAt else { return nil }
        let heard = ([settled, state.joiningDue].compactMap(\.self) + deadlines.values).max() ?? settled
        let due = heard + SupervisionRules.silenceBeforeClosing
        return episode.isHeldOpen ? min(due, settled + SupervisionRules.keptFor) : due
    }

    mutating func closedByTime() -> [SupervisionAction] {
        // Where help was sent the contacts know already.
        (state.contactsDue, state.contactsTold) = (nil, true)
        return [ended(.closed)]
    }

    // MARK: Circumstances

    /// Everything that measures the person was put on charge, or something was taken off it. An emergency goes on (CON-32).
    mutating func charging(_ isCharging: Bool, declaredInterval: Duration?, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard isCharging != (state.charging ?? false) else { return due }
        state.charging = isCharging ? true : nil
        guard state.stage != .off, state.stage != .paused else { return due }
        (state.contactsDue, state.contactsTold) = (nil, nil)
        guard isCharging else {
            // Off its charger it must be heard again.
            joinSignals(declaredInterval)
            return due + timePassed(to: state.now)
        }
        guard !emergencyRuns, state.monitoringPaused != true else { return due }
        (state.joiningDue, state.joiningLost) = (nil, nil)
        state.silences = deadlines.mapValues { _ in Silence(since: state.now, isSaid: false) }
        state.stage = .suspended
        return due + [action(.charging, of: nil)]
    }

    /// Everything's recording was paused or resumed (ACC-28): meanwhile silence is the person's own. An emergency goes on.
    mutating func monitoring(isPaused: Bool, declaredInterval: Duration?, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard isPaused != (state.monitoringPaused ?? false) else { return due }
        state.monitoringPaused = isPaused ? true : nil
        // Whoever pauses or resumes is there.
        (state.contactsDue, state.contactsTold) = (nil, nil)
        if !isPaused, state.stage != .off, state.stage != .paused { joinSignals(declaredInterval) }
        return due
    }

    /// The dispatcher was not listening for a while: silence counts from `time` on, since it was its own.
    mutating func listeningAgain(at time: Timestamp) {
        let earliest = time + rules.signalLost
        for (name, source) in state.sources {
            for (metric, signal) in source.signals {
                guard let deadline = signal.deadline(of: metric, rules), deadline < earliest, state.silences?[metric.signal] == nil else {
                    continue
                }
                state.sources[name]?.signals[metric]?.last = signal.last + (earliest - deadline)
            }
        }
        if let due = state.joiningDue { state.joiningDue = max(due, earliest) }
        if let due = state.contactsDue { state.contactsDue = max(due, earliest) }
    }

    /// As if no signal had ever been heard: one must be by then.
    mutating func joinSignals(_ declaredInterval: Duration?) {
        for name in state.sources.keys { state.sources[name]?.signals = [:] }
        (state.silences, state.joiningLost) = (nil, nil)
        (state.contactsDue, state.contactsTold) = (nil, nil)
        state.joiningDue = state.now + rules.silenceLimit(interval: declaredInterval)
        state.joins = (state.joins ?? 0) + 1
        if state.stage == .suspended { state.stage = .monitoring }
    }

    /// What the person's devices declare has become known after supervision had begun without it: the first signal may take so long.
    mutating func declared(_ interval: Duration, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        if let joining = state.joiningDue { state.joiningDue = max(joining, state.now + rules.silenceLimit(interval: interval)) }
        return due
    }

    /// As if nothing had ever been measured, asked or answered; but a fall that is asked about ends by an answer alone (SOS-36).
    mutating func forgetEverything() {
        state.sources = [:]
        (state.joiningDue, state.joiningLost, state.silences, state.contactsDue, state.contactsTold) = (nil, nil, nil, nil, nil)
        (state.mutes, state.doubt, state.late, state.impact) = (nil, nil, nil, nil)
        (state.lastHeard, state.seizure) = (nil, nil)
    }
}
