// When nothing is heard of a person: whom that concerns, and when (SOS-25, SOS-27, CON-32).

import Contracts

extension Supervision {
    /// Nothing stops a call on its way: until it is acknowledged, silence changes nothing (SOS-25).
    var silenceFallsDue: Timestamp? {
        guard state.subscribed, let due = state.silenceDue else { return nil }
        return switch state.stage {
        case .monitoring, .suspended: state.monitoringPaused == true ? nil : due
        case .stoodDown: due
        case .dispatched: max(due, state.episode?.settledAt ?? due) + rules.silenceBeforeClosing
        case .off, .paused, .alerted, .confirmed, .dispatching: nil
        }
    }

    var contactsFallDue: Timestamp? {
        guard state.subscribed, state.stage == .suspended, state.monitoringPaused != true, state.charging != true else { return nil }
        return state.contactsDue
    }

    /// Signs of life. The newest upload with one names the silence that may follow.
    mutating func heard(_ upload: Upload, _ entries: [Sample]) -> [SupervisionAction] {
        let due = state.now + rules.silenceLimit(declaredInterval: upload.declaredInterval)
        state.silenceDue = max(state.silenceDue ?? due, due)
        (state.contactsDue, state.contactsTold, state.tornSeen) = (nil, nil, nil)
        state.heardTogether = Set(entries.map(\.type).filter(\.definition.vital))
        guard let entry = entries.last else { return [] }
        let at = min(entry.at, upload.receivedAt)
        if at >= state.lastHeard?.at ?? at {
            state.lastHeard = LastHeard(
                metric: entry.type, value: entry.value ?? 0, at: at, heardAt: state.now, receivedAt: upload.receivedAt)
        }
        guard state.stage == .suspended else { return [] }
        state.stage = .monitoring
        return [action(.signalReturned, of: nil, since: at)]
    }

    /// An emergency that is over but for values back in range ends here: with the device off they would never come.
    mutating func fellSilent() -> [SupervisionAction] {
        // Where help was sent the contacts know already.
        if state.stage == .dispatched { state.contactsTold = true }
        let closed = emergencyRuns ? [ended(.closed)] : []
        guard state.monitoringPaused != true else { return closed }
        state.stage = .suspended
        guard state.charging != true else { return closed + [action(.charging, of: nil)] }
        state.contactsDue = state.contactsTold == true ? nil : state.now + rules.silenceContacts
        return closed + [action(.signalLost, of: nil, since: state.lastHeard?.at)]
    }

    /// Once for each silence. An ambulance is only called where something was ever heard: the emergency refers to that entry.
    mutating func contactsMustKnow() -> [SupervisionAction] {
        state.contactsTold = true
        let told = action(.silenceContacts, of: nil, since: state.lastHeard?.at)
        guard rules.silenceCallsAmbulance, let last = state.lastHeard else { return [told] }
        let breach = Breach(metric: last.metric, side: .below, limit: last.value, value: last.value)
        state.stage = .alerted
        // If it is called off, or closed, the silence itself goes on.
        state.silenceDue = state.now
        state.episode = Episode(
            trigger: Trigger(breach: breach, at: last.at, kind: .silence), t0: state.now,
            receivedAt: last.receivedAt + (state.now - last.heardAt), parameters: [.silence])
        return [told, action(.opened)]
    }

    /// Everything that measures the person was put on charge, or something was taken off it. An emergency goes on (CON-32).
    mutating func charging(_ isCharging: Bool, declaredInterval: Duration?, at time: Timestamp) -> [SupervisionAction] {
        let due = timePassed(to: time)
        guard isCharging != (state.charging ?? false) else { return due }
        state.charging = isCharging ? true : nil
        guard state.stage != .off, state.stage != .paused else { return due }
        (state.contactsDue, state.contactsTold) = (nil, nil)
        guard isCharging else {
            // Off its charger it must be heard again.
            let heardBy = state.now + rules.silenceLimit(declaredInterval: declaredInterval)
            state.silenceDue = max(state.silenceDue ?? heardBy, heardBy)
            return due
        }
        guard !emergencyRuns, state.monitoringPaused != true else { return due }
        state.stage = .suspended
        state.silenceDue = nil
        return due + [action(.charging, of: nil)]
    }

    /// The dispatcher was not listening for a while: silence counts from `time` on, since it was its own.
    mutating func listeningAgain(at time: Timestamp) {
        if let due = state.silenceDue { state.silenceDue = max(due, time + rules.signalLost) }
        if let due = state.contactsDue { state.contactsDue = max(due, time + rules.signalLost) }
    }

    /// Ingest itself is not heard, so that nobody can be: contacts hear of silences of the person's own alone.
    mutating func putOffContacts(at time: Timestamp) {
        guard let due = state.contactsDue, due <= time else { return }
        state.contactsDue = time + rules.silenceContacts
    }

    /// As if nothing had ever been heard.
    mutating func forgetSignal() {
        state.latest = [:]
        (state.silenceDue, state.contactsDue, state.contactsTold) = (nil, nil, nil)
        (state.lastHeard, state.unchanged, state.seizure) = (nil, nil, nil)
        (state.heardTogether, state.tornSeen) = (nil, nil)
    }
}
