// Decides when the parts of the suite are started, started again and stopped. Pure: times arrive as arguments, actions leave as values.

/// What the supervisor has to do next, in the order given.
enum SupervisorAction: Hashable, Sendable {
    case start(String)
    /// Ask it to finish its work and exit.
    case terminate(String)
    /// It did not exit within its bound.
    case kill(String)
    case report(SupervisorNotice)
    /// Everything has exited; the supervisor's own exit code.
    case finished(ExitStatus)
}

/// What is reported to an operator.
enum SupervisorNotice: Hashable, Sendable {
    /// Every part is ready; reported once.
    case everythingIsReady
    /// What can run runs, without these; reported once, where not everything was ready before.
    case readyWithout([String])
    /// Everything has started and runs, and these have not been ready since, with a full disk for instance; reported once, as the other.
    case unready([String])
    case restarting(String, status: ChildStatus)
    case readyAgain(String)
    /// It exits again and again; it is still started each second.
    case crashLoop(String, status: ChildStatus)
    /// It refuses to start with what it finds, and has written why; reported again where the reason changes. Unless `again`, nothing else
    /// runs either and the suite ends.
    case refused(String, reason: String, again: Bool)
    /// One that had refused has started.
    case mended(String)
    case unresponsive(String)
    case killed(String)
}

/// How a child process ended.
enum ChildStatus: Hashable, Sendable, CustomStringConvertible {
    case exited(Int32)
    case signalled(Int32)
    case couldNotStart(String)

    var description: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .signalled(let number): "signal \(number)"
        case .couldNotStart(let reason): reason
        }
    }
}

/// The life of all parts. They are started in the given order without waiting for each other, since every service copes with
/// the absence of others; they are stopped one after the other in reverse order, so that a publisher outlives its consumers. For the same
/// reason one that refuses to start takes nobody with it: rescue goes on with whoever runs.
struct SupervisorMachine: Sendable {
    struct Limits: Hashable, Sendable {
        /// This many exits within `crashWindow` are a crash loop; until then a part is started again at once.
        var crashes = 5
        var crashWindow = Duration.seconds(10)
        /// Between the starts of a part in a crash loop; never grows, because somebody's life may wait for it.
        var loopPause = Duration.seconds(1)
        /// Longest time between the starts of a part that refuses, so that a mend is taken up by itself; the first is `loopPause`, and each
        /// is twice the one before, since what stood in the way may also pass.
        var refusalPause = Duration.seconds(30)
        /// Since the start of the youngest part, until it is reported that what has started is not ready: whoever waits for the suite's
        /// start would end it.
        var unreadyBound = Duration.seconds(60)
        /// For a part to exit after it was asked to; longer than a service's own drain.
        var stopBound = Duration.seconds(10)
        /// A part that was ready and answers no probe for so long hangs and is replaced; so is a door that does not come back to answer one.
        var hangBound = Duration.seconds(10)
        /// A part that has sent heartbeats and sends none for so long has failed and is replaced, and so has a door that leaves a probe
        /// unanswered for so long and does nothing. One tick later at the latest it is noticed: within a second (SOS-41).
        var silenceBound = Duration.milliseconds(900)
        /// For the first heartbeat of a new life of a part that has sent some before: it leaves before anything is opened.
        var firstBeatBound = Duration.seconds(5)
        /// Between two calls of `timePassed`.
        var tick = Duration.milliseconds(100)

        /// What children receive as `silenceBound`: they send five beats in that time.
        static let beatBound = Duration.seconds(1)
    }

    private enum State: Hashable {
        case idle
        case running
        case pausing(until: Duration)
        case stopping(since: Duration, killed: Bool)
        case stopped
    }

    private struct Refusal {
        var reason: String
        var count: Int
    }

    private struct Part {
        let name: String
        /// False for one that only leads to others.
        let servesAlone: Bool
        var state = State.idle
        var exits: [Duration] = []
        /// Since it runs: when it answered a probe last, once it was ready.
        var answeredAt: Duration?
        /// Since it runs: when the first probe began that it has not answered.
        var askedAt: Duration?
        /// Since it runs: when it was started, and when its last heartbeat came.
        var startedAt = Duration.zero
        var lastHeartbeatAt: Duration?
        var wasReady = false
        /// Whether it sends heartbeats.
        var sendsHeartbeats = false
        /// Since it runs: whether it reported that it has started, or that it is ready.
        var hasStarted = false
        var reportedLoop = false
        /// Until it has started again.
        var refusal: Refusal?

        var isReady: Bool { state == .running && answeredAt != nil }
        /// Whether the others go on without it.
        var isMissing: Bool { refusal != nil || reportedLoop && !isReady }

