// Which message of an emergency goes to one integrator when: one at a time, again and again, until it is acknowledged.

import Contracts

/// A message on its way. Its bytes are never made anew.
struct OutboxMessage: Hashable, Sendable {
    /// Why nothing more is sent of it.
    enum End: String, Sendable {
        case acknowledged
        /// A later alert or cancel has taken its place.
        case superseded
        /// The person said that help is here, or somebody else has taken the call.
        case stopped
        /// The integrator does not take it; it is somebody else's turn.
        case refused
        /// A release, cancellation or drill that nobody answered for a day, or whose integrator was removed.
        case givenUp = "given-up"
    }

    let id: MessageID
    let kind: DispatchMessage.Kind
    let body: [UInt8]
    /// On the machine's time line, as are the other times here. For a later integrator: when its turn came.
    var createdAt: Timestamp
    var attempts = 0
    var lastAttemptAt: Timestamp?
    /// Texts of it that were due and handed over; see `TextSchedule`.
    var texts = 0
    var end: End?
    /// When it was refused; nil also after a restart.
    var refusedAt: Timestamp?
    /// Whether it says that the person is worse (SOS-32).
    let isWorse: Bool

    /// - Parameter isWorse: nil: as the body says.
    init(
        id: MessageID, kind: DispatchMessage.Kind, body: [UInt8], createdAt: Timestamp, attempts: Int = 0, lastAttemptAt: Timestamp? = nil,
        texts: Int = 0, end: End? = nil, isWorse: Bool? = nil
    ) {
        (self.id, self.kind, self.body, self.createdAt) = (id, kind, body, createdAt)
        (self.attempts, self.lastAttemptAt, self.texts, self.end) = (attempts, lastAttemptAt, texts, end)
        self.isWorse = isWorse ?? (kind != .cancel && DispatchMessage.saysWorse(body))
    }

    /// Whether attempts come ever more seldom and end one day: nobody's life depends on what is called off.
    var backsOff: Bool { kind == .cancel }

    /// When it is next sent by this way: there is no last attempt. After a restart everything is due at once; texts keep their schedule.
    /// - Parameters:
    ///   - last: when its last attempt by this way began, as far as this process knows.
    ///   - hasFirstFailed: the first address has failed hard: the second does not wait for it.
    func due(by way: DispatchWay, last: Timestamp?, hasFirstFailed: Bool, secondAfter: Duration, pause: Duration) -> Timestamp {
        let again = last.map { $0 + pause } ?? createdAt
        return switch way {
        case .first: again
        case .second: hasFirstFailed ? again : max(again, createdAt + secondAfter)
        case .text: max(again, createdAt + TextSchedule.due(texts))
        }
    }

    /// As it was decided, without what has become of it.
    func anew(at time: Timestamp) -> OutboxMessage {
        OutboxMessage(id: id, kind: kind, body: body, createdAt: time, isWorse: isWorse)
    }
}

/// The messages of one emergency to one integrator, in sequence.
struct DispatchOutbox: Hashable, Sendable {
    /// How long an attempt may take to reach the other side.
    static let connectDeadline = Duration.seconds(1)
    /// How long its answer is waited for. Further attempts go out meanwhile: a slow desk is heard, and a dead connection holds up nothing.
    static let answerDeadline = Duration.seconds(10)
    /// Attempts on one channel of one emergency that wait at once.
    static let attemptsAtOnce = 10
    /// The next integrator is called as well where nobody has acknowledged for so long that the person is worse (SOS-32).
    static let worseAfter = Duration.seconds(10)
    /// When the second endpoint is tried as well, where the first has neither acknowledged nor failed by then.
    static let secondAfter = Duration.milliseconds(700)
    /// All addresses of the service that is responsible have been tried by then, from `t0` (SOS-39).
    static let allTried = Duration.milliseconds(4500)
    /// What a machine may need to begin an attempt that is due.
    private static let margin = Duration.milliseconds(200)
    /// The longest pause between attempts of what backs off.
    static let longestPause = Duration.seconds(60)
    /// After so long what backs off is given up.
    static let givenUpAfter = Duration.seconds(86_400)
    /// How long what backs off is still tried with an integrator that was removed.
    static let removedAfter = Duration.seconds(60)
    /// So many attempts of what backs off are noted each by itself.
    static let notedAttempts = 5

    /// Less than `secondAfter` where calls go out so late that the second address's would be too late.
    static func secondAfter(dispatchAt: Duration) -> Duration {
        min(secondAfter, max(.zero, allTried - margin - dispatchAt))
    }

