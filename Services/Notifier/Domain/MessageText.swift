// The text of a message, on each channel, from a template and its values.

import Contracts

/// The words of one template in one language. `{name}` stands for a value of the template.
struct MessageText: Hashable, Sendable {
    /// Of the mail.
    var subject: String
    /// The content without greeting and closing: for the mail and the inbox.
    var body: String
    /// For SMS: at most one segment once the values are in. Only what cannot wait for a mail has a link in it.
    var short: String
    /// Read aloud in a call; nil where `short` is.
    var spoken: String?
    /// For push, the inbox and everywhere else that strangers may look over a shoulder: no values.
    var title: String

    /// In the language asked for, else in English.
    static func of(_ template: MessageTemplate, in language: Language) -> MessageText {
        let texts =
            switch language {
            case .italian: italian
            case .english: english
            }
        return texts[template] ?? english[template] ?? MessageText(subject: "TrackMe", body: "", short: "TrackMe", title: "TrackMe")
    }

    /// The names that stand in braces.
    static func placeholders(in text: String) -> Set<String> {
        Set(text.matches(of: /\{([a-z]+)\}/).map { String($0.1) })
    }
}

/// Everything that the channels need of one message, finished.
struct RenderedMessage: Hashable, Sendable {
    var subject: String
    var mail: String
    /// At most one SMS, as long as the origin in its link is not too long for one; up to three where a name takes UCS-2.
    var short: String
    /// For calls.
    var spoken: String
    var title: String
    /// That there is something, never what.
    var push: String
    /// Where a tap on the push message leads; nil for the suite itself.
    var link: String?
    var isUrgent: Bool
    /// For the inbox.
    var body: String

    /// - Parameter origin: where the suite is found, for the closing of mails.
    init(_ template: MessageTemplate, in language: Language, values: [String: String], origin: String) {
        let text = MessageText.of(template, in: language)
        let frame = MessageFrame.of(language)
        let spoken = SpokenValues.of(values, in: language)
        subject = RenderedMessage.fill(text.subject, spoken)
        body = RenderedMessage.fill(text.body, spoken)
        short = ShortText.fill(text.short, spoken)
        self.spoken = text.spoken.map { RenderedMessage.fill($0, spoken) } ?? short
        title = text.title
        push = frame.push
        link = [.sosPrompt, .sosQuestion, .sosHelpCalled].contains(template) ? values["link"] : nil
        isUrgent = template.isUrgent
        let greeting = spoken["name"].map { frame.greetingByName.replacing("{name}", with: $0) } ?? frame.greeting
        mail = [greeting, body, frame.closing.replacing("{origin}", with: origin)].joined(separator: "\n\n") + "\n"
    }

    /// One pass, so that a value that holds braces stays as it is.
    static func fill(_ text: String, _ values: [String: String]) -> String {
        text.replacing(/\{([a-z]+)\}/) { values[String($0.1)] ?? "" }
    }
}

/// What stands around every message.
struct MessageFrame: Sendable {
    var greetingByName: String
    var greeting: String
    var closing: String
    var push: String

    static func of(_ language: Language) -> MessageFrame {
        switch language {
        case .italian:
            MessageFrame(
                greetingByName: "Ciao {name},", greeting: "Buongiorno,",
                closing: "TrackMe\n{origin}\n\nQuesto messaggio è stato inviato automaticamente: nessuno legge le risposte.",
                push: "Apri TrackMe per leggerlo.")
        case .english:
            MessageFrame(
                greetingByName: "Hello {name},", greeting: "Hello,",
                closing: "TrackMe\n{origin}\n\nThis message was sent automatically: nobody reads replies to it.",
                push: "Open TrackMe to read it.")
        }
    }
}

/// Values in the message's language: a time in words, a decision by its name.
enum SpokenValues {
    /// `place` where none was ever known.
    static let unknownPlace = "none"
    private static let answers: [Language: [String: String]] = [
        .italian: ["accepted": "ha acconsentito", "refused": "non ha acconsentito"],
        .english: ["accepted": "has consented", "refused": "has not consented"],
    ]
    private static let months: [Language: [String]] = [
        .italian: [
            "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre",
            "dicembre",
        ],
        .english: [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
        ],
    ]

    static func of(_ values: [String: String], in language: Language) -> [String: String] {
        var spoken = values
        if let time = values["time"], let at = Timestamp(rfc3339: time) { spoken["time"] = self.time(at, in: language) }
        if values["place"] == unknownPlace { spoken["place"] = language == .italian ? "luogo ignoto" : "an unknown place" }
        if let answer = values["answer"] { spoken["answer"] = answers[language]?[answer] ?? answer }
        return spoken
    }

