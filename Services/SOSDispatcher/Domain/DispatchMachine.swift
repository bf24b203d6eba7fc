// One emergency's messages and the integrators that they go to: who is called, who has refused, who stands by it.

import Contracts

/// Everything that was decided to be said about one emergency, and how far it is with each integrator.
struct DispatchMachine: Hashable, Sendable {
    /// In sequence, as they were decided. Releases are not among them: they follow from acknowledgements, and are in the lines alone.
    private(set) var decided: [OutboxMessage]
    private(set) var lines: [String: DispatchOutbox]

    init(_ decided: [OutboxMessage] = [], lines: [String: DispatchOutbox] = [:]) {
        self.decided = decided.filter { !$0.id.isRelease }.sorted { $0.id.place < $1.id.place }
        self.lines = lines
    }

    /// Behind everything that supervision has decided.
    var nextSequence: Int { (decided.last { !$0.id.isRepetition }?.id.sequence ?? -1) + 1 }

    var latestAlert: OutboxMessage? { decided.last { $0.kind == .alert } }

    /// The newest that any message names; nil where none does.
    var place: ServiceArea.Corner? { decided.reversed().lazy.compactMap { DispatchMessage.place(in: $0.body) }.first }

    /// Whether the integrator may know how the emergency goes on: it was called, and has not rejected the call that stands.
    func isOpen(to integrator: String) -> Bool {
        lines[integrator].map { !$0.hasRefused } ?? false
    }

    /// Whether the call that stands was taken by anybody.
    var isTaken: Bool {
        guard let alert = latestAlert else { return false }
        return lines.values.contains { $0.message(alert.id)?.end == .acknowledged }
    }

    /// Whether a cancellation is the last word.
    var isCalledOff: Bool { decided.last { $0.kind != .update }?.kind == .cancel }

    /// Whether whoever was asked has refused the call that stands, and nobody has taken it.
    var isRefused: Bool {
        guard let alert = latestAlert, !isCalledOff, !isTaken else { return false }
        let ends = lines.values.compactMap { $0.message(alert.id) }.map(\.end)
        return ends.contains(.refused) && !ends.contains(nil)
    }

    /// Whether nothing is to be sent any more.
    var isOver: Bool {
        unassigned.isEmpty && lines.values.allSatisfy { $0.current == nil } && !isRefused
    }

    /// Whether nothing is on its way but releases: help does not depend on what is left.
    var isSettled: Bool {
        unassigned.isEmpty && lines.values.allSatisfy { $0.current.map(\.id.isRelease) ?? true }
    }

    /// What was decided and, because of a crash, never given to anybody.
    var unassigned: [OutboxMessage] {
        decided.filter { message in !lines.values.contains { $0.message(message.id) != nil } }
    }

    /// What the integrator was told before this message.
    func earlier(than id: MessageID) -> [OutboxMessage] {
        decided.filter { $0.id.place < id.place || id.isRelease }
    }

    /// The call that stands with everything behind it, releases included, in sequence.
    var standing: [OutboxMessage] {
        let earliest = latestAlert?.id.place ?? 0
        var known = Dictionary(decided.map { ($0.id, $0) }) { first, _ in first }
        for message in lines.values.flatMap(\.messages) where message.id.isRelease { known[message.id] = message }
        return known.values.filter { $0.id.place >= earliest }.sorted { $0.id.place < $1.id.place }
    }

    // MARK: What happens

    /// Takes in how the emergency stands at the other dispatcher. What is known here stays as it is, but for what has ended there alone.
    mutating func takeIn(_ theirs: DispatchMachine) {
        let unknown = theirs.decided.filter { told in !decided.contains { $0.id == told.id } }
        decided = (decided + unknown).sorted { $0.id.place < $1.id.place }
        for (integrator, outbox) in theirs.lines { lines[integrator, default: DispatchOutbox()].takeIn(outbox) }
    }

