// Somebody's heart fails while both dispatchers are away, and everybody else's backlog lies before it (`docs/decisions/0050-*`).

import Contracts

@testable import SOSDispatcher

/// An outage of both dispatchers, and how slowly what was said meanwhile comes to them.
struct SimulatedBacklog: Sendable {
    /// What befalls one of the two; the other is well from the outage's end on.
    enum Trouble: CaseIterable, Sendable {
        /// Ingest gives it nobody's facts alone.
        case refused
        case late
        /// It is killed while the backlog comes.
        case killed
    }

    /// A stranger's, before everything critical of the outage. At `pace` milliseconds each they last longer than the backlog is slow.
    static let facts = 45
    static let pace: Int64 = 250
    static let lasts: Int64 = 10_000
    /// After the first try's deadline, so that it is the answer to the second.
    static let lateBy: Int64 = 1200
    static let stranger = PersonID(bits: UInt128(5) << 64 | SimulationPlan.people[0].bits & UInt128(VirtualShard.count - 1))

    var outage: Span
    var trouble: Trouble
    var troubled: PairRole
    var slow: Span { Span(from: outage.until, until: outage.until + SimulatedBacklog.lasts) }
}

/// What becomes of a question for facts of ingest's log.
enum ReplayTreatment {
    case atOnce
    case refused
    /// After so many milliseconds, with so many facts at most.
    case after(Int64, most: Int)
}

extension SimulationPlan {
    /// Takes the place of whatever else goes wrong between ingest and the dispatchers: somebody must have been able to call in time.
    mutating func addBacklog(_ dice: inout SimulationDice) {
        let fails = dice.between(5000, 20_000)
        lives[0].critical.from = fails
        let outage = Span(from: fails - dice.between(200, 1500), until: fails + dice.between(1500, 5000))
        let plan = SimulatedBacklog(
            outage: outage, trouble: dice.one(of: SimulatedBacklog.Trouble.allCases), troubled: dice.one(of: PairRole.allCases))
        backlog = plan
        lives.append(
            SimulatedLife(
                person: SimulatedBacklog.stranger, role: .healthy, interval: 1000,
                critical: Span(from: SimulationPlan.end, until: SimulationPlan.end), value: 70, answersAfter: 0))
        (weathers, forgets, ingestDiskRefuses, ingestCrashes) = ([], [], [], [])
        (cuts, crashes, crashSteps, restores) = ([:], [:], [:], [:])
        disks[plan.troubled.other] = []
        clockSteps.removeAll { $0.at >= outage.from && $0.at < plan.slow.until }
        let isKilled = dice.happens(50)
        for role in PairRole.allCases {
            if isKilled { crashes[role] = [outage] } else { cuts[role] = [outage] }
        }
        guard plan.trouble == .killed else { return }
        let at = outage.until + dice.between(500, 8000)
        crashes[plan.troubled, default: []].append(Span(from: at, until: at + dice.between(60, 800)))
    }
}

extension SimulatedSuite {
    /// What is stored of a stranger as soon as nobody hears of it.
    func storeBacklog() {
        guard let stranger = plan.lives.firstIndex(where: { $0.person == SimulatedBacklog.stranger }) else { return }
        let stream = StreamFamily.samplesStream(of: SimulatedBacklog.stranger)
        for _ in 0..<SimulatedBacklog.facts {
            let upload = SimulatedUpload(life: stranger, measuredAt: wall, value: 70, isAnswered: true, receivedAt: now, wall: wall)
            ingest.uploads.append(upload)
            ingest.logs[stream, default: []].append(ingest.uploads.count - 1)
        }
        note("ingest stored \(SimulatedBacklog.facts) facts about a stranger in \(stream)")
    }

    func treatment(of request: ReplayStream, from client: Peer) -> ReplayTreatment {
        if request.subject != nil {
            note("\(client) asks for one person's facts in \(request.stream) from \(request.from)")
            if flaw == .refusesOnePerson { return .refused }
        }
        guard let backlog = plan.backlog, backlog.slow.contains(now) else { return .atOnce }
        if request.subject != nil {
            guard client == backlog.troubled.peer else { return .atOnce }
            return switch backlog.trouble {
            case .refused: .refused
            case .late: .after(SimulatedBacklog.lateBy, most: SimulatedIngest.page)
            case .killed: .atOnce
            }
        }
        let (log, first) = (ingest.logs[request.stream] ?? [], Int(request.from) - 1)
        guard log.indices.contains(first), person(of: log[first]) == SimulatedBacklog.stranger else { return .atOnce }
        return .after(SimulatedBacklog.pace, most: 1)
    }

    func person(of upload: Int) -> PersonID { plan.lives[ingest.uploads[upload].life].person }
}

extension SimulationChecker {
    /// How long after an outage nothing live asked for the person whose heart had failed meanwhile: until their next critical entry. What
    /// ingest received just after the dispatcher was back may have been said too early for it.
    func unasked(_ index: Int, _ facts: [SimulatedUpload], from begin: Int64, to end: Int64) -> Int64 {
        guard let backlog = suite.plan.backlog, index == 0 else { return 0 }
        let downs = suite.ledger.downs[backlog.troubled.other] ?? []
        let back = downs.first { $0.contains(backlog.outage.until - 1) }?.until ?? backlog.outage.until
        let live = facts.filter(\.isCritical).compactMap(\.receivedAt).first { $0 >= back + 100 } ?? back
        return max(0, min(live, end) - max(back, begin))
    }
}