    /// From one attempt of what backs off to the next: doubled from `retry` to `longestPause`, a quarter more or less, so that the messages of
    /// many emergencies do not come back together to a desk that was down.
    static func pause(after message: OutboxMessage, retry: Duration) -> Duration {
        let doubled = min(longestPause, retry * (1 << min(max(0, message.attempts - 1), 12)))
        // By the emergency, not by chance: asked again it is the same.
        let spread = (message.id.emergency.bits &+ UInt128(message.attempts) &* 7919) % 501
        return min(longestPause, doubled * (750 + Int(spread)) / 1000)
    }

    private(set) var messages: [OutboxMessage] = []

    init(_ messages: [OutboxMessage] = []) {
        self.messages = messages.sorted { $0.id.place < $1.id.place }
    }

    var nextSequence: Int { (messages.last?.id.sequence ?? -1) + 1 }

    /// The message that is being sent: the first that has not ended.
    var current: OutboxMessage? { messages.first { $0.end == nil } }

    var latestAlert: OutboxMessage? { messages.last { $0.kind == .alert } }

    func message(_ id: MessageID) -> OutboxMessage? {
        messages.first { $0.id == id }
    }

    /// Takes a message in. An alert or a cancel takes the place of what is unacknowledged before it; an update waits its turn.
    /// A message that is there already is left as it is.
    mutating func add(_ message: OutboxMessage) {
        guard !messages.contains(where: { $0.id == message.id }) else { return }
        var message = message
        if message.kind != .update {
            for earlier in messages where earlier.end == nil && earlier.id.place < message.id.place {
                change(earlier.id) { $0.end = .superseded }
            }
        }
        let isOvertaken = messages.contains { $0.kind != .update && $0.id.place > message.id.place }
        if isOvertaken { message.end = message.end ?? .superseded }
        insert(message)
    }

    /// As the other dispatcher tells it; see `DispatchMachine.takeIn`.
    mutating func takeIn(_ theirs: DispatchOutbox) {
        for message in theirs.messages {
            guard let known = self.message(message.id) else {
                insert(message)
                continue
            }
            if let end = message.end, known.end == nil { change(message.id) { $0.end = end } }
        }
    }

    /// Another has taken the call: that is all that is still said. Replaces the same release of the other dispatcher's, unless it was sent.
    mutating func release(_ message: OutboxMessage) {
        if let known = self.message(message.id) {
            guard known.attempts == 0, known.end == nil, known.body != message.body else { return }
            messages.removeAll { $0.id == message.id }
        }
        endAll(.stopped)
        insert(message)
    }

    private mutating func insert(_ message: OutboxMessage) {
        messages.append(message)
        messages.sort { $0.id.place < $1.id.place }
    }

    /// Counts an attempt that begins.
    mutating func attempted(_ id: MessageID, at time: Timestamp) {
        change(id) {
            $0.attempts += 1
            $0.lastAttemptAt = time
        }
    }

    /// So many of the texts that were due are on their way.
    mutating func texted(_ id: MessageID, _ texts: Int) {
        change(id) { $0.texts = texts }
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

    /// It is not taken: the integrator's last word, also after it had taken it. Whoever has refused the call that stands is told nothing
    /// more of it; a late word about one that was replaced stops nothing that belongs to its successor.
    mutating func refused(_ id: MessageID, at time: Timestamp) {
        change(id) {
            $0.end = .refused
            $0.refusedAt = time
        }
        guard let alert = latestAlert?.id, alert == id || alert.repeats(id) else { return }
        for later in messages where later.end == nil && later.kind == .update && later.id.place > id.place {
            change(later.id) { $0.end = .stopped }
        }
    }

    /// What was refused, and nobody else is left to take; or was ended by a release or a refusal that is void.
    /// - Parameter time: from when on its answer is waited for; nil: as before.
    mutating func reopen(_ id: MessageID, at time: Timestamp? = nil) {
        change(id) {
            $0.end = nil
            $0.createdAt = time ?? $0.createdAt
        }
    }

    private mutating func change(_ id: MessageID, _ body: (inout OutboxMessage) -> Void) {
        guard let index = messages.firstIndex(where: { $0.id == id }) else { return }
        body(&messages[index])
    }
}

/// When texts of a message are due: with the first attempt, after 10 and 30 s, then each minute, without end.
enum TextSchedule {
    private static let early: [Duration] = [.zero, .seconds(10), .seconds(30)]
    private static let pause = Duration.seconds(60)

    /// How long after the message was due the text of this number is, from 0.
    static func due(_ number: Int) -> Duration {
        number < early.count ? early[number] : (early.last ?? .zero) + pause * (number - early.count + 1)
    }

    /// The latest text that is due by then: those that were missed before it are not made up for.
    static func latest(after elapsed: Duration) -> Int {
        guard let last = early.last, elapsed >= last else { return max(0, early.count { $0 <= elapsed } - 1) }
        return early.count - 1 + Int((elapsed - last).wholeMilliseconds / pause.wholeMilliseconds)
    }
}
