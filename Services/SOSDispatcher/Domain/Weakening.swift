// What takes something away from supervision: it asks for a fresh proof, and the person is told of it.

import Contracts

/// One way in which somebody is watched over less than before. A stolen token alone must not be enough for it.
enum Weakening: Hashable, Sendable, CaseIterable {
    case left
    case paused
    /// Something that is critical now would not be any more.
    case thresholds
    /// Falls or shaking would be no alarm any more, or call no ambulance.
    case alarms
    case contactRemoved
    case contactChanged

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
        own: [Metric: Bounds]?, preferences chosen: SupervisionPreferences?, by rules: SupervisionRules
    ) -> [Weakening] {
        guard supervision.subscribed else { return [] }
        var proposed = self
        if let own { proposed.supervision.own = own }
        if let chosen { proposed.prefer(chosen) }
        var losses: [Weakening] = []
        if proposed.supervision.thresholds(by: rules).isWider(than: supervision.thresholds(by: rules)) { losses.append(.thresholds) }
        if let chosen, chosen.leavesOutAlarm(of: preferences ?? SupervisionPreferences()) { losses.append(.alarms) }
        return losses
    }
}

extension SupervisionPreferences {
    /// Whether an alarm of the former ones is none any more, or calls no ambulance. A pause for sport ends by itself and leaves none out.
    fileprivate func leavesOutAlarm(of former: SupervisionPreferences) -> Bool {
        if former.shaking, !shaking { return true }
        guard former.falls == true else { return false }
        return falls != true || (former.fallsCallAmbulance != false && fallsCallAmbulance == false)
    }
}
