// What was changed of what helpers are given in an emergency, in the words in which the person is told.

import Contracts

/// Nobody is watched over less by it, so that it asks for no proof: rescue stays easy to set up.
enum RescueChange: String, CaseIterable, Sendable {
    /// One more, or another order.
    case contacts
    case medicalNotes = "medical-notes"

    /// As it goes on after the time at which it happened.
    func words(_ language: Language) -> String {
        switch (self, language) {
        case (.contacts, .english): "your emergency contacts were added to or put in another order"
        case (.contacts, .italian): "ai tuoi contatti di emergenza ne è stato aggiunto uno, o il loro ordine è cambiato"
        case (.medicalNotes, .english): "the medical notes for emergency services, or whether they may read them, were changed"
        case (.medicalNotes, .italian): "le note mediche per i soccorsi, o se i soccorsi possono leggerle, sono state cambiate"
        }
    }
}

extension SupervisionPreferences {
    func tellsOtherNotes(than before: SupervisionPreferences) -> Bool {
        medicalNotes != before.medicalNotes || tellsMedicalNotes != before.tellsMedicalNotes
    }
}
