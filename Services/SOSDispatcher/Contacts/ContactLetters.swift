// The messages to contacts, as the notifier takes them.

import Contracts
import Foundation

struct ContactLetters: Sendable {
    /// Nobody is rung up about what happened so long ago.
    static let life = Duration.seconds(3 * 3600)
    /// Where the person's name is not known.
    private static let nobody: [Language: String] = [.italian: "una persona seguita da TrackMe", .english: "a person watched by TrackMe"]

    let capabilities: Capabilities

    /// The same message whenever it is made of the same case.
    func letter(_ notice: ContactCase.Notice, of alarm: ContactCase) -> SendMessage {
        let who = alarm.contacts[notice.to].who
        let (template, values) = content(notice, of: alarm, in: who.language)
        var channels: Set<Contracts.Channel> =
            switch notice.matter {
            case .alert: [.sms, .call]
            case .call: [.call]
            case .informed, .onTheWay, .falseAlarm, .worse: [.sms]
            }
        if who.email != nil, !channels.contains(.call) || channels.contains(.sms) { channels.insert(.mail) }
        return SendMessage(
            message: capabilities.message("\(alarm.id)|\(alarm.round)|\(notice.to)|\(notice.word)"),
            recipient: Recipient(person: alarm.person, mail: who.email, phone: who.telephone), channels: channels, template: template,
            language: who.language, values: values, notAfter: happened(notice, alarm) + Self.life)
    }

    /// What the message is about; not read off a clock, so that made again it is the same message.
    private func happened(_ notice: ContactCase.Notice, _ alarm: ContactCase) -> Timestamp {
        switch notice.matter {
        case .alert, .call: alarm.beganAt
        case .informed: alarm.informedAt ?? alarm.beganAt
        case .onTheWay(let contact): alarm.contacts[contact].answeredAt ?? alarm.beganAt
        case .falseAlarm: alarm.endedAt ?? alarm.beganAt
        case .worse(let number): worse(number, alarm)
        }
    }

    private func worse(_ number: Int, _ alarm: ContactCase) -> Timestamp {
        let times = alarm.worseAt ?? []
        return times.indices.contains(number - 1) ? times[number - 1] : alarm.beganAt
    }

    private func content(
        _ notice: ContactCase.Notice, of alarm: ContactCase, in language: Language
    ) -> (MessageTemplate, [String: String]) {
        let name = alarm.name.isEmpty ? Self.nobody[language] ?? "" : alarm.name
        switch notice.matter {
        case .alert, .call:
            let template: MessageTemplate =
                switch alarm.kind {
                case .emergency: .sosContactAlert
                case .shaking: .sosShaking
                case .silence: .sosSilenceContacts
                case .concern, .fall: .sosContactConcern
                }
            let link = capabilities.contactLink(notice.to, of: alarm.id)
            return (
                template,
                ["name": name, "time": alarm.happenedAt.rfc3339, "place": alarm.place?.position.written ?? "none", "link": link]
            )
        case .informed: return (.sosAmbulanceInformed, ["name": name, "time": (alarm.informedAt ?? alarm.happenedAt).rfc3339])
        case .worse(let number): return (.sosContactWorse, ["name": name, "time": worse(number, alarm).rfc3339])
        case .onTheWay(let contact): return (.sosContactInformed, ["name": name, "who": alarm.contacts[contact].who.name])
        case .falseAlarm: return (.sosContactFalseAlarm, ["name": name, "time": alarm.happenedAt.rfc3339])
        }
    }
}

extension Position {
    /// Degrees with five decimals, which is a metre: `45.46420,9.19000`.
    var written: String {
        "\(Self.degrees(latitude)),\(Self.degrees(longitude))"
    }

    private static func degrees(_ value: Double) -> String {
        String(format: "%.5f", value)
    }
}
