// What follows from an upload by the state that it meets (`docs/sos-rules.md` §3.3).

import Contracts

extension Supervision {
    /// What an entry does by one of its breaches.
    private enum Claim {
        /// An alert: the breach is new, or worse than what was answered.
        case opens
        /// The question once more.
        case asks
    }

    private func claim(_ breach: Breach, by entry: CriticalEntry, _ thresholds: Thresholds) -> Claim? {
        // What was open in an emergency that was called off is muted.
        if state.stage != .stoodDown, let course = state.episode?.open[breach] {
            return isWorse(course, breach, entry, thresholds) ? .opens : nil
        }
        guard let mute = state.mutes?[breach] else { return .opens }
        if isWorse(mute.course, breach, entry, thresholds) { return .opens }
        return mute.isLapsed == true || entry.calmBegun.contains(breach) ? .asks : nil
    }

    private func isWorse(_ course: BreachCourse, _ breach: Breach, _ entry: CriticalEntry, _ thresholds: Thresholds) -> Bool {
        let value = entry.trigger.passed.value
        return course.isWorse(value, of: breach, isSevere: thresholds.isSevere(value, for: breach))
    }

    /// The claims of all entries, in order.
    private func claims(
        _ findings: Findings, _ thresholds: Thresholds
    ) -> [(entry: CriticalEntry, opens: [Breach], asks: [Breach])] {
        findings.entries.map { entry in
            let claims = entry.breaches.map { ($0, claim($0, by: entry, thresholds)) }
            return (entry, claims.filter { $0.1 == .opens }.map(\.0), claims.filter { $0.1 == .asks }.map(\.0))
        }
    }

    mutating func judge(_ findings: Findings, _ thresholds: Thresholds) -> [SupervisionAction] {
        let claims = claims(findings, thresholds)
        let claimed = claims.reduce(into: Set<Breach>()) { $0.formUnion($1.opens + $1.asks) }
        defer { endLapsed(findings) }
        switch state.stage {
        case .monitoring, .suspended:
            if let first = claims.first(where: { !$0.opens.isEmpty }) {
                return opened(by: first.entry, claimed, findings, thresholds)
            }
            noteCourses(findings, thresholds)
            guard let first = claims.first(where: { !$0.asks.isEmpty }) else { return [] }
            return [askedAgain(first.entry.trigger, claimed, findings, thresholds)]
        case .alerted:
            join(claimed, findings, thresholds)
            return settleAlert(findings)
        case .confirmed:
            join(claimed, findings, thresholds)
            return []
        case .askedAgain:
            if let first = claims.first(where: { !$0.opens.isEmpty }) {
                let asked = state.episode?.open ?? [:]
                return [ended(.transient)] + opened(by: first.entry, claimed, findings, thresholds, keeping: asked)
            }
            join(claimed, findings, thresholds)
            return whileAsked(findings, isAskedMore: !claimed.isEmpty)
        case .dispatching, .dispatched:
            let first = claims.first { !$0.opens.isEmpty || !$0.asks.isEmpty }
            return followCalled(first?.entry, claimed, findings, thresholds)
        case .stoodDown:
            if let first = claims.first(where: { !$0.opens.isEmpty }) {
                return [ended(.closed)] + opened(by: first.entry, claimed, findings, thresholds)
            }
            if let first = claims.first(where: { !$0.asks.isEmpty }) {
                return [ended(.closed), askedAgain(first.entry.trigger, claimed, findings, thresholds)]
            }
            noteCourses(findings, thresholds)
            return findings.critical.isEmpty ? [ended(.closed)] : []
        case .off, .paused:
            return []
        }
    }

    // MARK: Alerts

    /// - Parameters:
    ///   - claimed: by which entries open or ask again; what else is muted stays so.
    ///   - asked: breaches that were asked about until now.
    private mutating func opened(
        by entry: CriticalEntry, _ claimed: Set<Breach>, _ findings: Findings, _ thresholds: Thresholds,
        keeping asked: [Breach: BreachCourse] = [:]
    ) -> [SupervisionAction] {
        let seen = findings.entries.reduce(into: findings.critical) { $0.formUnion($1.breaches) }
        let opening = seen.filter { state.mutes?[$0] == nil || claimed.contains($0) }
        state.stage = .alerted
        state.episode = Episode(trigger: entry.trigger, t0: state.now, receivedAt: wall(state.now), open: asked)
        state.episode?.firstTriedAt = firstTriedAt
        join(opening, findings, thresholds)
        return [action(.opened)] + settleAlert(findings)
    }

    /// Whether the alert is sustained, or over.
    private mutating func settleAlert(_ findings: Findings) -> [SupervisionAction] {
        let open = Set(state.episode?.open.keys.map(\.self) ?? [])
        if !findings.proven.isDisjoint(with: open) {
            state.stage = .confirmed
            return [action(.confirmed)]
        }
        // No sign of life (SOS-34): what silence raised a device takes back, or an answer.
        if findings.isTyped, open.contains(Breach(.silence, .below)) { return [] }
        return findings.critical.isDisjoint(with: open) ? [ended(.transient)] : []
    }

