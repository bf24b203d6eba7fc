// What a subscriber can do: join, pause, leave, set bounds, name contacts, look back. Always about themselves.

import Contracts
import ServiceKit

struct Panel: Sendable {
    let supervision: SupervisionService
    let store: SOSStore
    let enrolment: Enrolment
    let messages: MessageOutbox
    let preview: ThresholdPreview
    let reminder: Duration
    let country: Country

    // MARK: What takes something away

    /// What supervision would lose by the request of somebody who is subscribed: whoever asks for it proves once more who they are.
    func weakened(_ person: PersonID, by request: Request) async -> [Weakening] {
        let subscriber = await supervision.subscriber(of: person)
        return subscriber?.weakened(own: request.own, preferences: request.preferences, by: supervision.rules) ?? []
    }

    /// Tells the person, in the transaction of the change itself; nil where nothing is lost.
    private func telling(_ person: PersonID, _ losses: [Weakening]) async -> RememberedAnswer? {
        guard !losses.isEmpty else { return nil }
        let language = await supervision.address(of: person).language
        let message = SendMessage(
            message: .random(), recipient: Recipient(person: person), channels: [.inbox, .push], template: .watchedLess,
            language: language,
            values: ["time": Timestamp.now.rfc3339, "change": losses.map { $0.words(language) }.joined(separator: "; ")])
        return RememberedAnswer { [messages] in try messages.enqueue($0, message) }
    }

    // MARK: Subscription

    /// What the person has told when joining or chooses since, checked.
    struct Request: Sendable {
        /// nil leaves those that are.
        var own: [Metric: Bounds]?
        var preferences: SupervisionPreferences?
    }

    /// Repeating it changes nothing but what is given.
    /// - Throws: `ability-missing`; `Failure` `unavailable` where ingest is silent: nobody is subscribed on a guess (SOS-02).
    func join(_ person: PersonID, _ request: Request, at now: Timestamp) async throws {
        let missing = try await enrolment.missing(of: person, own: request.own)
        guard missing.isEmpty else { throw Problem.abilityMissing(missing) }
        let letter = await telling(person, weakened(person, by: request))
        try await enrolment.enrol(person, own: request.own, answer: letter) { subscriber in
            if subscriber.clauses?.version != SubscriptionClauses.version {
                subscriber.clauses = AcceptedClauses(version: SubscriptionClauses.version, at: now)
            }
            if let chosen = request.preferences { subscriber.prefer(chosen) }
        }
    }

    func leave(_ person: PersonID) async throws {
        guard await supervision.isSubscribed(person) else { return }
        try await supervision.unsubscribe(person, answer: telling(person, [.left]))
    }

    func pause(_ person: PersonID, _ isPaused: Bool) async throws {
        let interval = try? await store.longestInterval(of: person)
        let isNew = await supervision.subscriber(of: person)?.supervision.stage != .paused
        try await supervision.pause(person, isPaused, interval: interval, answer: telling(person, isPaused && isNew ? [.paused] : []))
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
        of person: PersonID, _ action: String, losing losses: [Weakening] = [],
        _ body: @escaping @Sendable ([EmergencyContact]) throws -> [EmergencyContact]
    ) async throws -> [EmergencyContact] {
        try await supervision.amend(person, action, answer: telling(person, losses)) { $0.contacts = try body($0.contacts ?? []) }
        return try await contacts(of: person)
    }

    // MARK: Thresholds and preferences

    func setOwn(_ own: [Metric: Bounds], of person: PersonID) async throws {
        let letter = await telling(person, weakened(person, by: Request(own: own)))
        try await supervision.setOwn(own, of: person, answer: letter)
    }

    func prefer(_ chosen: SupervisionPreferences, of person: PersonID) async throws {
        let letter = await telling(person, weakened(person, by: Request(preferences: chosen)))
        try await supervision.prefer(chosen, of: person, answer: letter)
    }

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
