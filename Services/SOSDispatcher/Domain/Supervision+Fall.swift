// Falls, reported by a device or judged from acceleration (SOS-36): a timer of their own beside every state.

import Contracts

/// What acceleration says of a fall; `docs/sos-rules.md` §3.9. In multiples of standard gravity.
enum Movement {
    static let impact = 3.0
    /// Whoever lies still feels gravity alone.
    static let still = 0.7...1.3
    /// What follows an impact at once is the impact.
    static let settles = Duration.seconds(5)
}

extension Supervision {
    private var fallsCount: Bool {
        guard let watch = state.falls, state.subscribed else { return false }
        return watch.pausedUntil.map { wall(state.now) >= $0 } ?? true
    }

    /// Falls that a device reports.
    mutating func falls(in upload: Upload) -> [SupervisionAction] {
        guard fallsCount else { return [] }
        return upload.entries.flatMap { entry in
            guard entry.type == .fall, upload.age(of: entry) <= SupervisionRules.oldestEvent else { return [SupervisionAction]() }
            return fell(
                upload.report(entry, at: state.now), Trigger(.fall, lasting: entry.value, at: entry.at, kind: .fall),
                dueAt: state.now + rules.fallPrompt, isJudged: false)
        }
    }

    /// An impact, then somebody who lies still.
    mutating func followMovement(_ upload: Upload) -> [SupervisionAction] {
        guard fallsCount || state.fall?.isJudged == true else { return [] }
        let entries = upload.entries.filter { $0.type == .acceleration && isFresh($0, in: upload) }
        var actions: [SupervisionAction] = []
        for entry in entries.sorted(by: { $0.at < $1.at }) {
            guard let value = entry.value else { continue }
            let measured = state.now - upload.age(of: entry)
            let moves = !Movement.still.contains(value)
            if let fall = state.fall, fall.isJudged == true, moves, fall.dueAt.map({ measured < $0 }) ?? false {
                state.fall = nil
                actions.append(action(.fallEnded, about: fall))
            }
            if let impact = state.impact {
                guard measured - impact.measured >= Movement.settles else { continue }
                state.impact = nil
                if !moves {
                    // Never live: of a fall that the device reports as well, the impact is no other one.
                    let report = Report(source: impact.source ?? upload.source, at: impact.at, measured: impact.measured, isLive: false)
                    actions += fell(
                        report, Trigger(.fall, at: impact.at, kind: .fall), dueAt: impact.measured + rules.still, isJudged: true)
                }
            }
            if value >= Movement.impact, fallsCount { state.impact = Impact(measured: measured, at: entry.at, source: upload.source) }
        }
        return actions
    }

    private mutating func fell(_ report: Report, _ trigger: Trigger, dueAt: Timestamp, isJudged: Bool) -> [SupervisionAction] {
        // Another fall by a clock that is behind, or a late copy of one that the person has answered: asked once more, they can say so.
        let isCalled = state.stage == .dispatching || state.stage == .dispatched
        let isAskedAgain = !isJudged && !isCalled && isPerhapsRepeated(report, of: .fall)
        guard isAskedAgain || !isRepeated(report, of: .fall) else { return [] }
        switch state.stage {
        case .off: return []
        case .dispatching, .dispatched:
            noteCounted(.fall, measured: report.measured, report)
            state.episode?.keep()
            return [toldWorse([], by: trigger)]
        case .monitoring, .suspended, .paused, .alerted, .confirmed, .askedAgain, .stoodDown:
            guard state.fall == nil else { return [] }
            var fall = Episode(trigger: trigger, t0: state.now, receivedAt: wall(state.now), dueAt: dueAt)
            fall.firstTriedAt = firstTriedAt
            fall.isJudged = isJudged ? true : nil
            state.fall = fall
            noteCounted(.fall, measured: report.measured, report)
            return [action(.fell, about: fall)]
        }
    }

    mutating func fallUnanswered() -> [SupervisionAction] {
        guard let fall = state.fall else { return [] }
        state.fall = nil
        let told = action(.fallUnanswered, about: fall)
        guard state.falls?.callsAmbulance ?? true else { return [told] }
        switch state.stage {
        case .off: return [told]
        case .monitoring, .suspended, .paused, .stoodDown: return [told] + call(for: fall, isKept: true, .unanswered)
        case .alerted, .confirmed, .askedAgain:
            state.episode?.keep()
            return [told, call(.unanswered)]
        case .dispatching, .dispatched:
            state.episode?.keep()
            return [told, toldWorse([], by: fall.trigger)]
        }
    }
}
