// Readings that alone call nobody at once: the torn average of a sensor that came off (SOS-38), and one that came late (SOS-37).

import Contracts

extension Supervision {
    /// The one rate that is all that counts in the upload, where the sensors' coming off in its time explains it. Only the first after
    /// a complete measurement, never after a silence, and nothing that is open or muted already.
    func torn(_ counting: [Sample], in upload: Upload, _ thresholds: Thresholds) -> Trigger? {
        guard counting.count == 1, let entry = counting.first, let value = entry.value, TornAverage.rates.contains(entry.type),
            let passed = thresholds.passed(entry.type, value), passed.side == .below,
            let source = state.sources[upload.source], source.tornSeen != true,
            let interval = source.signals[entry.type]?.interval, .milliseconds(interval) >= TornAverage.interval,
            let together = source.together, together.contains(entry.type), together.count >= TornAverage.together,
            state.silences?[entry.type.signal] == nil
        else { return nil }
        let breach = Breach(.metric(entry.type), .below)
        // It is armed already: nothing open is worse then.
        if state.stage == .alerted || state.stage == .confirmed, state.episode?.open[breach] != nil { return nil }
        if let known = state.episode?.open[breach] ?? state.mutes?[breach]?.course {
            guard known.isWorse(value, of: breach, isSevere: thresholds.isSevere(value, for: breach)) else { return nil }
        }
        return Trigger(passed, at: entry.at)
    }

    /// It is no sign of life and ends nothing; unless somebody says otherwise it is called for.
    mutating func doubted(_ trigger: Trigger, in upload: Upload) -> [SupervisionAction] {
        state.sources[upload.source]?.tornSeen = true
        guard state.doubt == nil else { return [] }
        let breach = Breach(.metric(trigger.passed.metric), .below)
        var course = state.mutes?[breach]?.course ?? BreachCourse()
        course.note(trigger.passed.value, of: breach, isSevere: thresholds.isSevere(trigger.passed.value, for: breach))
        let doubt = Episode(
            trigger: trigger, t0: state.now, receivedAt: wall(state.now), open: [breach: course], dueAt: state.now + rules.doubt)
        state.doubt = doubt
        return [action(.doubted, about: doubt)]
    }

    /// Entries of these metrics count: what was in doubt about them is over, one way or the other.
    mutating func endQuestions(about metrics: Set<Metric>, _ findings: Findings) -> [SupervisionAction] {
        if let late = state.late, metrics.contains(late.trigger.passed.metric) { state.late = nil }
        guard let doubt = state.doubt, metrics.contains(doubt.trigger.passed.metric) else { return [] }
        state.doubt = nil
        let isCritical = findings.entries.contains { $0.trigger.passed.metric == doubt.trigger.passed.metric }
        return isCritical ? [] : [action(.doubtEnded, about: doubt)]
    }

    /// Nothing came in time that says otherwise.
    mutating func doubtStands() -> [SupervisionAction] {
        guard let doubt = state.doubt else { return [] }
        state.doubt = nil
        switch state.stage {
        case .monitoring, .suspended, .paused, .stoodDown: return call(for: doubt, isKept: false, .unanswered)
        case .alerted, .confirmed, .askedAgain:
            takeIn(doubt)
            return [call(.unanswered)]
        case .dispatching, .dispatched:
            guard let breach = doubt.open.keys.first, let course = doubt.open[breach] else { return [] }
            let value = doubt.trigger.passed.value
            if let known = state.episode?.open[breach],
                !known.isWorse(value, of: breach, isSevere: thresholds.isSevere(value, for: breach))
            {
                return []
            }
            state.episode?.open[breach] = course
            state.episode?.normalSince = nil
            return [toldWorse([breach], by: doubt.trigger)]
        case .off: return []
        }
    }

    /// What was in doubt is part of the emergency.
    mutating func takeIn(_ doubt: Episode) {
        for (breach, course) in doubt.open where state.episode?.open[breach] == nil {
            state.episode?.open[breach] = course
            state.mutes?[breach] = nil
        }
    }

    /// The newest reading of a metric came too late to call for, and not too late to be asked about.
    mutating func noteLate(_ upload: Upload) -> SupervisionAction? {
        guard state.stage == .monitoring || state.stage == .suspended, state.late == nil else { return nil }
        let thresholds = thresholds
        for entry in upload.entries {
            guard let value = entry.value, thresholds.watches(entry.type), Plausibility.isPossible(value, of: entry.type),
                !isFresh(entry, in: upload), upload.age(of: entry) <= SupervisionRules.valueHolds,
                !upload.entries.contains(where: { $0.type == entry.type && $0.at > entry.at }),
                state.sources[upload.source]?.latest[entry.type].map({ entry.at > $0.at }) ?? true
            else { continue }
            let bounds = thresholds.bounds(of: entry.type)
            guard let passed = thresholds.passed(entry.type, value),
                bounds.low.map({ value < $0 }) ?? false || bounds.high.map({ value > $0 }) ?? false,
                state.mutes?[Breach(.metric(entry.type), passed.side)] == nil
            else { continue }
            let late = Episode(
                trigger: Trigger(passed, at: entry.at), t0: state.now, receivedAt: wall(state.now),
                open: [Breach(.metric(entry.type), passed.side): BreachCourse()], dueAt: state.now + SupervisionRules.valueHolds)
            state.late = late
            return action(.lateCritical, about: late)
        }
        return nil
    }
}
