// What a subscriber can do: join, pause, leave, set bounds, name contacts, look back. Always about themselves.

import Contracts
import ServiceKit

struct Panel: Sendable {
    let supervision: SupervisionService
    let store: SOSStore
    let enrolment: Enrolment
    let preview: ThresholdPreview
    let reminder: Duration
    let country: Country

    // MARK: Subscription

    /// What the person has told when joining, checked.
    struct Wish: Sendable {
        /// nil leaves those that are.
        var own: [Metric: Bounds]?
        var preferences: SupervisionPreferences?
    }

    /// Repeating it changes nothing but what is given.
    /// - Throws: `ability-missing`; `Failure` `unavailable` where ingest is silent: nobody is subscribed on a guess (SOS-02).
    func join(_ person: PersonID, _ wish: Wish, at now: Timestamp) async throws {
        let missing = try await enrolment.missing(of: person, own: wish.own)
        guard missing.isEmpty else { throw Problem.abilityMissing(missing) }
        try await enrolment.enrol(person, own: wish.own, answer: nil) { subscriber in
            if subscriber.clauses?.version != SubscriptionClauses.version {
                subscriber.clauses = AcceptedClauses(version: SubscriptionClauses.version, at: now)
            }
            if let chosen = wish.preferences { subscriber.prefer(chosen) }
        }
    }

    func leave(_ person: PersonID) async throws {
        if await supervision.isSubscribed(person) { try await supervision.unsubscribe(person, answer: nil) }
    }

    func pause(_ person: PersonID, _ isPaused: Bool) async throws {
        let interval = try? await store.longestInterval(of: person)
        try await supervision.pause(person, isPaused, interval: interval, answer: nil)
    }

    /// What of the person's devices is missing; nil where ingest does not say.
    func missing(of person: PersonID) async -> [NeededAbility]? {
        try? await enrolment.missing(of: person, own: nil)
    }

    // MARK: Contacts

    func contacts(of person: PersonID) async throws -> [EmergencyContact] {
        guard let subscriber = await supervision.subscriber(of: person), subscriber.supervision.subscribed else {
            throw Failure(.notFound, "this person is not subscribed")
        }
        return subscriber.contacts ?? []
    }

    /// - Throws: `ContactList.Fault`.
    func changeContacts(
        of person: PersonID, _ action: String, _ body: @escaping @Sendable ([EmergencyContact]) throws -> [EmergencyContact]
    ) async throws -> [EmergencyContact] {
        try await supervision.amend(person, action) { $0.contacts = try body($0.contacts ?? []) }
        return try await contacts(of: person)
    }

    // MARK: Thresholds

    /// What the last 30 days would have been under these own bounds, and under those in force.
    func forecasts(
        own: [Metric: Bounds], of person: PersonID, at now: Timestamp
    ) async throws -> (proposed: ThresholdForecast, present: ThresholdForecast) {
        let present = await supervision.subscriber(of: person)?.supervision ?? Supervision.State()
        var proposed = present
        proposed.own = own
        let found = try await preview.forecasts([proposed, present], of: person, at: now)
        guard found.count == 2 else { throw Failure(.internal, "a forecast is missing") }
        return (found[0], found[1])
    }

    // MARK: Looking back

    /// Newest first.
    func emergencies(of person: PersonID, before: Timestamp?, limit: Int) async throws -> [EmergencyRecord] {
        try await store.emergencies(of: person, before: before, limit: limit)
    }

    /// nil for somebody else's.
    func emergency(_ id: EmergencyID, of person: PersonID) async throws -> (record: EmergencyRecord, steps: [ReadTimeline.Step])? {
        guard let record = try await store.emergency(id), record.person == person else { return nil }
        return (record, try await Timeline(store: store).steps(of: id))
    }
}
