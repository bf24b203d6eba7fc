// What one dispatcher's supervision takes over from the other's.

import Contracts

extension Supervision {
    /// An emergency that the other opened longer ago is over, or this side has found it by itself.
    static let adoptable = Duration.seconds(2)

    /// The other dispatcher has opened an emergency by this entry. Whoever began to listen later may have missed it, or may have
    /// begun with a later entry: both then go by the earlier one, so that they call under one name (SOS-24).
    mutating func otherOpened(_ theirs: Episode, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard state.subscribed, time - theirs.t0 <= Supervision.adoptable, state.episode?.trigger != theirs.trigger else { return due }
        switch state.stage {
        case .monitoring, .suspended:
            return hasAnswered(theirs) ? due : due + adopted(theirs)
        case .alerted, .confirmed, .askedAgain:
            guard let own = state.episode, state.stage == .askedAgain || theirs.isEarlier(than: own) else { return due }
            let ended = SupervisionAction(kind: .transient, at: state.now, episode: own)
            return due + [ended] + adopted(theirs)
        case .off, .paused, .dispatching, .dispatched, .stoodDown:
            return due
        }
    }

    /// Whether the person has said "I am fine" here to what the other comes to only now, as it does after a restart: that is no news.
    private func hasAnswered(_ theirs: Episode) -> Bool {
        !theirs.open.isEmpty
            && theirs.open.keys.allSatisfy { breach in
                guard let mute = state.mutes?[breach], mute.isLapsed != true else { return false }
                return theirs.t0 <= mute.until - rules.muteLength(of: breach, mute.course)
            }
    }

    /// The person has called for help at the other dispatcher in an emergency that "I am fine" had ended here a moment before: it goes on,
    /// under its own name and with the bytes that the other side sends. Where something else runs by now nothing is done: that is called for.
    /// - Parameter wasAsked: whether it was a fall or a doubt beside, which the call there has made an emergency.
    mutating func helped(afterFine ended: Episode, wasAsked: Bool = false, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard state.takesHelp(afterAsking: wasAsked) else { return due }
        for breach in ended.open.keys { state.mutes?[breach] = nil }
        if state.mutes?.isEmpty == true { state.mutes = nil }
        state.help = Help(at: wall(time), countedAt: state.now)
        let doubt = state.doubt
        (state.fall, state.doubt, state.late, state.impact) = (nil, nil, nil, nil)
        if wasAsked { return due + call(for: ended, since: min(time, state.now), isKept: true, .asked) }
        state.episode = ended
        if let doubt { takeIn(doubt) }
        state.episode?.keep()
        return due + [call(.asked)]
    }

    /// The person has called for help at the other dispatcher, which knew of no emergency. This side may hear of it long after, and have been
    /// given the same press itself, because the other did not reply: what was answered here since then stands.
    mutating func helpedElsewhere(at time: Timestamp, wall: Timestamp) -> [SupervisionAction] {
        // What runs is this very press.
        if let running = state.episode?.trigger, running.kind == .manual, running.at == wall { return timePassed(to: time) }
        if let help = state.help, !isReported(help), wall <= help.at || help.countedAt != nil,
            max(wall, help.at) - min(wall, help.at) <= SupervisionRules.sameHelp
        {
            return timePassed(to: time)
        }
        return answered(.help, at: time, wall: wall).actions
    }

    /// Whether it was a device's: then its time is by another clock than that of a press.
    private func isReported(_ help: Help) -> Bool {
        state.reports?[.help]?.known.contains { $0.at == help.at } == true
    }

