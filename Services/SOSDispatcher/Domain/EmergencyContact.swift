// Whom a subscriber wants told in an emergency (SOS-22).

import Contracts

/// Personal: kept sealed under the subscriber's key.
struct EmergencyContact: Hashable, Codable, Sendable {
    /// The subscriber's own name for the entry; unique in their list.
    var id: String
    var name: String
    /// E.164.
    var telephone: String
    var email: String?
    var language: Language
}
