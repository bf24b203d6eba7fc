// The one judge of all fault tests: evidence in, violations and figures out. Pure; knows nothing of how the suite works.

import Contracts

/// The figures that a fault test prints.
struct CheckFigures: Sendable {
    var acknowledged = 0
    var lost = 0
    var storedTwice = 0
    var breaches = 0
    var missed = 0
    /// Messages beyond the first of each id.
    var repeats = 0
    /// Milliseconds from `t0` to the desk's acknowledgement, ascending.
    var delays: [Int64] = []

    var line: String {
        let delay = delays.last.map { ", t0 to acknowledged max \($0) ms" } ?? ""
        return "\(acknowledged) acknowledged entries, \(lost) lost, \(storedTwice) doubled; \(breaches) breaches, \(missed) missed, "
            + "\(repeats) byte-equal repeats\(delay)"
    }
}

struct CheckReport: JudgedReport, Sendable {
    var violations: [Violation]
    var figures: CheckFigures

    var line: String { figures.line }
}

struct Checker: Sendable {
    /// NFR-09: from `t0` to the acknowledgement of a desk that can be reached; after an outage, from its end.
    var deadline = Duration.seconds(5)

    func report(_ evidence: Evidence) -> CheckReport {
        let called = Dictionary(grouping: evidence.emergencies.filter { $0.dispatchedAt != nil }, by: \.person)
        let (delays, late) = acknowledgements(evidence, called)
        var violations = samples(evidence)
        violations += calls(evidence, called)
        violations += late
        violations += messages(evidence)
        violations += streams(evidence)
        violations += stores(evidence)
        var figures = CheckFigures()
        figures.acknowledged = evidence.acknowledged.count
        figures.breaches = evidence.breaches.count
        figures.delays = delays.sorted()
        figures.repeats = evidence.desk.count - Set(evidence.desk.map(\.messageId)).count
        for violation in violations {
            switch violation {
            case .lost: figures.lost += 1
            case .storedTwice: figures.storedTwice += 1
            case .missed, .neverArrived: figures.missed += 1
            default: break
            }
        }
        return CheckReport(violations: violations, figures: figures)
    }

    // MARK: Entries

    private func samples(_ evidence: Evidence) -> [Violation] {
        var violations: [Violation] = []
        var stored: [SampleKey: Reading] = [:]
        for entry in evidence.stored where stored.updateValue(entry.reading, forKey: entry.key) != nil {
            violations.append(.storedTwice(entry.key))
        }
        for entry in evidence.acknowledged {
            guard let reading = stored[entry.key] else {
                violations.append(.lost(entry.key))
                continue
            }
            if reading != entry.reading { violations.append(.altered(entry.key)) }
        }
        let sent = Set(evidence.sent.map(\.key))
        violations += stored.keys.filter { !sent.contains($0) }.map { .invented($0) }
        return violations
    }

    // MARK: Emergencies

    private func calls(_ evidence: Evidence, _ called: [PersonID: [ListEmergencies.Entry]]) -> [Violation] {
        var violations: [Violation] = []
        let ill = Set(evidence.breaches.map(\.entry.person))
        for breach in evidence.breaches {
            let emergencies = called[breach.entry.person] ?? []
            if emergencies.isEmpty { violations.append(.missed(breach.entry.person)) }
            if emergencies.count > 1 { violations.append(.calledTwice(breach.entry.person)) }
            for emergency in emergencies {
                let late = (emergency.t0 - (breach.acknowledgedAt ?? emergency.t0)).wholeMilliseconds
                let early = (breach.sentAt - emergency.t0).wholeMilliseconds
                guard late > 0 || early > 0 else { continue }
                violations.append(
                    .wrongStart(
                        emergency.emergency, milliseconds: late > 0 ? late : -early, upload: breach.upload(at: emergency.t0)))
            }
        }
        violations += called.keys.filter { !ill.contains($0) }.map { .calledWithoutBreach($0) }
        return violations
    }

    private func acknowledgements(
        _ evidence: Evidence, _ called: [PersonID: [ListEmergencies.Entry]]
    ) -> (delays: [Int64], violations: [Violation]) {
        let firstAlerts = Dictionary(grouping: evidence.desk.filter { $0.sequence == 0 }) { $0.emergency }
        var delays: [Int64] = []
        var violations: [Violation] = []
        for emergency in called.values.joined() {
            guard let lines = firstAlerts[emergency.emergency] else {
                violations.append(.neverArrived(emergency.emergency))
                continue
            }
            guard let taken = lines.filter(\.isAcknowledgement).map(\.receivedAt).min(), emergency.acknowledgedAt != nil else {
                violations.append(.unacknowledged(emergency.emergency))
                continue
            }
            delays.append((taken - emergency.t0).wholeMilliseconds)
            let from = clockStart(of: emergency.t0, evidence.outages)
            if taken - from >= deadline { violations.append(.late(emergency.emergency, milliseconds: (taken - from).wholeMilliseconds)) }
        }
        return (delays, violations)
    }

    /// The desk's return, where it was away during the time allowed; else `t0` itself.
    private func clockStart(of t0: Timestamp, _ outages: [ClosedRange<Timestamp>]) -> Timestamp {
        outages.filter { $0.overlaps(t0...(t0 + deadline)) }.map(\.upperBound).max().map { max($0, t0) } ?? t0
    }

    // MARK: The desk

    private func messages(_ evidence: Evidence) -> [Violation] {
        var violations: [Violation] = []
        let known = Set(evidence.emergencies.map(\.emergency))
        for (id, lines) in Dictionary(grouping: evidence.desk, by: \.messageId) {
            if lines.contains(where: { !$0.verified }) { violations.append(.unverified(message: id)) }
            if Set(lines.map(\.sha256)).count > 1 {
                violations.append(.differingBytes(message: id, members: Set(lines.flatMap { $0.differs ?? [] }).sorted()))
            }
            if lines[0].emergency.map({ !known.contains($0) }) ?? true { violations.append(.unknownMessage(message: id)) }
        }
        return violations
    }

    // MARK: Streams

    private func streams(_ evidence: Evidence) -> [Violation] {
        var violations: [Violation] = []
        for account in evidence.streams {
            let applied = Set(account.applied)
            let missing = account.first <= account.head ? (account.first...account.head).count { !applied.contains($0) } : 0
            if missing > 0 { violations.append(.gap(stream: account.stream, missing: missing)) }
            let doubled = account.applied.count - applied.count
            if doubled > 0 { violations.append(.appliedTwice(stream: account.stream, facts: doubled)) }
            if doubled == 0, zip(account.applied, account.applied.dropFirst()).contains(where: { $0 >= $1 }) {
                violations.append(.outOfOrder(stream: account.stream))
            }
        }
        for progress in evidence.consumers where progress.next != progress.head + 1 {
            violations.append(.behind(consumer: progress.consumer, stream: progress.stream, by: progress.head + 1 - progress.next))
        }
        return violations
    }

    // MARK: Stores

    private func stores(_ evidence: Evidence) -> [Violation] {
        var violations = evidence.stores.filter { $0.verdict != "ok" }.map { Violation.corrupt(file: $0.file, verdict: $0.verdict) }
        if let row = evidence.audit?.firstBroken { violations.append(.auditBroken(row: row)) }
        return violations
    }
}
