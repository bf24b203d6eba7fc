// What a person is told where no prompt shows it: the signal is lost, the device charges, the ambulance is informed.

import Contracts

struct PersonLetters: Sendable {
    /// A push that came later would only confuse.
    static let life = Duration.seconds(900)

    let capabilities: Capabilities

    /// The same whenever it is made of the same event; nil for what the person is not told.
    func letter(about event: SupervisionEvent, to subscriber: Subscriber) -> SendMessage? {
        letter(about: event, name: subscriber.card?.name ?? "", subscriber.language)
    }

    func letter(about event: SupervisionEvent, name: String, _ language: Language) -> SendMessage? {
        let template: MessageTemplate
        var values = ["time": (event.since ?? event.at).rfc3339]
        switch event.kind {
        case .acknowledged:
            template = .sosAmbulanceInformed
            values["name"] = name.isEmpty ? (language == .italian ? "te" : "you") : name
        case .signalLost:
            template = event.signal == nil ? .sosSignalLost : .sosParameterSilent
            if let signal = event.signal { values["what"] = Self.name(of: signal, language) }
        case .charging: template = .sosCharging
        case .opened, .goesOn, .confirmed, .dispatched, .gotWorse, .located, .helpArrived, .transient, .muted, .cancelled, .closed,
            .askedAgain, .doubted, .doubtEnded, .fell, .fallEnded, .fallUnanswered, .lateCritical, .helpTooLate,
            .signalReturned, .silenceContacts, .shakingAlarm, .shakingCalledOff, .subscribed, .unsubscribed, .paused, .resumed:
            return nil
        }
        return message(capabilities.message(event.name), template, values, to: event, language)
    }

    private static func name(of signal: Parameter, _ language: Language) -> String {
        guard case .metric(let metric) = signal else { return language == .italian ? "Pressione" : "Blood pressure" }
        return language == .italian ? metric.definition.italian : metric.definition.english
    }

    /// The way to the prompt of an emergency; the same one again after a crash.
    func prompt(_ emergency: EmergencyID, since t0: Timestamp, about event: SupervisionEvent, _ language: Language) -> SendMessage {
        let isCall = event.kind == .opened || event.kind == .goesOn
        return message(
            capabilities.message(isCall ? "\(emergency)|prompt" : "\(emergency)|\(event.kind.rawValue)"),
            isCall ? Self.template(of: event.episode?.trigger.kind ?? .threshold) : .sosQuestion,
            ["time": t0.rfc3339, "link": capabilities.promptLink(emergency)], to: event, language)
    }

    /// Words that are true of what the emergency came from: nothing was critical where somebody pressed a button.
    private static func template(of trigger: Trigger.Kind) -> MessageTemplate {
        switch trigger {
        case .threshold: .sosPrompt
        case .manual: .sosHelpCalled
        case .fall, .shaking, .silence: .sosQuestion
        }
    }

    private func message(
        _ id: Contracts.MessageID, _ template: MessageTemplate, _ values: [String: String], to event: SupervisionEvent,
        _ language: Language
    ) -> SendMessage {
        SendMessage(
            message: id, recipient: Recipient(person: event.person), channels: event.sounds ? [.push, .inbox] : [.inbox],
            template: template, language: language,
            values: values, notAfter: event.at + Self.life)
    }
}