    /// Breaches become open, with what is known of them from a mute.
    private mutating func join(_ breaches: Set<Breach>, _ findings: Findings, _ thresholds: Thresholds) {
        let begun = findings.entries.reduce(into: Set<Breach>()) { $0.formUnion($1.calmBegun) }
        var anew: Set<Breach> = []
        for breach in breaches where state.episode?.open[breach] == nil {
            let muted = state.mutes?.removeValue(forKey: breach)
            var course = muted?.course ?? BreachCourse()
            if muted != nil, begun.contains(breach) {
                (course.lowest, course.isSevere, course.askedInSilence) = (nil, false, nil)
                anew.insert(breach)
            }
            state.episode?.open[breach] = course
        }
        if state.mutes?.isEmpty == true { state.mutes = nil }
        noteCourses(findings, thresholds)
        for breach in anew { state.episode?.open[breach]?.tell() }
    }

    /// Keeps account of how far breaches go that are open or muted.
    private mutating func noteCourses(_ findings: Findings, _ thresholds: Thresholds) {
        for entry in findings.entries {
            let value = entry.trigger.passed.value
            for breach in entry.breaches {
                let isSevere = thresholds.isSevere(value, for: breach)
                state.episode?.open[breach]?.note(value, of: breach, isSevere: isSevere)
                state.mutes?[breach]?.course.note(value, of: breach, isSevere: isSevere)
            }
        }
    }

    /// Whether the alert hangs on readings after which their sources fell silent while others say that all is well: those get a little
    /// longer to speak again (SOS-37).
    func isWaiting(_ episode: Episode) -> Bool {
        guard state.sources.count > 1 else { return false }
        let thresholds = thresholds
        let open = critical(thresholds).filter { episode.open[$0] != nil }
        let believedSince = episode.t0 + rules.sustain - SupervisionRules.recent
        return !open.isEmpty
            && open.allSatisfy { breach in
                guard case .metric(let metric) = breach.parameter else { return false }
                let saying = state.sources.values.filter { thresholds.critical(metric, by: $0.latest).contains(breach) }
                return !saying.isEmpty && saying.allSatisfy { $0.runs?[breach]?.length == 1 }
                    && state.sources.values.contains { source in
                        source.latest[metric].map { thresholds.passed(metric, $0.value) == nil && $0.received >= believedSince } ?? false
                    }
            }
    }

    // MARK: Questions

    private mutating func askedAgain(
        _ trigger: Trigger, _ breaches: Set<Breach>, _ findings: Findings, _ thresholds: Thresholds
    ) -> SupervisionAction {
        ask(about: trigger)
        join(breaches, findings, thresholds)
        let due = answerDue
        state.episode?.dueAt = due
        return action(.askedAgain)
    }

    mutating func ask(about trigger: Trigger) {
        state.stage = .askedAgain
        state.episode = Episode(trigger: trigger, t0: state.now, receivedAt: wall(state.now))
        state.episode?.firstTriedAt = firstTriedAt
    }

    /// When a question of this moment is taken for unanswered.
    var answerDue: Timestamp {
        let isLow = state.episode?.open.keys.contains { $0.side == .below } ?? false
        return state.now + (isLow ? min(rules.reask, SupervisionRules.reaskLow) : rules.reask)
    }

    /// - Parameter isAskedMore: a reading of this upload asks again by itself: it is not in range, whatever followed in the same upload.
    private mutating func whileAsked(_ findings: Findings, isAskedMore: Bool) -> [SupervisionAction] {
        let due = answerDue
        let earlier = state.episode?.dueAt.map { min($0, due) } ?? due
        state.episode?.dueAt = earlier
        let open = Set(state.episode?.open.keys.map(\.self) ?? [])
        guard !isAskedMore, findings.critical.isDisjoint(with: open) else {
            state.episode?.normalSince = nil
            return []
        }
        let since = state.episode?.normalSince ?? state.now
        state.episode?.normalSince = since
        return state.now - since >= rules.calm ? [ended(.transient)] : []
    }

    // MARK: After the call

    private mutating func followCalled(
        _ entry: CriticalEntry?, _ claimed: Set<Breach>, _ findings: Findings, _ thresholds: Thresholds
    ) -> [SupervisionAction] {
        join(claimed, findings, thresholds)
        var actions: [SupervisionAction] = []
        if let entry { actions.append(toldWorse(claimed, by: entry.trigger)) }
        let muted = Set(state.mutes?.keys.map(\.self) ?? [])
        let seen = findings.entries.reduce(into: findings.critical) { $0.formUnion($1.breaches) }
        if !seen.subtracting(muted).isEmpty { state.episode?.normalSince = nil }
        if findings.critical.subtracting(muted).isEmpty, state.episode?.normalSince == nil { state.episode?.normalSince = state.now }
        return isNormalAgain ? actions + [ended(.closed)] : actions
    }

    /// The emergency service hears that it is worse; the contacts once by breach (SOS-32).
    mutating func toldWorse(_ breaches: Set<Breach>, by trigger: Trigger) -> SupervisionAction {
        let isNews = breaches.isEmpty || breaches.contains { state.episode?.open[$0]?.contactsKnow != true }
        for breach in breaches { state.episode?.open[breach]?.contactsKnow = true }
        state.episode?.tellAll()
        return action(.worse(Worse(trigger: trigger, breaches: breaches.sorted(), isNewsToContacts: isNews)))
    }

    /// Whether an acknowledged emergency may be closed by values.
    private var isNormalAgain: Bool {
        guard state.stage == .dispatched, let episode = state.episode, let since = episode.normalSince else { return false }
        guard !episode.isHeldOpen else { return false }
        return state.now - since >= rules.normalBeforeClosing
    }
}
