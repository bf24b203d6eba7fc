// One judge: what was planted against what came out at the other end and what both dispatchers have on disk, after everything has come to
// rest.

import Contracts
import Foundation
import GRDB

@testable import SOSDispatcher
@testable import Storage

struct SimulationChecker {
    /// The promise: from ingest's receipt of the first critical entry to the first attempt.
    static let promised: Int64 = 5000
    /// Where both were killed in between, with what their restart may take; the killing itself is noticed at once here.
    static let promisedAfterKill: Int64 = 5500
    /// How long a killed dispatcher may take to be back (NFR-07).
    static let restart: Int64 = 1000
    /// Between two attempts: one a second, or the other dispatcher's in its place, and the disk's patience.
    static let longestPause: Int64 = 3000

    /// From the confirmed rejection of what was taken to the next service's first attempt (SOS-39).
    static let passedOn: Int64 = 1000

    let suite: SimulatedSuite

    func check() {
        for index in suite.plan.lives.indices { check(life: index) }
        for (line, at) in suite.ledger.takenBack { checkPassedOn(line, at) }
        if suite.ingest.uploads.contains(where: { $0.receivedAt == nil }) { suite.violation("an upload never got into the log") }
        for dispatcher in suite.dispatchers { check(dispatcher) }
        if let first = suite.dispatchers[0].parts?.store, let second = suite.dispatchers[1].parts?.store { checkAgreement(first, second) }
    }

    // MARK: Emergencies

    private func check(life index: Int) {
        let life = suite.plan.lives[index]
        let log = suite.ingest.logs[StreamFamily.samplesStream(of: life.person)] ?? []
        let facts = log.map { suite.ingest.uploads[$0] }.filter { $0.life == index }
        let names = names(of: facts, life.person)
        let known = Set(suite.integrators.values.flatMap(\.received.keys).map(\.emergency))
        let called = known.intersection(names.all)
        if suite.ingest.uploads.contains(where: { $0.life == index && $0.receivedAt == nil && $0.isAnswered }) {
            suite.violation("life \(index): an acknowledged upload is not in the log")
        }
        switch life.role {
        case .healthy, .stale:
            if !called.isEmpty, !facts.contains(where: \.alarms) { suite.violation("life \(index) (\(life.role)): called for nothing") }
        case .breach, .falseAlarm: checkCall(index, facts, called, names.first)
        case .fine:
            if suite.ledger.said[life.person] == nil { checkCall(index, facts, called, names.first) }
        case .passing, .spike:
            if life.role == .passing, lastsLongEnough(facts) { checkCall(index, facts, called, names.first) }
        }
        // One that was told by nobody gives it a name of its own.
        let isUnheard = !suite.ingest.unheard[index, default: []].isEmpty
        if life.role != .stale, called.count > 1, !isUnheard {
            suite.violation("DOUBLED: life \(index) (\(life.role)): \(called.count) emergencies were called")
        }
        if !isUnheard { checkCancels(index, called) }
    }

    /// Whatever is called is named after a critical entry of somebody: called otherwise, it is nobody's.
    private func names(of facts: [SimulatedUpload], _ person: PersonID) -> (first: EmergencyID?, all: Set<EmergencyID>) {
        let all = facts.filter(\.isCritical).compactMap { upload in
            suite.names?.emergency(of: person, Trigger(passed(upload), at: upload.measuredAt))
        }
        // What was fresh by one clock and not by the other may be the first or not.
        let isSure = facts.first { $0.alarms || $0.alarmedEarly }.map { $0.alarms && $0.alarmedEarly } ?? false
        let first = facts.first(where: \.alarms).flatMap { upload in
            suite.names?.emergency(of: person, Trigger(passed(upload), at: upload.measuredAt))
        }
        return (isSure ? first : nil, Set(all))
    }

    private func passed(_ upload: SimulatedUpload) -> PassedBound {
        PassedBound(
            metric: .heartRate, side: upload.value < 45 ? .below : .above, limit: upload.value < 45 ? 45 : 120, value: upload.value)
    }