    /// Takes a decision in: it goes to whoever was called, has not refused and was not released; if that is nobody, to the first of
    /// `order`.
    /// The same one again changes nothing.
    mutating func add(_ message: OutboxMessage, order: [String], at now: Timestamp) {
        if !decided.contains(where: { $0.id == message.id }) {
            decided.append(message)
            decided.sort { $0.id.place < $1.id.place }
        }
        guard unassigned.contains(where: { $0.id == message.id }) else { return }
        var holders = lines.filter { !$0.value.hasRefused && !$0.value.isReleased }.map(\.key)
        if holders.isEmpty { holders = Array(order.prefix(1)) }
        for holder in holders {
            let hasTaken = message.id.isRepetition && lines[holder]?.latestAlert?.end == .acknowledged
            lines[holder, default: DispatchOutbox()].add(message)
            if hasTaken { lines[holder]?.ended(message.id, .acknowledged) }
        }
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

    /// The integrator takes the message. Says whether that is new. Where it is the call that stands, nobody else is called any more, and
    /// whoever is being called for it is released. Nobody is released who has taken it: of two who take it at once, both go.
    /// - Parameter release: makes the message that says so; its `seq` comes behind everything that was decided.
    mutating func acknowledged(
        _ id: MessageID, by integrator: String, release: (_ alert: OutboxMessage, _ seq: Int) -> OutboxMessage? = { _, _ in nil }
    ) -> Bool {
        guard lines[integrator]?.ended(id, .acknowledged) == true else { return false }
        guard let alert = latestAlert, alert.id == id else { return true }
        if lines[integrator]?.message(id.release)?.end == nil { lines[integrator]?.ended(id.release, .stopped) }
        let others = lines.keys.filter { $0 != integrator && lines[$0]?.isBeingSent(id) == true }
        guard !others.isEmpty else { return true }
        let message = release(alert, nextSequence)
        for other in others {
            lines[other]?.ended(id, .stopped)
            if let message { lines[other]?.release(message) }
        }
        return true
    }

    /// Takes over a release that the other dispatcher has made and sent to this integrator.
    mutating func released(_ integrator: String, by theirs: OutboxMessage) {
        guard lines[integrator]?.messages.contains(where: { $0.id.release == theirs.id && $0.end == .acknowledged }) != true else { return }
        lines[integrator, default: DispatchOutbox()].release(theirs)
        for other in lines.keys where lines[other]?.message(theirs.id) != nil { lines[other]?.release(theirs) }
    }

    /// What follows from a refusal.
    enum Passing: Hashable, Sendable {
        /// It changes nothing: another has taken the call, or is at it.
        case nothing
        case on(to: String)
        /// All have refused: each is asked again after a while (`askAgain`).
        case refusedByAll
    }

    /// The integrator does not take the message, or not any more: the next of `order` that was not asked yet gets the whole call as it stands.
    /// Whoever was released, because this integrator had taken the call, is called anew.
    /// - Parameter repetition: the alert once more under its next name; its `seq` comes behind everything that was decided.
    mutating func refused(
        _ id: MessageID, by integrator: String, order: [String], at now: Timestamp,
        repetition: (_ alert: OutboxMessage, _ seq: Int) -> OutboxMessage? = { _, _ in nil }
    ) -> Passing {
        guard let message = lines[integrator]?.message(id), message.end != .refused, message.end != .stopped, message.end != .givenUp else {
            return .nothing
        }
        let stands = message.end == nil || message.end == .acknowledged
        lines[integrator]?.refused(id, at: now)
        // Had it taken the call, it had taken its repetition without being told of it: it rejects both.
        if message.end == .acknowledged, let latest = latestAlert?.id, latest != id, latest.repeats(id),
            lines[integrator]?.message(latest)?.end == .acknowledged
        {
            return refused(latest, by: integrator, order: order, at: now, repetition: repetition)
        }
        guard message.kind != .cancel, stands, !isCalledOff, let alert = latestAlert, id.place >= alert.id.place else { return .nothing }
        guard !lines.contains(where: { $0.key != integrator && $0.value.message(alert.id)?.end == .acknowledged }) else { return .nothing }
        if id == alert.id, message.end == .acknowledged, lines.values.contains(where: \.isReleased),
            let again = repetition(alert, nextSequence), let next = callAnew(again, order: order, at: now)
        {
            return .on(to: next)
        }
        if let next = next(of: order), next != integrator {
            join(next, at: now)
            return .on(to: next)
        }
        return isRefused ? .refusedByAll : .nothing
    }

    /// The call under a new name, since those who were released take the old one for settled. Who has refused it has refused this one, and
    /// who has taken it has taken this one.
    /// - Returns: who gets it first; nil where there is nobody else.
    private mutating func callAnew(_ alert: OutboxMessage, order: [String], at now: Timestamp) -> String? {
        let refusing = lines.filter(\.value.hasRefused).map(\.key)
        let taking = lines.filter { $0.value.latestAlert?.end == .acknowledged }.map(\.key)
        let known = order + lines.keys.sorted().filter { !order.contains($0) }
        guard let next = known.first(where: { !refusing.contains($0) && !taking.contains($0) }) else { return nil }
        decided.append(alert)
        decided.sort { $0.id.place < $1.id.place }
        for refuser in refusing {
            lines[refuser]?.add(alert)
            lines[refuser]?.refused(alert.id, at: now)
        }
        for taker in taking {
            lines[taker]?.add(alert)
            lines[taker]?.ended(alert.id, .acknowledged)
        }
        takeUp(next, at: now)
        return next
    }

    /// Where nobody is left who was not asked and nobody has taken the call, whoever refused it longer ago than `bound` is asked again,
    /// without end (SOS-19, SOS-39). Gives those.
    mutating func askAgain(after bound: Duration, order: [String], at now: Timestamp) -> [String] {
        guard let alert = latestAlert, !isTaken, !isCalledOff, next(of: order) == nil else { return [] }
        let due = lines.filter { _, outbox in
            guard let message = outbox.message(alert.id), message.end == .refused else { return false }
            return (message.refusedAt ?? message.lastAttemptAt ?? message.createdAt) + bound <= now
        }.map(\.key).sorted()
        for integrator in due {
            lines[integrator]?.reopen(alert.id)
            takeUp(integrator, at: now)
        }
        return due
    }

    /// Everything that is on its way is taken: two people say so.
    mutating func acknowledgedByHand() {
        for (integrator, outbox) in lines {
            for message in outbox.messages where message.end == nil { lines[integrator]?.ended(message.id, .acknowledged) }
        }
    }

    /// Ends whatever is not acknowledged; who has refused is not asked again. Says whether anything was left.
    mutating func stop() -> Bool {
        guard !isOver else { return false }
        for integrator in lines.keys {
            lines[integrator]?.endAll(.stopped)
            if let alert = latestAlert, lines[integrator]?.hasRefused == true { lines[integrator]?.ended(alert.id, .stopped) }
        }
        return true
    }

    /// Nothing more is sent of a message to an integrator that does not answer.
    mutating func giveUp(_ id: MessageID, with integrator: String) {
        lines[integrator]?.ended(id, .givenUp)
    }

    // MARK: Who else is called

    /// The first of `order` that was not asked to take the call that stands.
    private func next(of order: [String]) -> String? {
        latestAlert.flatMap { alert in order.first { lines[$0]?.message(alert.id) == nil } }
    }

    /// Who was asked to take the call that stands.
    var asked: Set<String> {
        latestAlert.map { alert in Set(lines.filter { $0.value.message(alert.id) != nil }.keys) } ?? []
    }

    /// The integrator gets the whole call as it stands, whoever else has it.
    mutating func join(_ integrator: String, at now: Timestamp) {
        guard let alert = latestAlert else { return }
        for standing in decided where standing.id.place >= alert.id.place {
            lines[integrator, default: DispatchOutbox()].add(standing.anew(at: now))
        }
    }

    /// As `join`, where it was told nothing more.
    private mutating func takeUp(_ integrator: String, at now: Timestamp) {
        guard let alert = latestAlert else { return }
        for standing in decided where standing.id.place > alert.id.place {
            if lines[integrator]?.message(standing.id)?.end == .stopped { lines[integrator]?.reopen(standing.id, at: now) }
        }
        join(integrator, at: now)
    }

    /// When the call goes to one more: so long after the turn of the latest one who was asked, while nobody has taken it; and so long after the
    /// latest one was told that the person is worse, while nobody has acknowledged that. nil where neither is waited for.
    func escalation(after bound: Duration, worse: Duration = DispatchOutbox.worseAfter) -> Timestamp? {
        let told = lines.values.compactMap { outbox in latestAlert.flatMap { outbox.message($0.id)?.createdAt } }.max()
        let unheard = unheardWorse.compactMap { news in
            (lines.values.compactMap { $0.message(news.id)?.createdAt } + [told].compactMap(\.self)).max()
        }.min()
        return [callsSince.map { $0 + bound }, unheard.map { $0 + worse }].compactMap(\.self).min()
    }

    /// Since when the latest one who was asked has been called in vain; nil where nobody is being called.
    private var callsSince: Timestamp? {
        guard let alert = latestAlert, !isTaken, lines.values.contains(where: { $0.isBeingSent(alert.id) }) else { return nil }
        return lines.values.compactMap { $0.turn(of: alert.id) }.max()
    }

    /// What says that the person is worse, is being sent, and was acknowledged by nobody.
    private var unheardWorse: [OutboxMessage] {
        guard let alert = latestAlert else { return [] }
        return decided.filter { message in
            message.isWorse && message.id.place >= alert.id.place && lines.values.contains { $0.isBeingSent(message.id) }
                && !lines.values.contains { $0.message(message.id)?.end == .acknowledged }
        }
    }

    /// Whether one more integrator may be called: nobody has taken the call, or nobody has acknowledged that the person is worse.
    var isOpen: Bool { !isTaken || !unheardWorse.isEmpty }

    /// Whether there is somebody to call anew who was released.
    var hasReleased: Bool { lines.values.contains(where: \.isReleased) }

    /// Calls one more in addition to everybody who has not answered yet, and says whom; nil where it is not time, or nobody is left. Those who
    /// are called already go on being called without end (SOS-19). Where the call is taken, whoever was released from it comes before
    /// whoever was never asked.
    mutating func escalate(
        after bound: Duration, worse: Duration = DispatchOutbox.worseAfter, order: [String], at now: Timestamp,
        repetition: (_ alert: OutboxMessage, _ seq: Int) -> OutboxMessage? = { _, _ in nil }
    ) -> String? {
        guard let due = escalation(after: bound, worse: worse), due <= now else { return nil }
        if isTaken, hasReleased, let again = latestAlert.flatMap({ repetition($0, nextSequence) }),
            let next = callAnew(again, order: order, at: now)
        {
            return next
        }
        guard let next = next(of: order) else { return nil }
        join(next, at: now)
        return next
    }

    /// Whether nobody was asked to take the call that stands after this one.
    func isLatestAsked(_ integrator: String) -> Bool {
        guard let alert = latestAlert, let turn = lines[integrator]?.turn(of: alert.id) else { return false }
        return lines.values.allSatisfy { outbox in outbox.turn(of: alert.id).map { $0 <= turn } ?? true }
    }
}

extension DispatchOutbox {
    /// Whether the call that stands was refused: who has refused it is told nothing more.
    fileprivate var hasRefused: Bool { latestAlert?.end == .refused }

    /// Whether the integrator is to hear nothing more, because another has the call. Who has taken it too goes on hearing.
    fileprivate var isReleased: Bool {
        guard let release = messages.last(where: \.id.isRelease) else { return false }
        guard let alert = latestAlert else { return true }
        return release.id == alert.id.release && alert.end != .acknowledged
    }

    /// Whether the integrator is to hear it and has not answered.
    fileprivate func isBeingSent(_ id: MessageID) -> Bool { message(id).map { $0.end == nil } ?? false }

    /// Since when the integrator has been called in vain up to this alert: one that takes the place of an unanswered one does not begin the
    /// wait anew.
    fileprivate func turn(of id: MessageID) -> Timestamp? {
        guard let index = messages.firstIndex(where: { $0.id == id }) else { return nil }
        let unanswered = messages[..<index].reversed().prefix { $0.kind != .cancel && ($0.kind == .update || $0.end == .superseded) }
        return unanswered.last { $0.kind == .alert }?.createdAt ?? messages[index].createdAt
    }
}
