// Every message that the suite sends, with the values that its text needs.

/// The sender gives the values; the notifier has the texts, in every language.
package enum MessageTemplate: String, Codable, Sendable, CaseIterable {
    case accountCreated = "account-created"
    case confirmAddress = "confirm-address"
    /// To the owner of an account whose address or fiscal code somebody has given for another one.
    case alreadyRegistered = "already-registered"
    case temporaryPassword = "temporary-password"
    case recoverPassword = "recover-password"
    case passwordChanged = "password-changed"
    case secondFactorChanged = "second-factor-changed"
    case failedLogIns = "failed-log-ins"
    case changeAddress = "change-address"
    /// To the address that is the account's: somebody has asked for another.
    case addressChangeAsked = "address-change-asked"
    case addressChanged = "address-changed"
    /// To the person: the number at which emergency services call back is another one, or none.
    case phoneChanged = "phone-changed"
    case guardianConsent = "guardian-consent"
    case guardianAnswered = "guardian-answered"
    case memberInvited = "member-invited"
    case requestReceived = "request-received"
    case requestExpired = "request-expired"
    /// To the person: one of their requests was accepted in their name, by whoever was logged in or by the guardian.
    case accessGiven = "access-given"
    case grantEnded = "grant-ended"
    case devicePaired = "device-paired"
    /// A device was removed, and what it was chosen for comes from another one (ACC-26).
    case trackingMoved = "tracking-moved"
    case monitoringPaused = "monitoring-paused"
    /// To the person: something that protects them was switched off, taken away or made less sensitive.
    case watchedLess = "watched-less"
    /// To the person: helpers are given something else in an emergency, such as one more contact or other medical notes.
    case rescueChanged = "rescue-changed"
    /// To the person: push messages, which may carry links that answer for them, go to one more address.
    case pushEndpointAdded = "push-endpoint-added"
    /// To the person: push messages go to one address less.
    case pushEndpointRemoved = "push-endpoint-removed"
    case erasureOrdered = "erasure-ordered"
    case erasureCompleted = "erasure-completed"
    case exportReady = "export-ready"
    case announcement
    /// To everybody whose personal data may have come into wrong hands (GDPR, article 34).
    case dataBreach = "data-breach"
    /// To the person: whether everything is all right (SOS-13).
    case sosPrompt = "sos-prompt"
    /// To the person: the same question where nobody is called within seconds: asked again, a fall, a doubted or late reading.
    case sosQuestion = "sos-question"
    /// To the person: their own call for help has gone out, and where it can be called off (SOS-35).
    case sosHelpCalled = "sos-help-called"
    /// To the contacts: something that may be an emergency, while the person is asked (SOS-36 to SOS-38).
    case sosContactConcern = "sos-contact-concern"
    /// To the contacts: what was called for has become worse (SOS-32).
    case sosContactWorse = "sos-contact-worse"
    /// To the person: one parameter has fallen silent, others have not (SOS-34).
    case sosParameterSilent = "sos-parameter-silent"
    /// To an emergency contact, as text and call (SOS-22).
    case sosContactAlert = "sos-contact-alert"
    case sosContactFalseAlarm = "sos-contact-false-alarm"
    /// To the other contacts: one of them is on the way.
    case sosContactInformed = "sos-contact-informed"
    /// To the person and the contacts: the emergency service has taken the call.
    case sosAmbulanceInformed = "sos-ambulance-informed"
    /// To the contacts: shaking as in a seizure (SOS-23).
    case sosShaking = "sos-shaking"
    /// To the contacts: nothing has been heard for long.
    case sosSilenceContacts = "sos-silence-contacts"
    /// To the person: no data arrive (SOS-25).
    case sosSignalLost = "sos-signal-lost"
    /// To the person: the wearable is on charge (SOS-27).
    case sosCharging = "sos-charging"
    /// To the person: supervision is still paused (SOS-04).
    case sosPauseReminder = "sos-pause-reminder"
    /// To an organisation: the link that completes the registration (ORG-08).
    case organisationConfirm = "organisation-confirm"
    /// The same with the temporary password, where passwords are mailed.
    case organisationConfirmWithPassword = "organisation-confirm-with-password"
    case organisationAddressChange = "organisation-address-change"
    case organisationAddressChanged = "organisation-address-changed"
    /// To an organisation: what stays good after every log-out was changed, such as a client, an address for webhooks or a member.
    case organisationKeysChanged = "organisation-keys-changed"
    /// Confirmed and, where an operator approves, approved.
    case organisationActive = "organisation-active"
    case organisationAwaitsApproval = "organisation-awaits-approval"
    case organisationSuspended = "organisation-suspended"
    /// To an organisation that has deleted its profile (ORG-16).
    case organisationClosed = "organisation-closed"
    /// To a person: an organisation that asked for or had access to data is gone (ORG-16).
    case organisationLeft = "organisation-left"
    /// To an organisation: what became of a request; the person is not named (SHR-08, SHR-09, SHR-15).
    case requestAccepted = "request-accepted"
    case requestDeclined = "request-declined"
    case requestUnanswered = "request-unanswered"
    case accessNarrowed = "access-narrowed"
    case accessWithdrawn = "access-withdrawn"
    case accessEnded = "access-ended"
    /// To an organisation: what became of an address for webhooks.
    case endpointPaused = "endpoint-paused"
    case endpointGone = "endpoint-gone"
    /// To an organisation: a window of a subscription to a group had too few people for too long (ANO-13).
    case groupWindowWithheld = "group-window-withheld"
    /// To an organisation: receipt and invoice (PAY-06).
    case paymentReceived = "payment-received"
    case paymentFailed = "payment-failed"
    /// Before the person has answered; the request goes on (PAY-02).
    case paymentNotFeasible = "payment-not-feasible"
    case paymentRefunded = "payment-refunded"
    /// The payer's bank contests what was paid: nothing leaves until it has decided.
    case paymentDisputed = "payment-disputed"
    /// The bank has taken back what was paid for data that had left: it is due again.
    case paymentChargedBack = "payment-charged-back"
    /// To an emergency service: one segment for programs, sent as it is.
    case sosDispatch = "sos-dispatch"

    /// The names of the values that a sender must give, no more and no fewer. `link` is an absolute address of the suite, `time` is
    /// RFC 3339, `place` is latitude and longitude in degrees with a comma between, or `none`.
    package var values: Set<String> {
        switch self {
        case .accountCreated: ["name", "link"]
        case .confirmAddress: ["name", "link", "hours"]
        case .alreadyRegistered: ["name", "time", "link"]
        case .temporaryPassword: ["name", "password", "hours"]
        case .recoverPassword: ["name", "link", "hours"]
        case .passwordChanged, .phoneChanged: ["name", "time"]
        case .failedLogIns: ["name", "count", "time"]
        case .changeAddress: ["name", "link", "hours"]
        case .addressChangeAsked, .addressChanged: ["name", "time", "link"]
        case .secondFactorChanged: ["name", "time", "change"]
        case .guardianConsent: ["name", "child", "link", "hours"]
        case .guardianAnswered: ["name", "answer"]
        case .memberInvited: ["organisation", "link", "hours"]
        case .requestReceived: ["name", "organisation", "purpose", "hours"]
        case .requestExpired: ["name", "organisation"]
        case .accessGiven, .grantEnded: ["name", "organisation"]
        case .devicePaired: ["device"]
        case .trackingMoved: ["what"]
        case .monitoringPaused: ["time"]
        case .watchedLess, .rescueChanged: ["time", "change"]
        case .pushEndpointAdded, .pushEndpointRemoved: ["time", "host"]
        case .erasureOrdered: ["name", "hours"]
        case .erasureCompleted: ["certificate"]
        case .exportReady: ["name", "hours"]
        case .announcement, .dataBreach: ["title", "text"]
        case .sosPrompt, .sosQuestion, .sosHelpCalled: ["time", "link"]
        case .sosParameterSilent: ["time", "what"]
        case .sosContactAlert, .sosContactConcern, .sosShaking, .sosSilenceContacts: ["name", "time", "place", "link"]
        case .sosContactFalseAlarm, .sosAmbulanceInformed, .sosContactWorse: ["name", "time"]
        case .sosContactInformed: ["name", "who"]
        case .sosSignalLost, .sosCharging, .sosPauseReminder: ["time"]
        case .sosDispatch: ["text"]
        case .organisationConfirm, .organisationAddressChange: ["organisation", "link", "hours"]
        case .organisationConfirmWithPassword: ["organisation", "link", "hours", "password"]
        case .organisationActive, .organisationAwaitsApproval, .organisationSuspended: ["organisation"]
        case .organisationAddressChanged: ["organisation", "time"]
        case .organisationKeysChanged: ["organisation", "time", "change"]
        case .organisationClosed: ["organisation", "debts"]
        case .organisationLeft: ["name", "organisation"]
        case .endpointPaused: ["organisation", "address", "hours"]
        case .endpointGone: ["organisation", "address"]
        case .groupWindowWithheld: ["organisation", "request", "window", "time"]
        case .requestAccepted: ["organisation", "request", "amount", "link"]
        case .paymentReceived, .paymentRefunded: ["organisation", "request", "amount", "invoice", "link"]
        case .paymentFailed, .paymentNotFeasible: ["organisation", "request", "amount", "reason"]
        case .paymentDisputed, .paymentChargedBack: ["organisation", "request", "amount"]
        case .requestDeclined, .requestUnanswered, .accessNarrowed, .accessWithdrawn, .accessEnded: ["organisation", "request"]
        }
    }
}