    /// Whether three seconds lie between the first critical entry and the first one that is none, by a clock that ran evenly.
    private func lastsLongEnough(_ facts: [SimulatedUpload]) -> Bool {
        guard suite.plan.clockSteps.isEmpty, let first = facts.firstIndex(where: \.alarms) else { return false }
        let well = facts[first...].first { !$0.isCritical }?.receivedAt ?? SimulationPlan.end
        return well - (facts[first].receivedAt ?? 0) >= 3000
    }

    /// Called under the name of its first critical entry, and in time.
    private func checkCall(_ index: Int, _ facts: [SimulatedUpload], _ called: Set<EmergencyID>, _ name: EmergencyID?) {
        let life = suite.plan.lives[index]
        guard let first = facts.first(where: \.alarms), let t0 = first.receivedAt, let name else { return }
        suite.ledger.emergencies += 1
        // What nobody heard is called for by the next entry that somebody hears.
        if suite.ingest.unheard[index]?.count == PairRole.allCases.count {
            if called.isEmpty { suite.violation("MISSED: life \(index) (\(life.role)), whose first entries were forgotten") }
            return
        }
        let what = "life \(index) (\(life.role)), received at \(t0)"
        let alert = DispatchID(emergency: name, sequence: 0)
        guard let tried = suite.ledger.firstTried[alert] else {
            return suite.violation(called.isEmpty ? "MISSED: \(what)" : "\(what): called under another name than its first entry's")
        }
        if called.isEmpty { suite.violation("\(what): tried, and no integrator ever got it") }
        let took = tried - t0 - excused(from: t0, to: tried) - unasked(index, facts, from: t0, to: tried)
        if index == 0, suite.plan.backlog?.slow.contains(tried) == true { suite.ledger.calledAhead += 1 }
        suite.ledger.slowestCall = max(suite.ledger.slowestCall, took)
        // What nobody can tell any more: received, then the clock was set back, then a crash before that could be stored. Judged again,
        // it counts as received when the next upload was.
        if isJudgedAgainAfterStep(from: t0, to: tried) { return }
        let limit = wereDown(from: t0, to: tried) ? SimulationChecker.promisedAfterKill : SimulationChecker.promised
        if took > limit { suite.violation("LATE: \(what): first tried after \(tried - t0) ms, \(took) of them ours") }
        checkTaken(alert, what)
    }

    /// Taken by somebody, unless it was called off first.
    private func checkTaken(_ alert: DispatchID, _ what: String) {
        let messages = suite.integrators.values.flatMap(\.accepted).filter { $0.emergency == alert.emergency }
        let isTakenBack = suite.ledger.takenBack.keys.contains { $0.message.emergency == alert.emergency }
        let isCalledOff = suite.ledger.said.contains { names($0.key, alert.emergency) }
        // A call-off takes the place of a call that nobody has taken, and whoever rejects the cancellation too is told nothing more.
        let isOver = isCalledOff && (isTakenBack || isCancelRejected(alert.emergency))
        if messages.isEmpty, !isOver { suite.violation("\(what): no integrator has ever taken it") }
        // Repeated without end: until it is taken, called off or passed on, somebody sends it again each second.
        let line = SimulationLedger.Line(message: alert, integrator: "alpha")
        let trials = suite.ledger.trials[line] ?? []
        let over =
            [
                suite.ledger.firstTold[alert], suite.ledger.offered[line], suite.ledger.rejected[line],
                suite.ledger.said.first { names($0.key, alert.emergency) }?.value,
            ].compactMap(\.self).min() ?? SimulationPlan.end
        for (one, next) in zip(trials, trials.dropFirst() + [over]) where next > one && one < over {
            let pause = min(next, over) - one - excused(from: one, to: min(next, over))
            guard pause > SimulationChecker.longestPause else { continue }
            return suite.violation("\(what): not sent again for \(pause) ms after \(one)")
        }
    }

    /// Whether everybody to whom a cancellation came has rejected it.
    private func isCancelRejected(_ emergency: EmergencyID) -> Bool {
        let lines = suite.integrators.flatMap { name, integrator in
            integrator.received.filter { $0.key.emergency == emergency && !$0.key.isRelease && $0.value.msgType == .cancel }
                .map { SimulationLedger.Line(message: $0.key, integrator: name) }
        }
        return !lines.isEmpty && lines.allSatisfy { suite.ledger.rejected[$0] != nil }
    }