        mutating func runs(from now: Duration) {
            (state, startedAt, answeredAt, askedAt, lastHeartbeatAt, hasStarted) = (.running, now, nil, nil, nil, false)
        }
    }

    private let limits: Limits
    private var parts: [Part]
    private var lastTick = Duration.zero
    private var isStopping = false
    private var reportedReady = false
    private var reportedMissing = false
    /// Whether a part that serves alone has ever started.
    private var hasServed = false
    private var outcome = ExitStatus.ok
    private var isFinished = false

    /// - Parameters:
    ///   - names: all different, in the order of starting.
    ///   - doors: those of them that only lead to others, for which alone nothing is kept running.
    init(parts names: [String], doors: Set<String> = [], limits: Limits = Limits()) {
        parts = names.map { Part(name: $0, servesAlone: !doors.contains($0)) }
        self.limits = limits
    }

    mutating func begun(at now: Duration) -> [SupervisorAction] {
        lastTick = now
        return parts.indices.map { index in
            parts[index].runs(from: now)
            return .start(parts[index].name)
        }
    }

    /// A probe of the part's readiness begins. The silence of a door counts from here: while nobody asks, it owes no answer.
    mutating func asked(_ name: String, at now: Duration) {
        guard let index = index(of: name), parts[index].state == .running else { return }
        parts[index].askedAt = parts[index].askedAt ?? now
    }

    /// The part has used the processor for a while: it is busy rather than halted, and `hangBound` alone judges it.
    mutating func worked(_ name: String, at now: Duration) {
        guard let index = index(of: name), parts[index].state == .running else { return }
        parts[index].askedAt = parts[index].askedAt.map { _ in now }
    }

    /// A probe of the part's readiness was answered.
    /// - Parameter isReady: whether it takes work. One that was ready may report that it is not, with a full disk for instance: it does not
    ///   hang.
    mutating func answered(_ name: String, isReady: Bool = true, at now: Duration) -> [SupervisorAction] {
        guard let index = index(of: name), parts[index].state == .running else { return [] }
        // A door that was not asked in this life did not answer in it: what comes late is of the life before.
        guard parts[index].servesAlone || parts[index].askedAt != nil else { return [] }
        parts[index].askedAt = nil
        let before = parts[index].answeredAt
        guard isReady || before != nil else { return [] }
        parts[index].answeredAt = now
        let returned = before == nil && parts[index].wasReady
        parts[index].wasReady = true
        return started(index) + (returned ? [.report(.readyAgain(name))] : []) + attendance()
    }

    /// A heartbeat of the part came.
    /// - Parameter hasStarted: whether it reports that it has started: its settings and stores are sound.
    mutating func received(_ name: String, hasStarted: Bool = false, at now: Duration) -> [SupervisorAction] {
        guard let index = index(of: name), parts[index].state == .running else { return [] }
        parts[index].lastHeartbeatAt = now
        parts[index].sendsHeartbeats = true
        return hasStarted ? started(index) + attendance() : []
    }

    private mutating func started(_ index: Int) -> [SupervisorAction] {
        parts[index].hasStarted = true
        if parts[index].servesAlone { hasServed = true }
        defer { parts[index].refusal = nil }
        return parts[index].refusal == nil ? [] : [.report(.mended(parts[index].name))]
    }

    /// What is to be reported of all parts together, once.
    private mutating func attendance() -> [SupervisorAction] {
        guard !isStopping, !reportedReady else { return [] }
        if parts.allSatisfy(\.isReady) {
            reportedReady = true
            return [.report(.everythingIsReady)]
        }
        // Who waits for one that is missing is never ready, and has still started.
        let missing = parts.filter(\.isMissing)
        let haveOthersStarted = parts.allSatisfy { $0.isMissing || $0.state == .running && $0.hasStarted }
        guard !reportedMissing, !missing.isEmpty, haveOthersStarted else { return [] }
        reportedMissing = true
        return [.report(.readyWithout(missing.map(\.name)))]
    }

    /// - Parameter complaint: what it wrote for people in this life.
    mutating func exited(_ name: String, _ status: ChildStatus, complaint: String = "", at now: Duration) -> [SupervisorAction] {
        guard let index = index(of: name) else { return [] }
        if isStopping {
            parts[index].state = .stopped
            return continueStopping(at: now)
        }
        if status == .exited(ExitStatus.configuration.rawValue), !parts[index].hasStarted { return refused(index, complaint, at: now) }
        parts[index].exits.removeAll { now - $0 >= limits.crashWindow }
        parts[index].exits.append(now)
        guard parts[index].exits.count >= limits.crashes else {
            parts[index].reportedLoop = false
            parts[index].runs(from: now)
            return [.report(.restarting(name, status: status)), .start(name)]
        }
        parts[index].state = .pausing(until: now + limits.loopPause)
        let mustReport = !parts[index].reportedLoop
        parts[index].reportedLoop = true
        return (mustReport ? [.report(.crashLoop(name, status: status))] : []) + attendance()
    }

