// What "I am fine" holds back, for how long, and how it ends (SOS-33; `docs/sos-rules.md` §3.4).

import Contracts

extension Supervision {
    /// The person has answered: what is open is muted.
    mutating func mute(_ open: [Breach: BreachCourse]) {
        var mutes = state.mutes ?? [:]
        for (breach, known) in open {
            var course = known
            course.answers += 1
            course.tell()
            mutes[breach] = Mute(course: course, until: state.now + rules.muteLength(of: breach, course))
        }
        state.mutes = mutes.isEmpty ? nil : mutes
    }

    /// In other states a mute that is past its end ends on the way back.
    var mutesEnd: Timestamp? {
        switch state.stage {
        case .monitoring, .suspended, .stoodDown: state.mutes?.values.filter { $0.isLapsed != true }.map(\.until).min()
        case .off, .paused, .alerted, .confirmed, .askedAgain, .dispatching, .dispatched: nil
        }
    }

    /// Whoever is critical still is asked again; so is, once, who fell silent after a low value.
    mutating func mutesEnded() -> [SupervisionAction] {
        let thresholds = thresholds
        var asked: [Breach: BreachCourse] = [:]
        for (breach, mute) in state.mutes ?? [:] where mute.isLapsed != true && mute.until <= state.now {
            let values = criticalValues(of: breach, thresholds)
            if values.contains(where: { state.now - $0.measured <= SupervisionRules.recent }) {
                asked[breach] = mute.course
            } else if !values.isEmpty, breach.side == .above {
                state.mutes?[breach]?.isLapsed = true
                continue
            } else if !values.isEmpty, mute.course.askedInSilence != true {
                asked[breach] = mute.course
                asked[breach]?.askedInSilence = true
            }
            state.mutes?[breach] = nil
        }
        if state.mutes?.isEmpty == true { state.mutes = nil }
        guard let first = asked.keys.min(), var trigger = newestTrigger(of: first, thresholds) else { return [] }
        if let former = state.answered?.last(where: trigger.isOfSameEntry) { trigger.answeredBefore = (former.answeredBefore ?? 0) + 1 }
        let before = state.stage == .stoodDown ? [ended(.closed)] : []
        ask(about: trigger)
        state.episode?.open = asked
        let due = answerDue
        state.episode?.dueAt = due
        return before + [action(.askedAgain)]
    }

    /// The latest values by which a breach is critical, of the metric that names it; of a pair, of its maximum.
    private func criticalValues(of breach: Breach, _ thresholds: Thresholds) -> [LatestValue] {
        guard let metric = breach.metrics.first else { return [] }
        return state.sources.sorted { $0.key < $1.key }.compactMap { _, source in
            thresholds.critical(metric, by: source.latest).contains(breach) ? source.latest[metric] : nil
        }
    }

    private func newestTrigger(of breach: Breach, _ thresholds: Thresholds) -> Trigger? {
        let values = criticalValues(of: breach, thresholds)
        guard let metric = breach.metrics.first, var newest = values.first else { return nil }
        for value in values where value.measured > newest.measured { newest = value }
        return thresholds.passed(metric, newest.value).map { Trigger($0, at: newest.at) }
    }

    /// A mute that waited for a reading ends with one in range.
    mutating func endLapsed(_ findings: Findings) {
        guard let mutes = state.mutes else { return }
        let left = mutes.filter { breach, mute in
            mute.isLapsed != true || findings.critical.contains(breach) || findings.taken.isDisjoint(with: breach.metrics)
        }
        state.mutes = left.isEmpty ? nil : left
    }
}
