// How well it is known where somebody is, and when the emergency service is to hear of it again (SOS-20).

import Contracts

/// How far a place can be relied on; the greater is the better.
enum PlaceKnowledge: Int, Codable, Comparable, Sendable {
    /// No place was ever known.
    case none
    /// Measured too long ago, or not accurately enough to be relied on.
    case doubtful
    case trusted

    static func < (one: PlaceKnowledge, other: PlaceKnowledge) -> Bool { one.rawValue < other.rawValue }
}

extension LatestPlaces {
    /// By the newest place, as a message of this moment would tell it.
    func knowledge(at now: Timestamp) -> PlaceKnowledge {
        guard let newest = places.first else { return .none }
        let accurate = newest.position.accuracy.map { $0 <= DispatchLetterhead.trustedAccuracy } ?? true
        return accurate && max(.zero, now - newest.at) <= DispatchLetterhead.placeTrusted ? .trusted : .doubtful
    }
}

extension Episode {
    /// The wall clock's name for a time of the machine: the same for whoever judges the same entries.
    func wall(_ time: Timestamp) -> Timestamp { receivedAt + (time - t0) }
}

extension Subscriber {
    /// Keeps in mind how well the emergency service knows the place, once an action has told it anything, or needs it no more.
    mutating func noteTold(_ action: SupervisionAction) {
        switch action.kind {
        case .dispatched, .worse, .located:
            placeTold = action.episode.map { places.knowledge(at: $0.wall(action.at)) }
        case .helpArrived, .cancelled, .transient, .muted, .closed: placeTold = nil
        case .opened, .askedAgain, .confirmed, .acknowledged, .doubted, .doubtEnded, .fell, .fallEnded, .fallUnanswered, .lateCritical,
            .helpTooLate, .signalLost, .signalReturned, .silenceContacts, .shakingAlarm, .shakingCalledOff, .charging:
            break
        }
    }

    /// After the call, better knowledge of the place than was told is an update: at most two of an emergency, since a movement is none.
    func located(_ machine: Supervision) -> SupervisionAction? {
        guard let told = placeTold, let episode = machine.state.episode,
            machine.state.stage == .dispatching || machine.state.stage == .dispatched,
            places.knowledge(at: episode.wall(machine.state.now)) > told
        else { return nil }
        return machine.action(.located)
    }
}
