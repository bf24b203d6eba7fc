// How each parameter of a person is heard, as the person is shown it (SOS-34).

import Contracts

enum SignalStatus: String, CaseIterable, Sendable {
    case watched
    /// Nothing of it for longer than its source may be silent.
    case silent
    /// Measured when somebody decides to: its absence says nothing.
    case onDemand = "on-demand"
    case neverSeen = "never-seen"
}

extension Supervision.State {
    /// Every parameter with a bound in force, in order of its name; `since` of a silence, by the wall clock.
    func signals(by rules: SupervisionRules) -> [(parameter: Parameter, standing: SignalStatus, since: Timestamp?)] {
        let deadlines = Supervision(rules: rules, state: self).deadlines
        let seen = Set(sources.values.flatMap { $0.signals.keys.map(\.signal) })
        return Set(thresholds(by: rules).watched.map(\.signal)).sorted().map { signal in
            if let silence = silences?[signal] { return (signal, .silent, silence.since + .milliseconds(wallOffset ?? 0)) }
            return (signal, deadlines[signal] != nil ? .watched : seen.contains(signal) ? .onDemand : .neverSeen, nil)
        }
    }

    /// Whether an emergency could be seen: supervision is not paused, and something with a bound is heard.
    /// - Parameter missing: what no active device of the person has; nil where ingest does not say. What was heard of a device a moment
    ///   before it was removed protects nobody.
    func isProtected(by rules: SupervisionRules, missing: [NeededAbility]?) -> Bool {
        guard missing?.contains(.vitalParameter) != true else { return false }
        guard stage != .off, stage != .paused, stage != .suspended, monitoringPaused != true else { return false }
        return signals(by: rules).contains { $0.standing == .watched || $0.standing == .onDemand }
    }
}
