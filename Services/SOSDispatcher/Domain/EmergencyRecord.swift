// One emergency as it is kept and listed.

import Contracts

struct EmergencyRecord: Hashable, Sendable {
    enum State: String, Sendable, CaseIterable {
        case alerted
        case confirmed
        /// The person is asked once more (SOS-33).
        case askedAgain = "asked-again"
        case dispatching
        case dispatched
        case stoodDown = "stood-down"
        case transient
        case muted
        case closed
    }

    let id: EmergencyID
    let person: PersonID
    /// When ingest received the first critical entry, by its own clock.
    var t0: Timestamp
    var state = State.alerted
    var dispatchedAt: Timestamp?
    var acknowledgedAt: Timestamp?
    var closedAt: Timestamp?

    /// Follows an action of the machine; `time` is the wall clock's name for when it happened.
    mutating func follow(_ kind: SupervisionAction.Kind, at time: Timestamp) {
        switch kind {
        case .opened: (state, closedAt) = (.alerted, nil)
        case .confirmed: state = .confirmed
        case .askedAgain: (state, closedAt) = (.askedAgain, nil)
        case .dispatched:
            (state, closedAt) = (.dispatching, nil)
            dispatchedAt = dispatchedAt ?? time
        case .acknowledged:
            state = .dispatched
            acknowledgedAt = acknowledgedAt ?? time
        case .helpArrived: state = .dispatched
        case .cancelled: state = .stoodDown
        case .transient: (state, closedAt) = (.transient, time)
        case .muted: (state, closedAt) = (.muted, time)
        case .closed: (state, closedAt) = (.closed, time)
        case .worse, .located, .doubted, .doubtEnded, .fell, .fallEnded, .fallUnanswered, .lateCritical, .helpTooLate, .signalLost,
            .signalReturned, .silenceContacts, .shakingAlarm, .shakingCalledOff, .charging:
            break
        }
    }
}
