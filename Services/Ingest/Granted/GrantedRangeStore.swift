// Sentences behind many short reads under grants: each stretch taken, and all that was taken recorded in one transaction.

import Contracts
import GRDB
import ServiceKit
import Storage

struct GrantedRangeStore: Sendable {
    /// Entries that one stretch gives at most, so that a backlog of one person does not keep the others waiting.
    private static let mostOfStretch = 2000

    let vault: ChunkVault
    let accesses: FactStream
    private let grants = GrantTable()

    init(vault: ChunkVault, accesses: FactStream) {
        (self.vault, self.accesses) = (vault, accesses)
    }

    struct Part: Sendable {
        let asked: ReadSamples
        let grant: GrantState
        let plan: GranulePlan
        let samples: [Sample]
        let readTo: Timestamp
    }

    enum Taken: Sendable {
        case read(Part)
        case denied(ReadDenial)

        var hasSamples: Bool {
            if case .read(let part) = self { !part.samples.isEmpty } else { false }
        }
    }

    /// - Parameter room: bytes that are left of the answer; what is taken is taken off.
    func take(
        _ db: Database, _ stretch: ReadSampleRanges.Stretch, now: Timestamp, silence: Duration, room: inout Int
    ) throws -> Taken {
        let fit = min(Self.mostOfStretch, room / GrantedPage.bytes(of: stretch.type))
        let asked = ReadSamples(
            grant: stretch.grant, organisation: stretch.organisation, type: stretch.type, from: stretch.from, to: stretch.to, after: nil,
            limit: max(1, fit))
        do {
            let known = try grants.find(db, stretch.grant)
            try GrantRules.check(asked, against: known, silence: silence)
            guard let grant = known else { return .denied(.unknownGrant) }
            let plan = try GranulePlan(asked, under: grant, now: now)
            guard fit > 0 else { return .read(Part(asked: asked, grant: grant, plan: plan, samples: [], readTo: stretch.from)) }
            let (granules, hasMore) =
                plan.range.isEmpty
                ? ([], false) : try GranuleReader.granules(asked.type, of: grant.person, plan, limit: fit, vault: vault, db)
            room -= granules.count * GrantedPage.bytes(of: asked.type)
            return .read(
                Part(
                    asked: asked, grant: grant, plan: plan, samples: plan.samples(of: granules, asked.type),
                    readTo: plan.readTo(granules, hasMore: hasMore)))
        } catch let denial as ReadDenial {
            return .denied(denial)
        } catch is KeyDestroyed {
            return .denied(.nothingLeft)
        }
    }

    /// Judges each part again and writes down what is about to leave (SHR-24).
    /// - Returns: what may leave, and what is to be published after the commit.
    func record(
        _ db: Database, _ taken: [Taken], now: Timestamp, silence: Duration, trace: String
    ) throws -> ([Taken], [EventRelay.Committed]) {
        var facts: [EventRelay.Committed] = []
        let judged = try taken.map { one -> Taken in
            guard case .read(let part) = one, let first = part.samples.first, let last = part.samples.last else { return one }
            let still = try grants.find(db, part.grant.grant)
            do throws(ReadDenial) {
                try GrantRules.check(part.asked, against: still, silence: silence)
                guard still?.granularity == part.grant.granularity, still?.from == part.grant.from, still?.to == part.grant.to else {
                    throw .notActive
                }
            } catch {
                return .denied(error)
            }
            let end = min(part.plan.start(of: last.at.milliseconds) + part.plan.width, part.plan.range.upperBound)
            let read = DataRead(
                grant: part.grant.grant, organisation: part.grant.organisation, metric: part.asked.type, from: first.at,
                to: Timestamp(milliseconds: end), count: part.samples.count)
            facts.append(
                try accesses.append(db, type: DataRead.type, subject: part.grant.person, body: read, at: now, trace: trace))
            return one
        }
        return (judged, facts)
    }
}
