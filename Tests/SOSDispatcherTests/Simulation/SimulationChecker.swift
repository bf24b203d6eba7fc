// Two ledgers and one judge: what was planted against what came out at the other end, after everything has come to rest.

import Contracts

@testable import SOSDispatcher

/// What is written down on the way.
struct SimulationAccount {
    struct Begun: Hashable {
        var process: Int
        var message: DispatchID
    }

    var violations: [String] = []
    var attempts = 0
    var personOf: [EmergencyID: PersonID] = [:]
    var begunHere: Set<Begun> = []
    var acknowledgedDurably: Set<DispatchID> = []
    /// When the dispatcher took each acknowledgement for the first time.
    private(set) var taken: [DispatchID: Int64] = [:]
    /// Who said something to the prompt, and whom the dispatcher has answered.
    private(set) var said: [PersonID: Int64] = [:]
    var answered: Set<PersonID> = []
    /// When ingest or the dispatcher was not running.
    var downs: [Span] = []
    var dispatcherDownSince: Int64?
    private var next: [String: Int64] = [:]

    /// Emergencies that had to be acknowledged, and the longest time that one took beyond what nobody could help.
    var emergencies = 0
    var slowest: Int64 = 0

    mutating func said(_ person: PersonID, at time: Int64) {
        said[person] = said[person] ?? time
    }

    mutating func taken(_ id: DispatchID, at time: Int64) {
        taken[id] = taken[id] ?? time
    }

    /// After a crash only what is stored counts.
    mutating func restarted(streams: [String: StreamPosition]) {
        next = streams.mapValues(\.next)
    }

    /// Gapless: each fact is the one after the last one; what is wrong with it otherwise.
    mutating func applied(_ header: StreamHeader) -> String? {
        let expected = next[header.stream] ?? 1
        next[header.stream] = header.sequence + 1
        return header.sequence == expected ? nil : "fact \(header.sequence) of \(header.stream) is applied where \(expected) is next"
    }
}

struct SimulationChecker {
    /// The promise: from ingest's receipt of the first critical entry to the acknowledgement.
    static let promised: Int64 = 5000

    let world: SimulatedWorld

    func check() {
        for index in world.plan.lives.indices { check(life: index) }
        checkConsumption()
        checkLedgers()
    }

    // MARK: Emergencies

    private func check(life index: Int) {
        let life = world.plan.lives[index]
        let log = world.ingest.logs[StreamFamily.samplesStream(of: life.person)] ?? []
        let facts = log.map { world.uploads[$0] }.filter { $0.life == index }
        let named = Set(world.integrators.flatMap(\.received.keys).map(\.emergency).filter { world.account.personOf[$0] == life.person })
        let judged = world.kept.people[life.person]?.judged ?? 0
        if judged != facts.count { world.violation("life \(index): \(judged) of \(facts.count) facts were judged and stored") }
        if world.uploads.contains(where: { $0.life == index && $0.receivedAt == nil && $0.isAnswered }) {
            world.violation("life \(index): an acknowledged upload is not in the log")
        }
        switch life.role {
        case .healthy, .stale:
            if !named.isEmpty, !facts.contains(where: \.alarms) {
                world.violation("life \(index) (\(life.role)): an ambulance was called for nothing")
            }
        case .breach, .falseAlarm:
            checkCall(index, facts, named)
        case .fine:
            if world.account.answered.contains(life.person), named.isEmpty { return }
            // The answer came too late, or nobody heard it.
            if named.isEmpty { world.violation("life \(index) (fine): not answered, and nobody was called") }
        case .passing, .spike:
            if named.count > 1 { world.violation("life \(index) (\(life.role)): \(named.count) emergencies") }
            if life.role == .passing, lastsLongEnough(facts) { checkCall(index, facts, named) }
        }
        let isCancelled = world.integrators.contains { ledger in
            ledger.received.contains { id, body in named.contains(id.emergency) && String(decoding: body, as: UTF8.self).contains("cancel")
            }
        }
        if isCancelled, world.account.said[life.person] == nil { world.violation("life \(index): cancelled, and not by the person") }
    }

    /// Whether three seconds lie between the first critical entry and the first one that is none, by a clock that ran evenly.
    private func lastsLongEnough(_ facts: [SimulatedUpload]) -> Bool {
        guard world.plan.clockSteps.isEmpty, let first = facts.firstIndex(where: \.alarms) else { return false }
        let well = facts[first...].first { !$0.isCritical }?.receivedAt ?? SimulationPlan.end
        return well - (facts[first].receivedAt ?? 0) >= 3000
    }

