// An emergency as it stands at one dispatcher, for the other one where that knows nothing of it.

import Contracts

/// What was called for, whom it was told to, and what became of that. Without it the other one would give its next message a number that
/// was acknowledged before, so that nothing would be sent, and would have nothing to go on with once it is alone.
struct StandingEmergency: Hashable, Codable, Sendable {
    /// Messages that are told: the alert that stands and the latest behind it.
    static let mostMessages = 8

    /// All times but those of the record are on the sender's time line.
    struct Message: Hashable, Codable, Sendable {
        var sequence: Int
        var kind: DispatchMessage.Kind
        var body: String
        var createdAt: Timestamp
        /// Empty where nobody was given it yet.
        var lines: [Line]
    }

    /// How far a message is with one emergency service.
    struct Line: Hashable, Codable, Sendable {
        var integrator: String
        var createdAt: Timestamp
        var attempts: Int
        var lastAttemptAt: Timestamp?
        var texts: Int
        /// Why nothing more is sent; nil while it is, and for what only a later release knows: a message too many is better than none.
        var end: String?
    }

    var emergency: EmergencyID
    /// The record, by the wall clock.
    var t0: Timestamp
    var state: String
    var dispatchedAt: Timestamp?
    var acknowledgedAt: Timestamp?
    var closedAt: Timestamp?
    /// Number of the next message; nil before the call.
    var next: Int?
    var messages: [Message]

    init(_ record: EmergencyRecord, _ file: DispatchMachine) {
        (emergency, t0, state) = (record.id, record.t0, record.state.rawValue)
        (dispatchedAt, acknowledgedAt, closedAt) = (record.dispatchedAt, record.acknowledgedAt, record.closedAt)
        // What only the other dispatcher has called for yet is called for by whoever decides it under the same number.
        next = record.dispatchedAt == nil ? nil : max(1, file.nextSequence)
        let standing = file.standing
        let told = standing.prefix(1) + standing.dropFirst().suffix(StandingEmergency.mostMessages - 1)
        messages = told.map { message in
            Message(
                sequence: message.id.sequence, kind: message.kind, body: String(decoding: message.body, as: UTF8.self),
                createdAt: message.createdAt, lines: StandingEmergency.lines(of: message.id, in: file))
        }
    }

    private static func lines(of id: MessageID, in file: DispatchMachine) -> [Line] {
        file.lines.sorted { $0.key < $1.key }.compactMap { integrator, outbox in
            outbox.message(id).map { message in
                Line(
                    integrator: integrator, createdAt: message.createdAt, attempts: message.attempts, lastAttemptAt: message.lastAttemptAt,
                    texts: message.texts, end: message.end?.rawValue)
            }
        }
    }

    /// What its messages say, in bytes.
    var size: Int { messages.reduce(0) { $0 + $1.body.utf8.count } }

    /// nil in a state that only a later release knows.
    func record(of person: PersonID) -> EmergencyRecord? {
        EmergencyRecord.State(rawValue: state).map { state in
            EmergencyRecord(
                id: emergency, person: person, t0: t0, state: state, dispatchedAt: dispatchedAt, acknowledgedAt: acknowledgedAt,
                closedAt: closedAt)
        }
    }

    /// - Parameter offset: from the sender's time line to this side's.
    func file(shiftedBy offset: Duration) -> DispatchMachine {
        var decided: [OutboxMessage] = []
        var lines: [String: [OutboxMessage]] = [:]
        for told in messages {
            let message = OutboxMessage(
                id: MessageID(emergency: emergency, sequence: told.sequence), kind: told.kind, body: Array(told.body.utf8),
                createdAt: told.createdAt + offset)
            decided.append(message)
            for line in told.lines {
                var sent = message
                (sent.createdAt, sent.attempts, sent.texts) = (line.createdAt + offset, line.attempts, line.texts)
                sent.lastAttemptAt = line.lastAttemptAt.map { $0 + offset }
                sent.end = line.end.flatMap { OutboxMessage.End(rawValue: $0) }
                lines[line.integrator, default: []].append(sent)
            }
        }
        return DispatchMachine(decided, lines: lines.mapValues { DispatchOutbox($0) })
    }
}
