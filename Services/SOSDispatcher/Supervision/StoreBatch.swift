// What is to be stored together: one consistent cut through the supervision of all people.

import Bus
import Contracts
import ServiceKit

/// Changes since the last commit. Later values replace earlier ones, so that a batch is as large as what it is about.
struct StoreBatch: Sendable {
    var subscribers: [PersonID: Watched] = [:]
    /// States that were sealed before their turn; of nobody who is in `subscribers`.
    var sealed: [PersonID: [UInt8]] = [:]
    var removed: Set<PersonID> = []
    var emergencies: [EmergencyID: EmergencyRecord] = [:]
    var messages: [MessageID: (person: PersonID, message: OutboxMessage)] = [:]
    var lines: [LineID: LineState] = [:]
    var audit: [AuditNote] = []
    var facts: [EmergencyFact] = []
    /// Who has joined or left, in order.
    var subscriptions: [SubscriptionState] = []
    var positions: [String: StreamPosition] = [:]
    /// What the other dispatcher is to know, and what it has told.
    var told: [PairFact] = []
    var heard: [PairFact] = []
    var versions: [PersonID: SettingsVersion] = [:]
    /// What other subjects write in the same transaction: an answer to a request, a message.
    var further: [SealedBatchStore.FurtherWrite] = []

    var isEmpty: Bool {
        subscribers.isEmpty && sealed.isEmpty && removed.isEmpty && emergencies.isEmpty && messages.isEmpty && lines.isEmpty
            && audit.isEmpty && facts.isEmpty && subscriptions.isEmpty
            && positions.isEmpty && told.isEmpty && heard.isEmpty && versions.isEmpty && further.isEmpty
    }

    /// Takes in what has changed since.
    mutating func add(_ later: StoreBatch) {
        for person in later.removed { remove(person) }
        for (person, subscriber) in later.subscribers { put(subscriber, of: person) }
        emergencies.merge(later.emergencies) { $1 }
        messages.merge(later.messages) { $1 }
        lines.merge(later.lines) { $1 }
        positions.merge(later.positions) { $1 }
        audit += later.audit
        facts += later.facts
        subscriptions += later.subscriptions
        told += later.told
        heard += later.heard
        versions.merge(later.versions) { $1 }
        further += later.further
    }

    /// Parts what must be stored before something is done from what may wait: the states of all but `people`, and how far the
    /// streams have been heard. Hearing entries again that a state has heard already changes nothing.
    func parted(urgent people: Set<PersonID>) -> (urgent: StoreBatch, patient: StoreBatch) {
        var (urgent, patient) = (self, StoreBatch())
        patient.subscribers = subscribers.filter { !people.contains($0.key) }
        urgent.subscribers = subscribers.filter { people.contains($0.key) }
        swap(&urgent.positions, &patient.positions)
        return (urgent, patient)
    }

    mutating func put(_ subscriber: Watched, of person: PersonID) {
        subscribers[person] = subscriber
        removed.remove(person)
    }

    mutating func remove(_ person: PersonID) {
        subscribers[person] = nil
        removed.insert(person)
    }
}

extension StoreBatch {
    /// What is said and written down of a step of an emergency.
    /// - Parameter at: when it was decided, as people call it.
    mutating func note(
        _ action: SupervisionAction, of record: EmergencyRecord, in episode: Episode, at: Timestamp, _ rules: SupervisionRules
    ) {
        if let said = action.said {
            let changed = EmergencyChanged(
                emergency: record.id, person: record.person, change: said, at: at,
                measurementsPerSecond: action.keepsAlert ? rules.alertRate : nil)
            facts.append(EmergencyFact(changed: changed, trace: String("\(record.id)".suffix(Crockford.digits))))
        }
        // The acknowledgement itself is noted where it arrives, with who gave it.
        if action.kind != .acknowledged {
            audit.append(AuditNote(at: at, actor: action.actor, action: action.word, object: "\(record.id)", detail: action.detail))
        }
        if action.kind == .opened || action.kind == .askedAgain, let tried = episode.firstTriedAt {
            // By the device's clock: it stands first, and whatever follows can be counted from it (SOS-41).
            audit.append(AuditNote(at: tried, actor: "device", action: "first-tried", object: "\(record.id)"))
        }
    }
}

/// One message to one integrator.
struct LineID: Hashable, Sendable {
    var message: MessageID
    var integrator: String
}

/// How far it is.
struct LineState: Sendable {
    var message: OutboxMessage
    /// The stream that says it to the integrator's peer; nil where there is none.
    var stream: String?
}

/// An audit entry before it has its place in the chain.
struct AuditNote: Hashable, Sendable {
    var at: Timestamp
    var actor: String
    var action: String
    var object: String
    var detail = ""
}

/// What is said on `sos.emergencies` once it is stored.
struct EmergencyFact: Sendable {
    var changed: EmergencyChanged
    var trace: String
}

extension StoredAnswers {
    /// The answer to a mutating request, to be stored with its effect.
    func remembering(_ reply: some Encodable & Sendable, to context: RequestContext) -> SealedBatchStore.FurtherWrite {
        { try remember(reply, to: context, in: $0) }
    }
}
