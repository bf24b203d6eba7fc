// What the simulated dispatcher has on disk, and what it has noted for it: urgent and patient, as its journal keeps them.

import Contracts

@testable import SOSDispatcher

/// A person's stored state, with the checker's own count of the facts that went into it.
struct SimulatedWatched {
    var watched = Watched()
    var judged = 0
    var lastJudged: Int64 = 0
    /// Only where names are drawn at random.
    var drawnName: EmergencyID?
}

struct SimulatedBatch {
    var people: [PersonID: SimulatedWatched] = [:]
    var messages: [DispatchID: OutboxMessage] = [:]
    var positions: [String: StreamPosition] = [:]

    var isEmpty: Bool { people.isEmpty && messages.isEmpty && positions.isEmpty }

    mutating func add(_ later: SimulatedBatch) {
        people.merge(later.people) { $1 }
        messages.merge(later.messages) { $1 }
        positions.merge(later.positions) { $1 }
    }
}

/// Durable.
struct SimulatedStore {
    var people: [PersonID: SimulatedWatched] = [:]
    var messages: [DispatchID: OutboxMessage] = [:]
    var positions: [String: StreamPosition] = [:]

    /// One transaction, with the rules of the tables: a message that is there keeps its bytes, and an acknowledgement stays.
    mutating func take(_ batch: SimulatedBatch) {
        people.merge(batch.people) { $1 }
        positions.merge(batch.positions) { $1 }
        for (id, message) in batch.messages {
            guard let known = messages[id] else {
                messages[id] = message
                continue
            }
            var merged = OutboxMessage(
                id: id, kind: known.kind, body: known.body, createdAt: known.createdAt, attempts: max(known.attempts, message.attempts),
                lastAttemptAt: [known.lastAttemptAt, message.lastAttemptAt].compactMap { $0 }.max(), end: known.end)
            if known.end != .acknowledged { merged.end = message.end ?? known.end }
            messages[id] = merged
        }
    }

    func outbox(of emergency: EmergencyID) -> DispatchOutbox {
        DispatchOutbox(messages.values.filter { $0.id.emergency == emergency })
    }
}

/// What waits for a commit.
struct SimulatedWaiter {
    var number: Int
    /// Goes out when it is stored, or when patience is over.
    var messages: [(person: PersonID, message: OutboxMessage)] = []
    /// Who is answered once it is stored.
    var answersLife: Int?
    /// Whose call-back is answered once it is stored.
    var callBack: (message: DispatchID, integrator: Int)?
}

struct SimulatedJournal {
    var urgent = SimulatedBatch()
    var patient = SimulatedBatch()
    /// On its way to the disk.
    var writing: (batch: SimulatedBatch, waiters: [SimulatedWaiter], isUrgent: Bool)?
    var waiters: [SimulatedWaiter] = []
    var isPatientDue = false

    mutating func note(urgent later: SimulatedBatch, patient laterPatient: SimulatedBatch) {
        for person in later.people.keys { patient.people[person] = nil }
        urgent.add(later)
        patient.add(laterPatient)
    }

    /// Begins the next round, if there is one.
    mutating func begin() -> Bool {
        guard writing == nil else { return false }
        if !waiters.isEmpty || (isPatientDue && !urgent.isEmpty) {
            writing = (urgent, waiters, true)
            (urgent, waiters) = (SimulatedBatch(), [])
            return true
        }
        guard isPatientDue, !patient.isEmpty else {
            isPatientDue = false
            return false
        }
        writing = (patient, [], false)
        (patient, isPatientDue) = (SimulatedBatch(), false)
        return true
    }

    /// Ends it; what was not stored is kept for the next one, older than what has come since.
    mutating func end(isStored: Bool) -> [SimulatedWaiter] {
        guard let round = writing else { return [] }
        writing = nil
        if !isStored {
            var kept = round.batch
            if round.isUrgent {
                kept.add(urgent)
                urgent = kept
            } else {
                for person in urgent.people.keys { kept.people[person] = nil }
                kept.add(patient)
                patient = kept
            }
            isPatientDue = false
        }
        return round.waiters
    }
}