    /// Accepted and then rejected: the next service has it within a second, unless there is none, or nothing is left to be done.
    private func checkPassedOn(_ line: SimulationLedger.Line, _ at: Int64) {
        let emergency = line.message.emergency
        let others = suite.ledger.trials.filter { $0.key.message.emergency == emergency && $0.key.integrator != line.integrator }
        let isOver = suite.ledger.said.contains { $0.value < at + SimulationChecker.passedOn && names($0.key, emergency) }
        let hasRefused = suite.ledger.rejected.keys.contains { $0.message.emergency == emergency && $0.integrator != line.integrator }
        let isTaken = suite.integrators.contains { name, integrator in
            name != line.integrator && integrator.accepted.contains { $0.emergency == emergency && !$0.isRelease }
        }
        let isKilled = suite.ledger.downs.values.joined().contains { $0.from < at + SimulationChecker.passedOn && $0.until > at - 100 }
        guard !isOver, !hasRefused, !isTaken, !isKilled, line.message.sequence == 0 else { return }
        let next = others.values.joined().filter { $0 > at - SimulationChecker.passedOn }.min()
        guard let next, next <= at + SimulationChecker.passedOn else {
            return suite.violation(
                "\(line.message), taken back by \(line.integrator) at \(at), went to the next at \(next.map { "\($0)" } ?? "no time")")
        }
    }

    private func names(_ person: PersonID, _ emergency: EmergencyID) -> Bool {
        suite.plan.lives.firstIndex { $0.person == person }.map { index in
            let log = suite.ingest.logs[StreamFamily.samplesStream(of: person)] ?? []
            return names(of: log.map { suite.ingest.uploads[$0] }.filter { $0.life == index }, person).all.contains(emergency)
        } ?? false
    }

    /// Only a person calls off, and whoever was called is told so.
    private func checkCancels(_ index: Int, _ called: Set<EmergencyID>) {
        let life = suite.plan.lives[index]
        for (name, integrator) in suite.integrators {
            for emergency in called {
                let messages = integrator.received.filter { $0.key.emergency == emergency && !$0.key.isRelease }
                let isCalledOff = messages.contains { $0.value.msgType == .cancel }
                if isCalledOff, suite.ledger.said[life.person] == nil { suite.violation("life \(index): cancelled, and not by the person") }
                guard life.role == .falseAlarm, suite.ledger.answered.contains(life.person), !messages.isEmpty else { continue }
                guard !messages.keys.contains(where: { suite.ledger.rejected[.init(message: $0, integrator: name)] != nil }) else {
                    continue
                }
                let isReleased = integrator.received.contains { $0.key.emergency == emergency && $0.key.isRelease }
                if !isCalledOff, !isReleased { suite.violation("life \(index): \(name) was called and never told that it is over") }
            }
        }
    }

    private func isJudgedAgainAfterStep(from begin: Int64, to end: Int64) -> Bool {
        suite.plan.clockSteps.contains { $0.by < 0 && $0.at >= begin && $0.at < end }
            && suite.ledger.downs.values.joined().contains { $0.from >= begin && $0.until <= end }
    }

    private func wereDown(from begin: Int64, to end: Int64) -> Bool {
        PairRole.allCases.allSatisfy { role in
            (suite.ledger.downs[role] ?? []).contains { $0.from < end && $0.until > begin }
        }
    }

    /// How much of the time nobody could have done anything: no word got from ingest to a dispatcher that ran. A restart is ours, up to a
    /// second in all.
    private func excused(from begin: Int64, to end: Int64) -> Int64 {
        var (cut, down): (Int64, Int64) = (0, 0)
        for time in stride(from: begin, to: end, by: 10) {
            let up = PairRole.allCases.filter { role in !(suite.ledger.downs[role] ?? []).contains { $0.contains(time) } }
            if up.isEmpty {
                down += 10
            } else if suite.ledger.ingestDowns.contains(where: { $0.contains(time) }) || up.allSatisfy({ suite.plan.isCut($0, at: time) }) {
                cut += 10
            }
        }
        return cut + max(0, down - SimulationChecker.restart)
    }

    // MARK: What is on disk

