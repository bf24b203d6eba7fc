// What the person and the emergency service say to one supervision.

import Contracts

extension Supervision {
    /// What came of something that may be refused; the actions stand either way, they were due by then.
    struct Outcome: Sendable {
        var actions: [SupervisionAction]
        var refusal: Failure?
        /// Whether the call had gone out before it (SOS-21).
        var alreadyDispatched: Bool
        /// The emergency, or the question, that it was about.
        var episode: Episode?
        /// "Help is here" before anybody has taken the call: it counts when it is said again (SOS-35).
        var asksBack = false
        /// "Help is here", said again: it ends the calling.
        var isConfirmed = false
    }

    /// The answer to the prompt, the report of a false alarm, or a call for help (SOS-14, SOS-21, SOS-35).
    /// - Parameters:
    ///   - wall: the same instant by a wall clock: a call for help is named after it.
    ///   - isConfirmed: whether "help is here" was asked back already, and said again, at the other dispatcher.
    mutating func answered(
        _ answer: AnswerPrompt.Answer, at time: Timestamp, wall: Timestamp? = nil, isConfirmed: Bool = false
    ) -> Outcome {
        let due = timePassed(to: time)
        var outcome = Outcome(
            actions: due, refusal: nil, alreadyDispatched: hasDispatched, episode: state.episode ?? state.beside.first)
        switch answer {
        case .fine, .falseAlarm:
            // What is asked beside a call that is called off already is what it answers.
            if state.stage == .stoodDown { outcome.episode = state.beside.first ?? state.episode }
            outcome.actions += calledOff(answer)
        case .help:
            guard state.subscribed || state.stage != .off else {
                outcome.refusal = Failure(.notFound, "this person is not subscribed")
                break
            }
            if let wall { state.wallOffset = (wall - state.now).wholeMilliseconds }
            // When it was said: the other dispatcher, which hears of it later, knows the same.
            outcome.actions += helped(at: wall ?? self.wall(time), measured: min(time, state.now), nil)
            // A call of its own, not the question that was asked by then: the other dispatcher names it alike.
            outcome.episode = state.episode?.trigger.kind == .manual ? state.episode : outcome.episode ?? state.episode
        case .helpIsHere:
            let isCalled = state.stage == .dispatching
            outcome.actions += helpArrived(isConfirmed: isConfirmed)
            outcome.asksBack = state.stage == .dispatching
            outcome.isConfirmed = isCalled && !outcome.asksBack
        }
        outcome.actions += timePassed(to: state.now)
        return outcome
    }

    /// Whether the answer would still change something about what is asked or called for by this trigger. Where it would not, it has been
    /// given; where it would although it was given, somebody has called for help since, at either dispatcher or with a device.
    func awaits(_ answer: AnswerPrompt.Answer, about trigger: Trigger) -> Bool {
        if answer == .help { return true }
        if state.beside.contains(where: { $0.trigger == trigger }) { return answer != .helpIsHere }
        guard let episode = state.episode, episode.trigger == trigger else { return false }
        return switch state.stage {
        case .alerted, .confirmed, .askedAgain: answer != .helpIsHere
        case .dispatching: true
        case .dispatched: answer != .helpIsHere || episode.helpIsHere != true
        case .off, .monitoring, .suspended, .paused, .stoodDown: false
        }
    }