    private mutating func refused(_ index: Int, _ reason: String, at now: Duration) -> [SupervisorAction] {
        let before = parts[index].refusal
        let refusal = Refusal(reason: reason, count: (before?.count ?? 0) + 1)
        parts[index].refusal = refusal
        // Doubled no more often than a number can hold.
        parts[index].state = .pausing(until: now + min(limits.loopPause * (1 << min(refusal.count - 1, 16)), limits.refusalPause))
        let isEnd = !hasServed && parts.allSatisfy { $0.refusal != nil || !$0.servesAlone }
        let mustReport = before?.reason != reason || isEnd
        let notices = mustReport ? [SupervisorAction.report(.refused(parts[index].name, reason: reason, again: !isEnd))] : []
        guard isEnd else { return notices + attendance() }
        outcome = .configuration
        return notices + stopRequested(at: now)
    }

    mutating func stopRequested(at now: Duration) -> [SupervisorAction] {
        guard !isStopping else { return [] }
        isStopping = true
        for index in parts.indices {
            switch parts[index].state {
            case .idle, .pausing: parts[index].state = .stopped
            case .running, .stopping, .stopped: break
            }
        }
        return continueStopping(at: now)
    }

    /// To be called at each tick.
    mutating func timePassed(to now: Duration) -> [SupervisorAction] {
        // A supervisor that was halted or starved has received nothing: silence counts only while it was running itself.
        let late = max(.zero, now - lastTick - limits.tick)
        lastTick = now
        var actions: [SupervisorAction] = []
        for index in parts.indices {
            let name = parts[index].name
            parts[index].answeredAt = parts[index].answeredAt.map { min(now, $0 + late) }
            parts[index].askedAt = parts[index].askedAt.map { min(now, $0 + late) }
            parts[index].lastHeartbeatAt = parts[index].lastHeartbeatAt.map { min(now, $0 + late) }
            parts[index].startedAt = min(now, parts[index].startedAt + late)
            switch parts[index].state {
            case .pausing(let until) where now >= until:
                parts[index].runs(from: now)
                actions.append(.start(name))
            case .running where !isStopping && isSilent(parts[index], at: now):
                parts[index].runs(from: now)
                actions += [.report(.unresponsive(name)), .kill(name)]
            case .stopping(let since, killed: false) where now - since >= limits.stopBound:
                parts[index].state = .stopping(since: since, killed: true)
                if outcome == .ok { outcome = .failed }
                actions += [.report(.killed(name)), .kill(name)]
            default: break
            }
        }
        return actions + unreadiness(at: now)
    }

    private mutating func unreadiness(at now: Duration) -> [SupervisorAction] {
        guard !isStopping, !reportedReady, !reportedMissing,
            parts.allSatisfy({ $0.state == .running && $0.hasStarted && now - $0.startedAt >= limits.unreadyBound })
        else { return [] }
        let unready = parts.filter { !$0.isReady }.map(\.name)
        guard !unready.isEmpty else { return [] }
        reportedMissing = true
        return [.report(.unready(unready))]
    }

    private func isSilent(_ part: Part, at now: Duration) -> Bool {
        if !part.servesAlone, part.wasReady {
            // It sends no heartbeats. A service may take longer for an answer, and has those.
            if part.answeredAt == nil { return now - part.startedAt >= limits.hangBound }
            if let askedAt = part.askedAt, now - askedAt >= limits.silenceBound { return true }
        }
        if let lastHeartbeatAt = part.lastHeartbeatAt {
            if now - lastHeartbeatAt >= limits.silenceBound { return true }
        } else if part.sendsHeartbeats, now - part.startedAt >= limits.firstBeatBound {
            return true
        }
        return part.answeredAt.map { now - $0 >= limits.hangBound } ?? false
    }

    private mutating func continueStopping(at now: Duration) -> [SupervisorAction] {
        guard !isFinished else { return [] }
        for index in parts.indices.reversed() {
            switch parts[index].state {
            case .stopping: return []
            case .running:
                parts[index].state = .stopping(since: now, killed: false)
                return [.terminate(parts[index].name)]
            case .idle, .pausing, .stopped: continue
            }
        }
        isFinished = true
        return [.finished(outcome)]
    }

    private func index(of name: String) -> Int? {
        parts.firstIndex { $0.name == name }
    }
}
