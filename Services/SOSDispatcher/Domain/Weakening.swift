// What takes something away from supervision: the person is told of it, and but for a pause for sport it asks for a fresh proof.

import Contracts

/// One way in which somebody is watched over less than before. A stolen token alone must not be enough for it where it `needsProof`.
enum Weakening: Hashable, Sendable {
    case left
    case paused
    /// Something that is critical now would not be any more.
    case thresholds
    /// Falls or shaking would be no alarm any more, or call no ambulance.
    case alarms
    /// Falls are no alarm before then, which is later than it was (SOS-36).
    case fallsPaused(until: Timestamp)
    case contactRemoved
    case contactChanged

    /// A pause for sport is frequent and ends by itself within hours: it is told and needs none.
    var needsProof: Bool {
        if case .fallsPaused = self { false } else { true }
    }

    /// As it goes on after the time at which it happened.
    func words(_ language: Language) -> String {
        switch (self, language) {
        case (.left, .english): "AutomatedSOS was left, and nobody watches over you any more"
        case (.left, .italian): "AutomatedSOS è stato lasciato, e nessuno veglia più su di te"
        case (.paused, .english): "AutomatedSOS was paused, and no emergency is detected"
        case (.paused, .italian): "AutomatedSOS è stato messo in pausa, e nessuna emergenza viene rilevata"
        case (.thresholds, .english): "thresholds of AutomatedSOS were widened"
        case (.thresholds, .italian): "le soglie di AutomatedSOS sono state allargate"
        case (.alarms, .english): "an alarm of AutomatedSOS for falls or shaking was switched off"
        case (.alarms, .italian): "un allarme di AutomatedSOS per cadute o scuotimento è stato spento"
        case (.fallsPaused(let end), .english): "falls were paused until \(end.rfc3339), and none is an alarm before"
        case (.fallsPaused(let end), .italian): "le cadute sono state messe in pausa fino al \(end.rfc3339), e prima nessuna è un allarme"
        case (.contactRemoved, .english): "an emergency contact was removed"
        case (.contactRemoved, .italian): "un contatto di emergenza è stato tolto"
        case (.contactChanged, .english): "an emergency contact was changed"
        case (.contactChanged, .italian): "un contatto di emergenza è stato cambiato"
        }
    }
}

extension Subscriber {
    /// What would be lost by these settings in place of those that are; nil leaves them as they are.
    func weakened(
        own: [Metric: Bounds]?, preferences chosen: SupervisionPreferences?, by rules: SupervisionRules, at now: Timestamp
    ) -> [Weakening] {
        guard supervision.subscribed else { return [] }
        var proposed = self
        if let own { proposed.supervision.own = own }
        if let chosen { proposed.prefer(chosen) }
        var losses: [Weakening] = []
        if proposed.supervision.thresholds(by: rules).isWider(than: supervision.thresholds(by: rules)) { losses.append(.thresholds) }
        if let chosen, chosen.leavesOutAlarm(of: preferences ?? SupervisionPreferences()) { losses.append(.alarms) }
        if let until = chosen?.newFallPause(after: preferences ?? SupervisionPreferences(), at: now) {
            losses.append(.fallsPaused(until: until))
        }
        return losses
    }
}

extension SupervisionPreferences {
    /// Whether an alarm of the former ones is none any more, or calls no ambulance. A pause for sport leaves none out.
    fileprivate func leavesOutAlarm(of former: SupervisionPreferences) -> Bool {
        if former.shaking, !shaking { return true }
        guard former.falls == true else { return false }
        return falls != true || (former.fallsCallAmbulance != false && fallsCallAmbulance == false)
    }

    /// Until when falls that were watched are paused now; nil where that is no later than before, or over.
    fileprivate func newFallPause(after former: SupervisionPreferences, at now: Timestamp) -> Timestamp? {
        guard let watched = former.fallWatch, let until = fallWatch?.pausedUntil else { return nil }
        return until > max(now, watched.pausedUntil ?? now) ? until : nil
    }
}
