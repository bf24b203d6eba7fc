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
            return due + adopted(theirs)
        case .alerted, .confirmed:
            guard let own = state.episode, theirs.isEarlier(than: own) else { return due }
            let ended = SupervisionAction(kind: .transient, at: state.now, episode: own)
            return due + [ended] + adopted(theirs)
        case .off, .paused, .dispatching, .dispatched, .stoodDown:
            return due
        }
    }

    private mutating func adopted(_ theirs: Episode) -> [SupervisionAction] {
        var adopted = state
        adopted.stage = .alerted
        adopted.episode = theirs
        self = Supervision(rules: rules, state: adopted)
        return [SupervisionAction(kind: .opened, at: state.now, episode: theirs)]
    }
}

extension Episode {
    /// The same order on both sides, whoever asks.
    fileprivate func isEarlier(than other: Episode) -> Bool {
        let (one, two) = (trigger.breach.metric.code, other.trigger.breach.metric.code)
        return (receivedAt, trigger.at, one) < (other.receivedAt, other.trigger.at, two)
    }
}

extension Supervision.State {
    /// The same state on another machine's time line.
    func shifted(by offset: Duration) -> Supervision.State {
        var shifted = self
        shifted.silenceDue = silenceDue.map { $0 + offset }
        if now.milliseconds != .min { shifted.now = now + offset }
        if var episode {
            episode.t0 = episode.t0 + offset
            episode.normalSince = episode.normalSince.map { $0 + offset }
            episode.settledAt = episode.settledAt.map { $0 + offset }
            shifted.episode = episode
        }
        return shifted
    }
}