    /// Exactly one emergency, of the right name, received and acknowledged in time.
    private func checkCall(_ index: Int, _ facts: [SimulatedUpload], _ named: Set<EmergencyID>) {
        let life = world.plan.lives[index]
        guard let first = facts.first(where: \.alarms), let t0 = first.receivedAt else { return }
        world.account.emergencies += 1
        let what = "life \(index) (\(life.role)), received at \(t0)"
        guard let emergency = named.first else { return world.violation("MISSED: \(what)") }
        if named.count > 1 { world.violation("DOUBLED: \(what): \(named.count) emergencies") }
        let passed = PassedBound(
            metric: .heartRate, side: first.value < 45 ? .below : .above, limit: first.value < 45 ? 45 : 120, value: first.value)
        let name = world.names.emergency(of: life.person, Trigger(passed, at: first.measuredAt))
        if emergency != name { world.violation("\(what): the emergency has another name than its first critical entry gives it") }
        let taken = world.account.taken[DispatchID(emergency: emergency, sequence: 0)] ?? .max
        // Called off before anybody acknowledged it, it need not be acknowledged any more.
        if let said = world.account.said[life.person], said < taken { return }
        guard taken != .max else { return world.violation("\(what): never acknowledged") }
        let took = taken - t0 - excused(from: t0, to: taken)
        world.account.slowest = max(world.account.slowest, took)
        // What nobody can tell any more: received, then the clock was set back, then a crash before that could be stored. Judged again,
        // it counts as received when the next upload was.
        if isJudgedAgainAfterStep(from: t0, to: taken) { return }
        if took > SimulationChecker.promised { world.violation("LATE: \(what): acknowledged after \(taken - t0) ms, \(took) of them ours") }
    }

    private func isJudgedAgainAfterStep(from begin: Int64, to end: Int64) -> Bool {
        world.plan.clockSteps.contains { $0.by < 0 && $0.at >= begin && $0.at < end }
            && world.account.downs.contains { $0.from >= begin && $0.until <= end }
    }

    /// How much of the time nobody could have done anything: no integrator took calls, or no word got from ingest to the dispatcher.
    /// After each such stretch the next attempt is up to a second away. A restart is ours, up to a second in all.
    private func excused(from begin: Int64, to end: Int64) -> Int64 {
        var unreachable: Int64 = 0
        var stretch: Int64 = 0
        for time in stride(from: begin, to: end, by: 10) {
            if !world.plan.isReachable(at: time) || world.plan.isCut(at: time) {
                unreachable += 10
                stretch = SimulatedWorld.retry
            } else if stretch > 0 {
                unreachable += 10
                stretch -= 10
            }
        }
        let downs = world.account.downs.reduce(Int64(0)) { $0 + max(0, min($1.until, end) - max($1.from, begin)) }
        return unreachable + max(0, downs - 1000)
    }

    // MARK: Consumption and ledgers

    private func checkConsumption() {
        for (stream, log) in world.ingest.logs {
            let next = world.kept.positions[stream]?.next ?? 1
            if next != Int64(log.count) + 1 { world.violation("\(stream) was heard up to \(next - 1) of \(log.count)") }
        }
        if world.uploads.contains(where: { $0.receivedAt == nil }) { world.violation("an upload never got into the log") }
    }

    private func checkLedgers() {
        let accepted = Set(world.integrators.flatMap(\.accepted))
        for message in world.kept.messages.values {
            switch message.end {
            case nil: world.violation("\(message.id) is still unacknowledged")
            case .acknowledged:
                if !accepted.contains(message.id) { world.violation("\(message.id) is taken for acknowledged, but nobody accepted it") }
            case .superseded, .stopped, .refused, .givenUp: break
            }
        }
        for id in accepted {
            guard let message = world.kept.messages[id] else {
                // A call that went out before it could be stored, then a crash, then "I am fine": the other end must hear of that.
                let isTakenBack = accepted.contains { other in
                    other.emergency == id.emergency && world.kept.messages[other]?.kind == .cancel
                }
                if !isTakenBack { world.violation("\(id) was accepted, but is not in the outbox, and nobody took it back") }
                continue
            }
            if message.end == nil { world.violation("\(id) was accepted, but not acknowledged") }
        }
    }
}