    private mutating func adopted(_ theirs: Episode) -> [SupervisionAction] {
        var adopted = state
        adopted.stage = .alerted
        adopted.episode = theirs
        for breach in theirs.open.keys {
            if let muted = adopted.mutes?.removeValue(forKey: breach) { adopted.episode?.open[breach] = muted.course }
        }
        // What it was opened by is known: after an answer the same entry, heard again, is neither worse nor new.
        let passed = theirs.trigger.passed
        for breach in theirs.open.keys { adopted.episode?.open[breach]?.adoptedUpTo = theirs.receivedAt }
        for breach in theirs.open.keys where breach.side == passed.side && breach.metrics.contains(passed.metric) {
            adopted.episode?.open[breach]?.note(passed.value, of: breach, isSevere: thresholds.isSevere(passed.value, for: breach))
        }
        self = Supervision(rules: rules, state: adopted)
        return [action(.opened)]
    }
}

extension Episode {
    /// The same order on both sides, whoever asks.
    fileprivate func isEarlier(than other: Episode) -> Bool {
        let (one, two) = (trigger.passed.metric.code, other.trigger.passed.metric.code)
        return (receivedAt, trigger.at, one) < (other.receivedAt, other.trigger.at, two)
    }

    fileprivate mutating func shift(by offset: Duration) {
        t0 = t0 + offset
        normalSince = normalSince.map { $0 + offset }
        settledAt = settledAt.map { $0 + offset }
        dueAt = dueAt.map { $0 + offset }
        askedBackAt = askedBackAt.map { $0 + offset }
    }
}

extension Supervision.State {
    /// Whether nothing runs that would be called for instead. A pause ends no emergency, but waits for its end; a fall is asked about in it.
    func takesHelp(afterAsking wasAsked: Bool) -> Bool {
        subscribed && (stage == .monitoring || stage == .suspended || wasAsked && stage == .paused)
    }

    /// The same state on another machine's time line.
    func shifted(by offset: Duration) -> Supervision.State {
        guard now.milliseconds != .min else { return self }
        var shifted = self
        shifted.now = now + offset
        shifted.joiningDue = joiningDue.map { $0 + offset }
        shifted.contactsDue = contactsDue.map { $0 + offset }
        shifted.wallOffset = wallOffset.map { $0 - offset.wholeMilliseconds }
        shifted.sources = sources.mapValues { $0.shifted(by: offset) }
        shifted.silences = silences?.mapValues { Supervision.Silence(since: $0.since + offset, isSaid: $0.isSaid) }
        shifted.sounded = sounded?.mapValues { $0 + offset }
        shifted.seizure?.until = (seizure?.until ?? now) + offset
        shifted.lastHeard?.heardAt = (lastHeard?.heardAt ?? now) + offset
        shifted.impact?.measured = (impact?.measured ?? now) + offset
        shifted.help?.countedAt = help?.countedAt.map { $0 + offset }
        shifted.reports = reports?.mapValues { Supervision.Reports(measured: $0.measured + offset, known: $0.known) }
        shifted.mutes = mutes?.mapValues { Supervision.Mute(course: $0.course, until: $0.until + offset, isLapsed: $0.isLapsed) }
        for question in [\Supervision.State.episode, \.doubt, \.fall, \.late] { shifted[keyPath: question]?.shift(by: offset) }
        return shifted
    }
}

extension Supervision.Source {
    fileprivate func shifted(by offset: Duration) -> Self {
        var shifted = self
        for metric in latest.keys {
            shifted.latest[metric]?.measured = (latest[metric]?.measured ?? Timestamp(milliseconds: 0)) + offset
            shifted.latest[metric]?.received = (latest[metric]?.received ?? Timestamp(milliseconds: 0)) + offset
        }
        for (metric, signal) in signals { shifted.signals[metric]?.last = signal.last + offset }
        shifted.runs = runs?.mapValues { run in
            Run(
                since: run.since.map { $0 + offset }, calmSince: run.calmSince.map { $0 + offset }, length: run.length,
                openings: run.openings.map { $0 + offset })
        }
        for (metric, run) in unchanged ?? [:] { shifted.unchanged?[metric]?.since = run.since + offset }
        return shifted
    }
}
