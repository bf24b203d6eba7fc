// Which message of an emergency is to be sent when: one at a time, again and again, until it is acknowledged.

import Contracts

/// A message on its way. Its bytes are never made anew.
struct OutboxMessage: Hashable, Sendable {
    /// Why nothing more is sent of it.
    enum End: String, Sendable {
        case acknowledged
        /// A later alert or cancel has taken its place.
        case superseded
        /// The person said that help is here.
        case stopped
    }

    let id: MessageID
    let kind: DispatchMessage.Kind
    let body: [UInt8]
    /// On the machine's time line, as are the other times here.
    let createdAt: Timestamp
    var attempts = 0
    var lastAttemptAt: Timestamp?
    var end: End?
}

/// All messages of one emergency, in sequence.
struct DispatchOutbox: Sendable {
    /// How long an attempt may take to reach the other side.
    static let connectDeadline = Duration.seconds(1)
    /// How long its answer is waited for. Further attempts go out meanwhile: a slow desk is heard, and a dead connection holds up nothing.
    static let answerDeadline = Duration.seconds(10)
    /// Attempts of one emergency that wait at once.
    static let attemptsAtOnce = 10

    private(set) var messages: [OutboxMessage] = []

    init(_ messages: [OutboxMessage] = []) {
        self.messages = messages.sorted { $0.id.sequence < $1.id.sequence }
    }

    var nextSequence: Int { (messages.last?.id.sequence ?? -1) + 1 }

    /// The message that is being sent: the first that has not ended.
    var current: OutboxMessage? { messages.first { $0.end == nil } }

    /// When the current message is next sent; nil if there is none. There is no last attempt.
    func nextAttempt(retry: Duration) -> Timestamp? {
        current.map { message in message.lastAttemptAt.map { $0 + retry } ?? message.createdAt }
    }

    /// Whether this is the alert that stands: one whose acknowledgement means that help was called.
    func isLatestAlert(_ id: MessageID) -> Bool {
        messages.last { $0.kind == .alert }?.id == id
    }

    /// Takes a message in. An alert or a cancel takes the place of what is unacknowledged before it; an update waits its turn.
    /// A message that is there already is left as it is.
    mutating func add(_ message: OutboxMessage) {
        guard !messages.contains(where: { $0.id == message.id }) else { return }
        var message = message
        if message.kind != .update {
            for earlier in messages where earlier.end == nil && earlier.id.sequence < message.id.sequence {
                change(earlier.id) { $0.end = .superseded }
            }
        }
        let isOvertaken = messages.contains { $0.kind != .update && $0.id.sequence > message.id.sequence }
        if isOvertaken { message.end = message.end ?? .superseded }
        messages.append(message)
        messages.sort { $0.id.sequence < $1.id.sequence }
    }

    /// Counts an attempt that begins.
    mutating func attempted(_ id: MessageID, at time: Timestamp) {
        change(id) {
            $0.attempts += 1
            $0.lastAttemptAt = time
        }
    }

    /// Ends a message, unless it had ended; says whether it did. One that was superseded may still be acknowledged.
    @discardableResult
    mutating func ended(_ id: MessageID, _ end: OutboxMessage.End) -> Bool {
        guard let message = messages.first(where: { $0.id == id }), message.end != .acknowledged, message.end != end else { return false }
        change(id) { $0.end = end }
        return true
    }

    mutating func endAll(_ end: OutboxMessage.End) {
        for message in messages where message.end == nil {
            change(message.id) { $0.end = end }
        }
    }

    private mutating func change(_ id: MessageID, _ body: (inout OutboxMessage) -> Void) {
        guard let index = messages.firstIndex(where: { $0.id == id }) else { return }
        body(&messages[index])
    }
}
