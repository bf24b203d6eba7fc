// Every message that the suite sends, with the values that its text needs.

/// The sender gives the values; the notifier has the texts, in every language.
package enum MessageTemplate: String, Codable, Sendable, CaseIterable {
    case accountCreated = "account-created"
    case confirmAddress = "confirm-address"
    case temporaryPassword = "temporary-password"
    case recoverPassword = "recover-password"
    case passwordChanged = "password-changed"
    case failedLogIns = "failed-log-ins"
    case changeAddress = "change-address"
    case addressChanged = "address-changed"
    case guardianConsent = "guardian-consent"
    case guardianAnswered = "guardian-answered"
    case memberInvited = "member-invited"
    case requestReceived = "request-received"
    case requestExpired = "request-expired"
    case grantEnded = "grant-ended"
    case devicePaired = "device-paired"
    case monitoringPaused = "monitoring-paused"
    case erasureOrdered = "erasure-ordered"
    case erasureCompleted = "erasure-completed"
    case exportReady = "export-ready"
    case announcement
    /// To an emergency service: one segment for programs, sent as it is.
    case sosDispatch = "sos-dispatch"

    /// The names of the values that a sender must give, no more and no fewer. `link` is an absolute address of the suite.
    package var values: Set<String> {
        switch self {
        case .accountCreated: ["name", "link"]
        case .confirmAddress: ["name", "link", "hours"]
        case .temporaryPassword: ["name", "password", "hours"]
        case .recoverPassword: ["name", "link", "hours"]
        case .passwordChanged: ["name", "time"]
        case .failedLogIns: ["name", "count", "time"]
        case .changeAddress: ["name", "link", "hours"]
        case .addressChanged: ["name", "time"]
        case .guardianConsent: ["name", "child", "link", "hours"]
        case .guardianAnswered: ["name", "answer"]
        case .memberInvited: ["organisation", "link", "hours"]
        case .requestReceived: ["name", "organisation", "purpose", "hours"]
        case .requestExpired: ["name", "organisation"]
        case .grantEnded: ["name", "organisation"]
        case .devicePaired: ["device"]
        case .monitoringPaused: ["time"]
        case .erasureOrdered: ["name", "hours"]
        case .erasureCompleted: ["certificate"]
        case .exportReady: ["name", "hours"]
        case .announcement: ["title", "text"]
        case .sosDispatch: ["text"]
        }
    }
}
