// What a subscriber has chosen beside bounds and contacts, and what was accepted to be supervised.

import Contracts

/// Everything is off or as by default unless chosen. Personal.
struct SupervisionPreferences: Hashable, Codable, Sendable {
    static let longestNotes = 1000
    /// Nobody does sport for longer (SOS-36).
    static let longestFallPause = Duration.seconds(4 * 3600)

    /// Whether repetitive shaking is an alarm (SOS-23).
    var shaking = false
    /// Whether bounds are fitted to the person's own history (SOS-07).
    var personalised = true
    /// Whether falls are an alarm (SOS-36); nil is false.
    var falls: Bool?
    /// Whether a fall that the person does not answer calls an ambulance, besides the contacts; nil is true.
    var fallsCallAmbulance: Bool?
    /// Until when sport keeps falls from counting; nil: they count.
    var fallsPausedUntil: Timestamp?
    /// Illnesses, allergies, medicines, in the person's own words; nil where nothing was written.
    var medicalNotes: String?
    /// Whether the notes may be told to an emergency service.
    var tellsMedicalNotes = false

    /// As supervision goes by it.
    var fallWatch: Supervision.FallWatch? {
        falls == true ? Supervision.FallWatch(callsAmbulance: fallsCallAmbulance, pausedUntil: fallsPausedUntil) : nil
    }

    /// What an emergency service may read; nil unless there are notes and the person consented.
    var toldNotes: String? { tellsMedicalNotes ? medicalNotes : nil }
}

/// Which clauses were accepted, and when (SOS-01).
struct AcceptedClauses: Hashable, Codable, Sendable {
    var version: String
    var at: Timestamp
}

extension Subscriber {
    /// The profile as consent tells it, with the notes that the person consented to (SOS-16). nil: nothing may be told any more,
    /// unless an emergency runs, whose messages need it to their end.
    mutating func know(_ new: EmergencyCard?, whileRunning isRunning: Bool) {
        guard new != nil || !isRunning else { return }
        card = new
        adoptToldNotes()
    }

    mutating func prefer(_ chosen: SupervisionPreferences) {
        preferences = chosen
        adoptToldNotes()
    }

    /// The card's notes are those that may be told now, wherever the choice was made.
    mutating func adoptToldNotes() {
        card?.medicalNotes = preferences?.toldNotes
    }

    /// In what the person reads; Italian is where the suite is at home.
    var language: Language {
        card.flatMap { Language(rawValue: $0.language) } ?? .italian
    }
}
