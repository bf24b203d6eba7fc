// Which emergency contact is told what, and when (SOS-22): everybody at once, then calls down the list until somebody is on the way.

import Contracts

/// Pure. One "on my way" ends the repeated calls and is told to the others; it keeps no text from anybody.
enum ContactEscalation {
    struct Rules: Hashable, Sendable {
        /// Pause before the first repeated call and between one and the next.
        var callEvery = Duration.seconds(60)
        /// How often each contact is called again at most, on average.
        var rounds = 3
        /// How much later than the first the second of two dispatchers calls: it has heard by then that the first did.
        var lead = Duration.zero
    }

    /// Of the second dispatcher.
    static let lead = Duration.seconds(2)

    /// What is to be sent by now and has not been sent; the case takes note of it.
    static func take(_ alarm: inout ContactCase, _ rules: Rules, at now: Timestamp) -> [ContactCase.Notice] {
        var due: [ContactCase.Notice] = []
        for position in alarm.contacts.indices {
            due += owed(alarm, to: position).map { ContactCase.Notice(to: position, matter: $0) }.filter { !alarm.sent.contains($0) }
        }
        alarm.sent.formUnion(due)
        if let next = nextCall(alarm, rules), next.at <= now {
            let notice = ContactCase.Notice(to: next.to, matter: .call(alarm.calls + 1))
            alarm.sent.insert(notice)
            alarm.calls += 1
            // After a pause of the dispatcher's own there is one call, not all that were missed.
            alarm.lastCallAt = now
            due.append(notice)
        }
        return due
    }

    /// When the next call down the list is due; nil where nobody is to be called again.
    static func nextCall(_ alarm: ContactCase, _ rules: Rules) -> (to: Int, at: Timestamp)? {
        guard alarm.end == nil, !alarm.contacts.contains(where: { $0.answer?.isHelp == true }) else { return nil }
        let able = alarm.contacts.indices.filter { alarm.contacts[$0].answer != .cannot }
        guard !able.isEmpty, alarm.calls < rules.rounds * alarm.contacts.count else { return nil }
        return (able[alarm.calls % able.count], (alarm.lastCallAt ?? alarm.alertedAt) + rules.callEvery + rules.lead)
    }

    /// Everything that this contact is to hear of the alarm as it stands, whether or not it has been sent.
    private static func owed(_ alarm: ContactCase, to position: Int) -> [ContactCase.Notice.Matter] {
        let wasAlerted = alarm.sent.contains(.init(to: position, matter: .alert))
        switch alarm.end {
        case .falseAlarm: return wasAlerted ? [.falseAlarm] : []
        case .over: return []
        case nil: break
        }
        let going = alarm.contacts.indices.filter { $0 != position && alarm.contacts[$0].answer?.isHelp == true }
        return [.alert] + (alarm.informedAt == nil ? [] : [.informed]) + (alarm.worseAt ?? []).indices.map { .worse($0 + 1) }
            + going.map { .onTheWay($0) }
    }
}