    /// `10 January 2026, 00:31 UTC`.
    static func time(_ at: Timestamp, in language: Language) -> String {
        let text = at.rfc3339
        let parts = text.prefix(10).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, let names = months[language], names.indices.contains(parts[1] - 1) else { return text }
        return "\(parts[2]) \(names[parts[1] - 1]) \(parts[0]), \(text.dropFirst(11).prefix(5)) UTC"
    }
}

extension MessageTemplate {
    /// Whether a person may choose not to get it by a channel. What protects the account or a life, or follows from an order of the
    /// person's own, always comes; the inbox always has everything.
    var mayBeSwitchedOff: Bool {
        switch self {
        case .requestReceived, .requestExpired, .grantEnded, .devicePaired, .trackingMoved, .exportReady, .announcement:
            true
        case .accountCreated, .confirmAddress, .alreadyRegistered, .temporaryPassword, .recoverPassword, .passwordChanged,
            .secondFactorChanged, .failedLogIns, .changeAddress, .addressChangeAsked, .addressChanged, .phoneChanged, .guardianConsent,
            .guardianAnswered, .memberInvited, .accessGiven, .monitoringPaused, .watchedLess, .rescueChanged, .pushEndpointAdded,
            .pushEndpointRemoved, .erasureOrdered, .erasureCompleted, .dataBreach, .sosPrompt,
            .sosContactAlert, .sosContactFalseAlarm, .sosContactInformed, .sosAmbulanceInformed, .sosShaking, .sosSilenceContacts,
            .sosSignalLost, .sosCharging, .sosPauseReminder, .sosDispatch, .sosQuestion, .sosHelpCalled, .sosContactConcern,
            .sosContactWorse, .sosParameterSilent,
            .organisationConfirm, .organisationConfirmWithPassword, .organisationAddressChange, .organisationAddressChanged,
            .organisationKeysChanged, .organisationActive, .organisationAwaitsApproval, .organisationSuspended, .organisationClosed,
            .organisationLeft,
            .paymentReceived, .paymentFailed, .paymentNotFeasible, .paymentRefunded, .paymentDisputed, .paymentChargedBack,
            .requestAccepted, .requestDeclined, .requestUnanswered, .accessNarrowed, .accessWithdrawn, .accessEnded,
            .endpointPaused, .endpointGone, .groupWindowWithheld:
            false
        }
    }

    /// Whether a life may depend on it: it goes before everything else, and no limit of messages an hour holds it back.
    var isUrgent: Bool {
        switch self {
        case .sosPrompt, .sosContactAlert, .sosContactFalseAlarm, .sosContactInformed, .sosAmbulanceInformed, .sosShaking,
            .sosSilenceContacts, .sosSignalLost, .sosDispatch, .sosQuestion, .sosHelpCalled, .sosContactConcern, .sosContactWorse,
            .sosParameterSilent:
            true
        case .accountCreated, .confirmAddress, .alreadyRegistered, .temporaryPassword, .recoverPassword, .passwordChanged,
            .secondFactorChanged, .failedLogIns, .changeAddress, .addressChangeAsked, .addressChanged, .phoneChanged, .guardianConsent,
            .guardianAnswered, .memberInvited, .requestReceived, .requestExpired, .accessGiven, .grantEnded,
            .devicePaired, .trackingMoved, .monitoringPaused, .watchedLess, .rescueChanged, .pushEndpointAdded,
            .pushEndpointRemoved, .erasureOrdered, .erasureCompleted,
            .exportReady, .announcement, .dataBreach,
            .sosCharging, .sosPauseReminder,
            .organisationConfirm, .organisationConfirmWithPassword, .organisationAddressChange, .organisationAddressChanged,
            .organisationKeysChanged, .organisationActive, .organisationAwaitsApproval, .organisationSuspended, .organisationClosed,
            .organisationLeft,
            .paymentReceived, .paymentFailed, .paymentNotFeasible, .paymentRefunded, .paymentDisputed, .paymentChargedBack,
            .requestAccepted, .requestDeclined, .requestUnanswered, .accessNarrowed, .accessWithdrawn, .accessEnded,
            .endpointPaused, .endpointGone, .groupWindowWithheld:
            false
        }
    }

    /// Name of the list where many people get the same; nil for what concerns one.
    var list: String? {
        self == .announcement ? "announcements" : nil
    }
}