    private func check(_ dispatcher: SimulatedDispatcher) {
        guard let store = dispatcher.parts?.store else { return suite.violation("\(dispatcher.role) does not run at the end") }
        do {
            try store.store.readNow { db in
                let audit = try AuditStore.verify(db, headsAt: []).verifier
                if let broken = audit.firstBroken { suite.violation("\(dispatcher.role): the audit chain is broken at \(broken)") }
                let open = try Row.fetchAll(db, sql: "SELECT emergency, sequence, integrator FROM dispatch_lines WHERE ended IS NULL")
                for row in open {
                    let id = EmergencyID(row[0] as Data).map { DispatchID(emergency: $0, sequence: row[1]) }
                    suite.violation("\(dispatcher.role): \(id.map { "\($0)" } ?? "?") to \(row[2] as String) is still on its way")
                }
                try checkEnds(dispatcher.role, db)
                for stream in try ConsumerPositions().load(db) {
                    guard let log = suite.ingest.logs[stream.stream], stream.next != Int64(log.count) + 1 else { continue }
                    suite.violation("\(dispatcher.role) has heard \(stream.stream) up to \(stream.next - 1) of \(log.count)")
                }
            }
        } catch {
            suite.violation("\(dispatcher.role)'s store cannot be read: \(error)")
        }
    }

    /// Nothing counts as taken that nobody has taken.
    private func checkEnds(_ role: PairRole, _ db: Database) throws {
        let rows = try Row.fetchAll(db, sql: "SELECT emergency, sequence, integrator FROM dispatch_lines WHERE ended = 'acknowledged'")
        for row in rows {
            guard let emergency = EmergencyID(row[0] as Data) else { continue }
            let id = DispatchID(emergency: emergency, sequence: row[1])
            guard suite.integrators[row[2]]?.accepted.contains(id) != true else { continue }
            suite.violation("\(role): \(id) counts as taken by \(row[2] as String), which never took it")
        }
    }

    // MARK: Agreement

    private struct Known {
        var state: String
        var isDispatched: Bool
        var isAcknowledged: Bool

        /// One that heard less may keep still where the other called: rescue fails open.
        var keepsStill: Bool { ["muted", "transient"].contains(state) }
        var runs: Bool { !["stood-down", "closed"].contains(state) }

        func agrees(with other: Known) -> Bool {
            if keepsStill || other.keepsStill { return true }
            return runs == other.runs && (!runs || isAcknowledged == other.isAcknowledged)
        }
    }

    private func checkAgreement(_ first: SOSStore, _ second: SOSStore) {
        guard let one = try? known(first), let other = try? known(second) else { return suite.violation("a store cannot be read") }
        // What was said before the clock was set back lies in the future for whoever starts then: it calls rather than keeps still.
        let isDoubtful = suite.plan.clockSteps.contains { step in
            step.by < 0 && suite.ledger.downs.values.joined().contains { $0.until > step.at }
        }
        if isDoubtful { return }
        let unheard = suite.ingest.unheard.keys.map { suite.plan.lives[$0].person }
        for emergency in Set(one.keys).union(other.keys).sorted(by: { $0.bits < $1.bits }) {
            let both = [one[emergency], other[emergency]].compactMap(\.self)
            // Whether a spell that passed by itself was seen is each one's own.
            guard !unheard.contains(where: { names($0, emergency) }) else { continue }
            // What is over is put away after a while, by the wall clock.
            if both.count < 2, suite.plan.clockSteps.contains(where: { $0.by >= 3_600_000 }) { continue }
            guard both.contains(where: \.isDispatched), both.count < 2 || !both[0].agrees(with: both[1]) else { continue }
            suite.violation("the two disagree on \(emergency): \(say(one[emergency])) and \(say(other[emergency]))")
        }
    }

    private func say(_ known: Known?) -> String {
        known.map { "\($0.state)\($0.isAcknowledged ? ", acknowledged" : "")" } ?? "unknown"
    }

    private func known(_ store: SOSStore) throws -> [EmergencyID: Known] {
        try store.store.readNow { db in
            let rows = try Row.fetchAll(db, sql: "SELECT emergency, state, dispatched_at, acknowledged_at FROM emergencies")
            return rows.reduce(into: [:]) { known, row in
                guard let emergency = EmergencyID(row[0] as Data) else { return }
                known[emergency] = Known(
                    state: row[1], isDispatched: (row[2] as Int64?) != nil, isAcknowledged: (row[3] as Int64?) != nil)
            }
        }
    }
}