    private mutating func calledOff(_ answer: AnswerPrompt.Answer) -> [SupervisionAction] {
        state.help?.countedAt = nil
        let ended = endBeside()
        if let trigger = state.episode?.trigger, state.stage != .stoodDown {
            state.answered = ((state.answered ?? []).filter { $0 != trigger } + [trigger]).suffix(State.mostAnswered)
        }
        switch state.stage {
        case .alerted, .confirmed, .askedAgain:
            let muted = action(.muted)
            let open = state.episode?.open ?? [:]
            leaveEmergency()
            if state.subscribed { mute(open) }
            return ended + [muted]
        case .dispatching, .dispatched:
            state.stage = .stoodDown
            let cancelled = action(.cancelled(answer))
            guard state.subscribed else { return ended + [cancelled, self.ended(.closed)] }
            mute(state.episode?.open ?? [:])
            for breach in state.episode?.open.keys.map(\.self) ?? [] { state.episode?.open[breach] = state.mutes?[breach]?.course }
            // Nothing that is measured would ever end it, or nothing is measured any more.
            let isOver = isSilent || state.episode?.isHeldOpen == true && critical(thresholds).isEmpty
            return ended + (isOver ? [cancelled, self.ended(.closed)] : [cancelled])
        case .monitoring, .suspended: return ended + shakingCalledOff()
        case .off, .paused, .stoodDown: return ended
        }
    }

    /// What was asked beside an emergency is answered.
    private mutating func endBeside() -> [SupervisionAction] {
        var actions: [SupervisionAction] = []
        if let fall = state.fall { actions.append(action(.fallEnded, about: fall)) }
        if let doubt = state.doubt {
            actions.append(action(.doubtEnded, about: doubt))
            mute(doubt.open)
        }
        (state.fall, state.doubt, state.late, state.impact) = (nil, nil, nil, nil)
        return actions
    }

    // MARK: Help

    /// A call for help that a device reports.
    mutating func helpReported(_ entry: Sample, in upload: Upload) -> [SupervisionAction] {
        guard upload.age(of: entry) <= SupervisionRules.oldestEvent else { return [action(.helpTooLate, of: nil, since: entry.at)] }
        let report = upload.report(entry, at: state.now)
        if state.help?.countedAt == nil, isPerhapsRepeated(report, of: .help) {
            // A late copy of what was called off since, or another press by a clock that is behind: that cannot be told, and is not silent.
            noteCounted(.help, measured: report.measured, report)
            return [action(.helpTooLate, of: nil, since: entry.at)]
        }
        return helped(at: entry.at, measured: report.measured, report)
    }

    /// - Parameters:
    ///   - time: its own time.
    ///   - measured: the same on the machine's time line.
    ///   - report: nil for an answer: whoever answers is there now, whatever the clocks of devices say.
    private mutating func helped(at time: Timestamp, measured: Timestamp, _ report: Report?) -> [SupervisionAction] {
        guard !(report.map { isRepeated($0, of: .help) } ?? (state.help?.at == time)) else { return [] }
        if let last = state.help?.countedAt, state.now - last <= SupervisionRules.sameHelp {
            // One call with the last; whoever presses it still does not say that help is here.
            state.episode?.askedBackAt = nil
            return []
        }
        state.help = Help(at: time, countedAt: state.now)
        noteCounted(.help, measured: measured, report)
        let (fall, doubt) = (state.fall, state.doubt)
        (state.fall, state.doubt, state.late, state.impact) = (nil, nil, nil, nil)
        switch state.stage {
        case .off: return []
        case .monitoring, .suspended, .paused:
            let manual = Episode(trigger: Trigger(.help, at: time, kind: .manual), t0: state.now, receivedAt: wall(state.now))
            return call(for: fall ?? doubt ?? manual, isKept: true, .asked)
        case .stoodDown:
            for breach in state.episode?.open.keys.map(\.self) ?? [] { state.mutes?[breach] = nil }
            if let doubt { takeIn(doubt) }
        case .alerted, .confirmed, .askedAgain, .dispatching, .dispatched:
            if let doubt { takeIn(doubt) }
        }
        state.episode?.keep()
        return [call(.asked)]
    }

    private mutating func helpArrived(isConfirmed: Bool) -> [SupervisionAction] {
        if state.stage == .dispatched { state.episode?.helpIsHere = true }
        guard state.stage == .dispatching else { return [] }
        let isAskedBack = state.episode?.askedBackAt.map { state.now - $0 <= SupervisionRules.askedBackFor } ?? false
        guard isConfirmed || isAskedBack else {
            state.episode?.askedBackAt = state.now
            return []
        }
        state.episode?.helpIsHere = true
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
