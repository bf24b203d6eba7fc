// Every way in which a promise of the suite can be found broken.

import Contracts

enum Violation: Hashable, Sendable, CustomStringConvertible {
    // Entries
    case lost(SampleKey)
    case altered(SampleKey)
    case invented(SampleKey)
    case storedTwice(SampleKey)
    // Emergencies
    case missed(PersonID)
    case calledTwice(PersonID)
    case calledWithoutBreach(PersonID)
    /// `upload`: which of the critical uploads it was that became the trigger, if any.
    case wrongStart(EmergencyID, milliseconds: Int64, upload: Int?)
    case neverArrived(EmergencyID)
    case unacknowledged(EmergencyID)
    case late(EmergencyID, milliseconds: Int64)
    // The desk
    case unverified(message: String)
    /// `members`: those of the message that are not as they came first, as far as the desk could say.
    case differingBytes(message: String, members: [String])
    case unknownMessage(message: String)
    // Streams
    case gap(stream: String, missing: Int)
    case appliedTwice(stream: String, facts: Int)
    case outOfOrder(stream: String)
    case behind(consumer: String, stream: String, by: Int64)
    // Stores
    case auditBroken(row: Int64)
    case corrupt(file: String, verdict: String)

    /// Entries are named by person and time alone.
    var description: String {
        switch self {
        case .lost(let key): "an acknowledged entry is lost: \(key.person) \(key.type) \(key.at.rfc3339)"
        case .altered(let key): "an acknowledged entry has another value: \(key.person) \(key.type) \(key.at.rfc3339)"
        case .invented(let key): "an entry was never sent: \(key.person) \(key.type) \(key.at.rfc3339)"
        case .storedTwice(let key): "an entry is read back twice: \(key.person) \(key.type) \(key.at.rfc3339)"
        case .missed(let person): "no ambulance was called for \(person)"
        case .calledTwice(let person): "one breach of \(person) made several emergencies"
        case .calledWithoutBreach(let person): "an ambulance was called for \(person), who was well"
        case .wrongStart(let emergency, let milliseconds, let upload):
            "t0 of \(emergency) lies \(milliseconds) ms outside of its first upload: "
                + (upload.map { "critical upload \($0) became the trigger" } ?? "no critical upload was under way then")
        case .neverArrived(let emergency): "the desk never saw the first alert of \(emergency)"
        case .unacknowledged(let emergency): "\(emergency) has no acknowledgement"
        case .late(let emergency, let milliseconds): "\(emergency) was acknowledged after \(milliseconds) ms"
        case .unverified(let message): "the desk could not verify \(message)"
        case .differingBytes(let message, let members):
            "\(message) came with different bytes" + (members.isEmpty ? "" : ", in \(members.joined(separator: ", "))")
        case .unknownMessage(let message): "nobody's emergency sent \(message)"
        case .gap(let stream, let missing): "\(stream): \(missing) facts were not applied"
        case .appliedTwice(let stream, let facts): "\(stream): \(facts) facts were applied twice"
        case .outOfOrder(let stream): "\(stream): facts were applied out of order"
        case .behind(let consumer, let stream, let by): "\(consumer) is \(by) facts from the head of \(stream)"
        case .auditBroken(let row): "the audit chain is broken at row \(row)"
        case .corrupt(let file, let verdict): "\(file) is corrupt: \(verdict)"
        }
    }
}
