// Emergencies and what happened in them, for all who look them up.

import Contracts
import ServiceKit

/// What is stored, together with what is decided and the disk refuses: a call that is under way is shown as well.
struct EmergencyHistory: Sendable {
    let store: SOSStore
    let journal: Journal

    func one(_ id: EmergencyID) async throws -> EmergencyRecord? {
        if let unstored = journal.unstored.emergencies[id] { return unstored }
        return try await store.emergency(id)
    }

    /// Newest first.
    /// - Parameter synthetic: are left out.
    func newest(of person: PersonID?, limit: Int, except synthetic: SyntheticPeople) async throws -> [EmergencyRecord] {
        // First what is not stored: stored in between, it is found twice, and not missed.
        let unstored = journal.unstored.emergencies.filter { !synthetic.contains($0.value.person) }
        let stored = try await store.emergencies(of: person, limit: limit, except: synthetic)
        return EmergencyHistory.merged(stored, unstored.filter { person == nil || $0.value.person == person }, limit)
    }

    /// Newest first, those that began before `before`.
    func newest(of person: PersonID, before: Timestamp?, limit: Int) async throws -> [EmergencyRecord] {
        let unstored = journal.unstored.emergencies.filter { _, record in
            record.person == person && before.map { record.t0 < $0 } ?? true
        }
        return EmergencyHistory.merged(try await store.emergencies(of: person, before: before, limit: limit), unstored, limit)
    }

    /// What happened in one emergency, out of the audit log.
    func steps(of emergency: EmergencyID) async throws -> [ReadTimeline.Step] {
        let unstored = journal.unstored
        if unstored.emergencies[emergency] == nil, try await store.emergency(emergency) == nil {
            throw Failure(.notFound, "there is no such emergency")
        }
        let stored = try await store.audit(of: "\(emergency)").map {
            AuditNote(at: $0.at, actor: $0.actor, action: $0.action, object: "\(emergency)", detail: $0.detail)
        }
        let further = Set(unstored.audit.filter { $0.object == "\(emergency)" }).subtracting(stored)
        let steps = stored + unstored.audit.filter(further.contains)
        return EmergencyHistory.ordered(
            steps.map { ReadTimeline.Step(at: $0.at, actor: $0.actor, event: $0.action, detail: $0.detail) })
    }

    private static func merged(
        _ stored: [EmergencyRecord], _ unstored: [EmergencyID: EmergencyRecord], _ limit: Int
    ) -> [EmergencyRecord] {
        guard !unstored.isEmpty else { return stored }
        let all = stored.filter { unstored[$0.id] == nil } + unstored.values
        return Array(all.sorted { ($0.t0, $0.id.bits) > ($1.t0, $1.id.bits) }.prefix(limit))
    }

    /// By time, and at one time causes before what follows from them: what was decided later may have been noted earlier.
    static func ordered(_ steps: [ReadTimeline.Step]) -> [ReadTimeline.Step] {
        steps.enumerated().sorted { one, other in
            (one.element.at, rank(one.element), one.offset) < (other.element.at, rank(other.element), other.offset)
        }.map(\.element)
    }

    private static func rank(_ step: ReadTimeline.Step) -> Int {
        switch step.event {
        case "first-tried": -1
        case "alerted", "asked-again", "doubted", "fell": 0
        case "confirmed": 1
        case "dispatched": 2
        case "transient", "muted", "cancelled": 4
        case "closed": 5
        default: 3
        }
    }
}
