// What the two dispatchers tell each other.

import Contracts
import Foundation

/// One fact of the stream between the two, in either direction. Personal; sealed at rest under the person's key by both ends.
/// Each may be heard more than once and must then change nothing.
enum PairFact: Hashable, Codable, Sendable {
    static let type = PairNews.type
    /// With sequence 0: what the log will say, should the disk ever take it.
    static let provisionalType = "pair-provisional.v1"

    /// What a subscriber has set, or that there is a subscription no more.
    case settings(PersonSettings)
    /// An emergency was opened: should the two ever begin with different entries, they agree on the earlier one.
    case opened(OpenedEmergency)
    /// The person answered the prompt, or reported a false alarm.
    case answered(GivenAnswer)
    /// A message is on its way to an emergency service.
    case attempted(MadeAttempt)
    /// An emergency service has spoken about a message.
    case acknowledged(TakenMessage)
    /// A contact has answered, or was called again.
    case contact(ContactReply)
    /// This side's part in an erasure is done.
    case erased(ErasureID, [ErasedStore])
    /// Another subject's own news, JSON, for the part that has asked for this kind (`PairState.on`).
    case note(kind: String, subject: PersonID?, body: String)

    var subject: PersonID? {
        switch self {
        case .settings(let fact): fact.person
        case .opened(let fact): fact.person
        case .answered(let fact): fact.person
        case .attempted(let fact): fact.person
        case .acknowledged(let fact): fact.person
        case .contact(let fact): fact.person
        case .erased: nil
        case .note(_, let subject, _): subject
        }
    }

    /// As it is told back to whoever has said it before it was stored; nil for what is not. "Help is here" would count as said a second time.
    var returned: PairFact? {
        guard case .answered(var answer) = self else { return self }
        guard answer.answer != .helpIsHere else { return nil }
        answer.isReturned = true
        return .answered(answer)
    }

    func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(self))
    }

    /// nil for what cannot be read: written by a later release, and left to it.
    static func read(_ payload: [UInt8]) -> PairFact? {
        try? JSONDecoder().decode(PairFact.self, from: Data(payload))
    }
}

/// The latest settings of one person win, on both sides alike.
struct PersonSettings: Hashable, Codable, Sendable {
    var person: PersonID
    var version: SettingsVersion
    var settings: SubscriberSettings
    /// Only for one who knows nothing yet: the supervision as it stands.
    var standing: Standing?

    /// One side's state of supervision, and the sender's clock when it was told: the other's time line may be another.
    struct Standing: Hashable, Codable, Sendable {
        var subscriber: Subscriber
        var steady: Timestamp
        var wall: Timestamp
        /// What the person has answered, on the sender's time line; nil for nothing, and from a release that did not tell it.
        var answered: [Watched.Answered]?
        /// The emergency that runs; nil for none, and from a release that did not tell it.
        var emergency: StandingEmergency?
    }
}

/// Orders settings of one person: by when they were made, and among equals the first dispatcher's later than the second's.
struct SettingsVersion: Hashable, Codable, Sendable, Comparable {
    var number: Int64

    static let none = SettingsVersion(number: 0)

    init(number: Int64) {
        self.number = number
    }

    /// Later than `before`, whatever the clock says.
    init(at now: Timestamp, by role: PairRole, after before: SettingsVersion) {
        let side: Int64 = role == .first ? 1 : 0
        let fresh = now.milliseconds * 2 + side
        number = fresh > before.number ? fresh : (before.number / 2 + 1) * 2 + side
    }

    static func < (one: SettingsVersion, other: SettingsVersion) -> Bool { one.number < other.number }
}

struct OpenedEmergency: Hashable, Codable, Sendable {
    var person: PersonID
    var trigger: Trigger
    /// When ingest received the first critical entry, by its own clock: the same for both.
    var receivedAt: Timestamp
    var parameters: Set<Parameter>
    /// nil from a release that knew no directions.
    var breaches: Set<Breach>?
    /// When the device first tried to send that entry, where it says so: it stands in the messages, which are the same on both sides.
    var firstTriedAt: Timestamp?
}

struct GivenAnswer: Hashable, Codable, Sendable {
    var person: PersonID
    /// nil where no emergency ran on the side that was asked.
    var emergency: EmergencyID?
    var answer: AnswerPrompt.Answer
    /// From `t0` of the emergency: it tells the same on both time lines.
    var afterMs: Int64
    /// Of a call for help where nothing ran: its own time, after which the emergency is named.
    var at: Timestamp?
    /// Whether the side that was given it is told it back, in case it has forgotten it; nil is false.
    var isReturned: Bool?
    /// Of "help is here" before the call is taken: true where it was asked back, which the other side skips; false where it was said
    /// again and has ended the calling. nil for all else, and from a release that did not tell the two apart: its second that is heard counts.
    var asksBack: Bool?

    /// As it was given.
    var given: GivenAnswer {
        var given = self
        given.isReturned = nil
        return given
    }
}

struct MadeAttempt: Hashable, Codable, Sendable {
    var person: PersonID
    var emergency: EmergencyID
    var sequence: Int
    var kind: DispatchMessage.Kind
    var integrator: String
    /// The message's bytes, with this side's first attempt: both then send the same.
    var body: String?
    /// By the wall clock of whoever made it.
    var at: Timestamp

    var message: MessageID { MessageID(emergency: emergency, sequence: sequence) }
}

struct TakenMessage: Hashable, Codable, Sendable {
    var person: PersonID
    var integrator: String
    var acknowledgement: Acknowledgement
    /// When it was taken, by the wall clock of whoever was told: what follows from it then says the same on both sides.
    var at: Timestamp?
}
