// What is known of one subscriber: the supervision and what a message will have to tell.

import Contracts

/// Everything that is kept, sealed, about one subscriber. Personal.
struct Subscriber: Hashable, Codable, Sendable {
    var supervision = Supervision.State()
    var places = LatestPlaces()
    var course = RecentCourse()
    /// What an emergency service may be told of the person, as consent says it and as far as the person consented.
    var card: EmergencyCard?
    /// In the order in which they are to be reached.
    var contacts: [EmergencyContact]?
    var preferences: SupervisionPreferences? { didSet { setSupervision() } }
    /// nil for people whom an operator enrolled.
    var clauses: AcceptedClauses?
    /// What the last look at the person's history gave.
    var fit: PersonalFit? { didSet { setSupervision() } }
    /// When the person paused supervision; nil while it is not paused.
    var pausedSince: Timestamp?
    /// When the person subscribed or resumed, by the clock of the dispatcher that was told: the other has it from there.
    var joinedAt: Timestamp?
    /// How well the emergency service that was called knows where the person is; nil where none was, or it need not know any more.
    var placeTold: PlaceKnowledge?

    /// Supervision goes by what is set here, from the next upload on.
    private mutating func setSupervision() {
        supervision.goBy(
            personal: preferences?.personalised ?? true ? fit?.bounds ?? [:] : [:], shaking: preferences?.shaking ?? false,
            falls: preferences?.fallWatch)
    }

    /// Keeps the places, dated by ingest's clock, and values of an upload for a message that may be needed.
    mutating func note(_ upload: Supervision.Upload, watches: (Metric) -> Bool) {
        for entry in upload.entries {
            if let position = entry.position { places.note(position, at: upload.receivedAt - upload.age(of: entry)) }
            if let value = entry.value, Plausibility.isPossible(value, of: entry.type),
                entry.type.definition.vital || watches(entry.type)
            {
                course.note(value, of: entry.type, at: entry.at)
            }
        }
    }
}

/// Where the person was last, newest first, however long ago.
struct LatestPlaces: Hashable, Codable, Sendable {
    struct Place: Hashable, Codable, Sendable {
        var position: Position
        var at: Timestamp
    }

    /// The place of the call and two before it, as in eCall's minimum set of data.
    static let kept = 3

    private(set) var places: [Place] = []

    mutating func note(_ position: Position, at time: Timestamp) {
        guard position.isOnEarth, !places.contains(where: { $0.at == time }) else { return }
        let index = places.firstIndex { $0.at < time } ?? places.count
        places.insert(Place(position: position, at: time), at: index)
        places = Array(places.prefix(LatestPlaces.kept))
    }
}

/// The last values of each vital or watched metric, oldest first.
struct RecentCourse: Hashable, Codable, Sendable {
    struct Reading: Hashable, Codable, Sendable {
        var at: Timestamp
        var value: Double
    }

    static let kept = 10

    private(set) var readings: [Metric: [Reading]] = [:]

    mutating func note(_ value: Double, of metric: Metric, at time: Timestamp) {
        var known = readings[metric] ?? []
        let index = (known.lastIndex { $0.at <= time } ?? -1) + 1
        let reading = Reading(at: time, value: value)
        // What came on the fast path comes again when it is stored.
        if index > 0, known[index - 1] == reading { return }
        known.insert(reading, at: index)
        readings[metric] = known.suffix(RecentCourse.kept)
    }
}
