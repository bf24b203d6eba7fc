// One alarm as a person's emergency contacts live through it: who was told what, and who has said what.

import Contracts

/// Names what contacts are alarmed about: an emergency, or an alarm that calls no ambulance.
enum Occasion: Identified { static let prefix = "occ" }
typealias OccasionID = Identifier<Occasion>

/// Personal, and sealed at rest: it holds the contacts as they were when the alarm began.
struct ContactCase: Hashable, Codable, Sendable {
    enum Kind: String, Codable, Sendable {
        case emergency
        case shaking
        case silence
        /// Something that may be an emergency while the person is asked: a doubted or late reading, a late call for help.
        case concern
        /// A fall that the person has not answered.
        case fall
    }

    enum Answer: String, Codable, Sendable, CaseIterable {
        case seen
        case onMyWay = "on-my-way"
        case onScene = "on-scene"
        case cannot

        /// Somebody goes there or is there.
        var isHelp: Bool { self == .onMyWay || self == .onScene }
    }

    enum End: String, Codable, Sendable {
        case falseAlarm = "false-alarm"
        case over
    }

    struct Contact: Hashable, Codable, Sendable {
        var who: EmergencyContact
        var answer: Answer?
        var answeredAt: Timestamp?
    }

    /// One message to one contact; sent once, whatever happens.
    struct Notice: Hashable, Codable, Sendable {
        enum Matter: Hashable, Codable, Sendable {
            /// Text and call at once.
            case alert
            /// The nth call down the list, from 1.
            case call(Int)
            /// The emergency service has taken the call.
            case informed
            /// The contact at this place of the list is on the way.
            case onTheWay(Int)
            case falseAlarm
            /// It became worse, for the nth time.
            case worse(Int)
        }

        /// Place in the list, from 0.
        var to: Int
        var matter: Matter

        /// In the timeline, and part of the message's name.
        var word: String {
            switch matter {
            case .alert: "alert"
            case .call(let number): "call-\(number)"
            case .informed: "informed"
            case .onTheWay(let contact): "on-the-way-\(contact + 1)"
            case .falseAlarm: "false-alarm"
            case .worse(let number): "worse-\(number)"
            }
        }
    }

    var id: OccasionID
    var person: PersonID
    var kind: Kind
    /// The emergency, where it is one.
    var emergency: EmergencyID?
    /// As contacts are told; empty where it is not known.
    var name: String
    /// The order in which the person wants them called.
    var contacts: [Contact]
    /// Where the person was when the alarm began.
    var place: LatestPlaces.Place?
    /// When help was called, when shaking was felt, or when the last sign of life came; by the wall clock: people read it.
    var happenedAt: Timestamp
    /// When contacts were first to be told, by the wall clock.
    var beganAt: Timestamp
    /// When contacts were first told, on the machine's time line: calls are repeated by it.
    var alertedAt: Timestamp
    /// By the wall clock.
    var informedAt: Timestamp?
    /// When it became worse, each time that contacts hear of it; nil: never.
    var worseAt: [Timestamp]?
    var end: End?
    /// By the wall clock: the links die some time after it.
    var endedAt: Timestamp?
    var sent: Set<Notice> = []
    var calls = 0
    var lastCallAt: Timestamp?
    /// How often it was taken up again: messages of another round are other messages.
    var round = 0

    /// How long links go on opening after the end.
    static let linkLife = Duration.seconds(24 * 3600)
    /// However an alarm ends: nothing of it is kept longer.
    static let longestLife = Duration.seconds(7 * 24 * 3600)
    /// Shaking has no end of its own: after this it is over, unless the person has called it off.
    static let shakingLife = Duration.seconds(6 * 3600)

    /// Whether nothing opens any more.
    func isDead(at now: Timestamp) -> Bool {
        endedAt.map { now >= $0 + Self.linkLife } ?? (now >= beganAt + Self.longestLife)
    }

    /// False where nothing changes.
    mutating func answered(_ answer: Answer, by position: Int, at now: Timestamp) -> Bool {
        guard contacts.indices.contains(position), contacts[position].answer != answer else { return false }
        (contacts[position].answer, contacts[position].answeredAt) = (answer, now)
        return true
    }

    mutating func ended(_ end: End, at now: Timestamp) -> Bool {
        guard self.end == nil else { return false }
        (self.end, endedAt) = (end, now)
        return true
    }

    /// False where it was known.
    mutating func informed(at now: Timestamp) -> Bool {
        guard informedAt == nil, end == nil else { return false }
        informedAt = now
        return true
    }

    /// False after the end.
    mutating func worsened(at now: Timestamp) -> Bool {
        guard end == nil else { return false }
        worseAt = (worseAt ?? []) + [now]
        return true
    }

    /// What was a concern is called for. False where it was an emergency before.
    mutating func becomesEmergency(_ called: EmergencyID?) -> Bool {
        guard kind != .emergency else { return false }
        (kind, emergency) = (.emergency, called)
        return true
    }

    /// The person asked for help again after it had been called off.
    /// - Parameter steady: the same instant on the machine's time line.
    mutating func takenUpAgain(at now: Timestamp, _ steady: Timestamp, evenIfOpen: Bool = false) -> Bool {
        guard end != nil || evenIfOpen else { return false }
        (end, endedAt, informedAt, worseAt, sent, calls, lastCallAt) = (nil, nil, nil, nil, [], 0, nil)
        (happenedAt, beganAt, alertedAt) = (now, now, steady)
        for index in contacts.indices { (contacts[index].answer, contacts[index].answeredAt) = (nil, nil) }
        round += 1
        return true
    }
}
