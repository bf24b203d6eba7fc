// One emergency's messages and the integrators that they go to: who is called, who has refused, who stands by it.

import Contracts

/// Everything that was decided to be said about one emergency, and how far it is with each integrator.
struct DispatchFile: Hashable, Sendable {
    /// In sequence, as they were decided.
    private(set) var decided: [OutboxMessage]
    private(set) var lines: [String: DispatchOutbox]

    init(_ decided: [OutboxMessage] = [], lines: [String: DispatchOutbox] = [:]) {
        (self.decided, self.lines) = (decided.sorted { $0.id.sequence < $1.id.sequence }, lines)
    }

    var nextSequence: Int { (decided.last?.id.sequence ?? -1) + 1 }

    var latestAlert: OutboxMessage? { decided.last { $0.kind == .alert } }

    /// Whether the call that stands was taken by anybody.
    var isTaken: Bool {
        guard let alert = latestAlert else { return false }
        return lines.values.contains { $0.message(alert.id)?.end == .acknowledged }
    }

    /// Whether nothing is to be sent any more.
    var isOver: Bool {
        unassigned.isEmpty && lines.values.allSatisfy { $0.current == nil }
    }

    /// What was decided and, because of a crash, never given to anybody.
    var unassigned: [OutboxMessage] {
        decided.filter { message in !lines.values.contains { $0.message(message.id) != nil } }
    }

    /// What the integrator was told before this message.
    func earlier(than id: MessageID) -> [OutboxMessage] {
        decided.filter { $0.id.sequence < id.sequence }
    }

    // MARK: What happens

    /// Takes a decision in: it goes to whoever was called and has not refused; if that is nobody, to the first of `order`.
    /// The same one again changes nothing.
    mutating func add(_ message: OutboxMessage, order: [String], at now: Timestamp) {
        if !decided.contains(where: { $0.id == message.id }) {
            decided.append(message)
            decided.sort { $0.id.sequence < $1.id.sequence }
        }
        guard unassigned.contains(where: { $0.id == message.id }) else { return }
        var holders = lines.filter { !$0.value.hasRefused }.map(\.key)
        if holders.isEmpty { holders = Array(order.prefix(1)) }
        for holder in holders { lines[holder, default: DispatchOutbox()].add(message) }
    }

    /// Puts the other dispatcher's message in the place of one that was never sent from here; gives that one.
    mutating func adopt(_ theirs: OutboxMessage) -> OutboxMessage? {
        guard let own = decided.first(where: { $0.id == theirs.id }), own.body != theirs.body,
            lines.values.allSatisfy({ $0.message(theirs.id).map { $0.attempts == 0 && $0.end == nil } ?? true })
        else { return nil }
        let holders = lines.filter { $0.value.message(theirs.id) != nil }.map(\.key)
        decided = decided.map { $0.id == theirs.id ? theirs : $0 }
        for holder in holders {
            lines[holder] = lines[holder].map { outbox in DispatchOutbox(outbox.messages.map { $0.id == theirs.id ? theirs : $0 }) }
        }
        return own
    }

    mutating func attempted(_ id: MessageID, by integrator: String, at now: Timestamp) {
        lines[integrator]?.attempted(id, at: now)
    }

    mutating func texted(_ id: MessageID, by integrator: String, _ texts: Int) {
        lines[integrator]?.texted(id, texts)
    }

    /// The integrator takes the message. Says whether that is new. Where it is the call that stands, nobody else is called any more.
    mutating func acknowledged(_ id: MessageID, by integrator: String) -> Bool {
        guard lines[integrator]?.ended(id, .acknowledged) == true else { return false }
        guard latestAlert?.id == id else { return true }
        for other in lines.keys where other != integrator && lines[other]?.message(id)?.end == nil {
            lines[other]?.ended(id, .stopped)
        }
        return true
    }

    /// What follows from a refusal.
    enum Passing: Hashable, Sendable {
        /// It changes nothing: taken already, or another integrator is at it.
        case nothing
        case on(to: String)
        /// All have refused: this one is asked again.
        case again(to: String)
    }

    /// The integrator does not take the message: the next of `order` that was not asked yet gets the whole call as it stands.
    mutating func refused(_ id: MessageID, by integrator: String, order: [String], at now: Timestamp) -> Passing {
        guard let message = lines[integrator]?.message(id), message.end == nil || message.end == .superseded else { return .nothing }
        lines[integrator]?.ended(id, .refused)
        guard message.kind != .cancel, message.end == nil, let alert = latestAlert else { return .nothing }
        let isAtIt = lines.contains { $0.key != integrator && $0.value.isCalled(for: alert.id) }
        guard !isAtIt else { return .nothing }
        if let next = order.first(where: { lines[$0]?.message(alert.id) == nil && $0 != integrator }) {
            for standing in decided where standing.id.sequence >= alert.id.sequence {
                lines[next, default: DispatchOutbox()].add(standing.anew(at: now))
            }
            return .on(to: next)
        }
        guard message.kind == .alert else { return .nothing }
        // A call that nobody takes is repeated without end (SOS-19): whoever was asked longest ago is asked again.
        let asked = order.filter { lines[$0]?.message(alert.id)?.end == .refused }
        let longestAgo = asked.min { one, other in lastAsked(one, alert.id) < lastAsked(other, alert.id) } ?? integrator
        lines[longestAgo]?.reopen(alert.id)
        return .again(to: longestAgo)
    }

    /// Everything that is on its way is taken: two people say so.
    mutating func acknowledgedByHand() {
        for (integrator, outbox) in lines {
            for message in outbox.messages where message.end == nil { lines[integrator]?.ended(message.id, .acknowledged) }
        }
    }

    /// Ends whatever is not acknowledged. Says whether anything was left.
    mutating func stop() -> Bool {
        guard !isOver else { return false }
        for integrator in lines.keys { lines[integrator]?.endAll(.stopped) }
        return true
    }

    private func lastAsked(_ integrator: String, _ id: MessageID) -> Timestamp {
        lines[integrator]?.message(id)?.lastAttemptAt ?? Timestamp(milliseconds: .min)
    }
}

extension DispatchOutbox {
    /// Whether the call that stands was refused: who has refused it is told nothing more.
    fileprivate var hasRefused: Bool { latestAlert?.end == .refused }

    /// Whether the integrator is being asked, or has said yes.
    fileprivate func isCalled(for id: MessageID) -> Bool {
        guard let message = message(id) else { return false }
        return message.end == nil || message.end == .acknowledged
    }
}
