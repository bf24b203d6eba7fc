// What a subscriber can do with the subscription: join, pause, leave, choose preferences. Always about themselves.

import Contracts

struct SubscriptionService: Sendable {
    let supervision: SupervisionService
    let store: SOSStore
    let enrolment: Enrolment
    let changes: ProtectionChanges
    let reminder: Duration

    /// Repeating it changes nothing but what is given.
    /// - Throws: `ability-missing`; `Failure` `unavailable` where ingest is silent: nobody is subscribed on a guess (SOS-02); as `proof`.
    func join(
        _ person: PersonID, _ request: ProtectionChanges.Request, at now: Timestamp,
        _ proof: ProtectionChanges.FreshProof = SubscriberDoor.unproved
    ) async throws {
        let missing = try await enrolment.missing(of: person, own: request.own)
        guard missing.isEmpty else { throw Problem.abilityMissing(missing, while: await watch(over: person)) }
        try await enrolment.enrol(person, own: request.own, further: changes.weakening(person, by: request, proof)) { subscriber in
            if subscriber.clauses?.version != SubscriptionClauses.version {
                subscriber.clauses = AcceptedClauses(version: SubscriptionClauses.version, at: now)
            }
            if let chosen = request.preferences { subscriber.prefer(chosen) }
        }
    }

    /// As refusals say it.
    func watch(over person: PersonID) async -> StandingWatch {
        StandingWatch(await supervision.subscriber(of: person)?.supervision)
    }

    func leave(_ person: PersonID) async throws {
        guard await supervision.isSubscribed(person) else { return }
        try await supervision.unsubscribe(person) { changes.telling(person, $0.language, [.left]) }
    }

    func pause(_ person: PersonID, _ isPaused: Bool) async throws {
        let interval = try? await store.longestInterval(of: person)
        try await supervision.pause(person, isPaused, interval: interval) { subscriber in
            changes.telling(person, subscriber.language, isPaused && subscriber.supervision.stage != .paused ? [.paused] : [])
        }
    }

    func prefer(_ chosen: SupervisionPreferences, of person: PersonID, _ proof: ProtectionChanges.FreshProof) async throws {
        try await supervision.prefer(chosen, of: person, further: changes.weakening(person, by: .init(preferences: chosen), proof))
    }

    /// What of the person's devices is missing; nil where ingest does not say.
    func missing(of person: PersonID) async -> [NeededAbility]? {
        try? await enrolment.missing(of: person, own: nil)
    }
}
