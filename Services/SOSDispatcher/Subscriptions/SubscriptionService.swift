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

    /// Whether whoever asks has lately proved who they are, and what refuses them where they have not.
    typealias FreshProof = Result<Void, any Error>

    /// Whoever wishes to be watched over less proves once more who they are, and the person is told; anything else is free.
    private func weakening(_ person: PersonID, by request: Request, _ proof: FreshProof) -> SupervisionService.Further {
        { subscriber in
            let losses = subscriber.weakened(own: request.own, preferences: request.preferences, by: supervision.rules)
            if !losses.isEmpty { try proof.get() }
            let hasOtherNotes = request.preferences?.tellsOtherNotes(than: subscriber.preferences ?? SupervisionPreferences()) ?? false
            let isTold = subscriber.supervision.subscribed && hasOtherNotes
            return Self.both(
                telling(person, subscriber.language, losses), isTold ? telling(person, subscriber.language, .medicalNotes) : nil)
        }
    }

    /// Tells the person, in the transaction of the change itself; nil where nothing is lost.
    private func telling(_ person: PersonID, _ language: Language, _ losses: [Weakening]) -> SealedBatchStore.FurtherWrite? {
        guard !losses.isEmpty else { return nil }
        let message = SendMessage(
            message: .random(), recipient: Recipient(person: person), channels: [.inbox, .push], template: .watchedLess,
            language: language,
            values: ["time": Timestamp.now.rfc3339, "change": losses.map { $0.words(language) }.joined(separator: "; ")])
        return { [messages] in try messages.enqueue($0, message) }
    }

    /// As the other. Of each kind once an hour: within it the name is the same, and the notifier takes a name once.
    private func telling(_ person: PersonID, _ language: Language, _ change: RescueChange) -> SealedBatchStore.FurtherWrite {
        let now = Timestamp.now
        let name = supervision.names.message("rescue-changed|\(person)|\(change.rawValue)|\(now.milliseconds / 3_600_000)")
        let message = SendMessage(
            message: name, recipient: Recipient(person: person), channels: [.inbox, .push], template: .rescueChanged, language: language,
            values: ["time": now.rfc3339, "change": change.words(language)])
        return { [messages] in try messages.enqueue($0, message) }
    }

    private static func both(
        _ first: SealedBatchStore.FurtherWrite?, _ second: SealedBatchStore.FurtherWrite?
    ) -> SealedBatchStore.FurtherWrite? {
        guard let first, let second else { return first ?? second }
        return { db in
            try first(db)
            try second(db)
        }
    }

    // MARK: Subscription

    /// What the person has told when joining or chooses since, checked.
    struct Request: Sendable {
        /// nil leaves those that are.
        var own: [Metric: Bounds]?
        var preferences: SupervisionPreferences?
    }

    /// Repeating it changes nothing but what is given.
    /// - Throws: `ability-missing`; `Failure` `unavailable` where ingest is silent: nobody is subscribed on a guess (SOS-02); as `proof`.
    func join(_ person: PersonID, _ request: Request, at now: Timestamp, _ proof: FreshProof = PanelDoor.unproved) async throws {
        let missing = try await enrolment.missing(of: person, own: request.own)
        guard missing.isEmpty else { throw Problem.abilityMissing(missing, while: await watch(over: person)) }
        try await enrolment.enrol(person, own: request.own, further: weakening(person, by: request, proof)) { subscriber in
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
        try await supervision.unsubscribe(person) { telling(person, $0.language, [.left]) }
    }

    func pause(_ person: PersonID, _ isPaused: Bool) async throws {
        let interval = try? await store.longestInterval(of: person)
        try await supervision.pause(person, isPaused, interval: interval) { subscriber in
            telling(person, subscriber.language, isPaused && subscriber.supervision.stage != .paused ? [.paused] : [])
        }
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

    /// The person is told of what is lost, each time; of anything else that is changed once an hour.
    /// - Throws: `ContactList.Fault`.
    func changeContacts(
        of person: PersonID, _ action: String, losing losses: [Weakening] = [],
        _ body: @escaping @Sendable ([EmergencyContact]) throws -> [EmergencyContact]
    ) async throws -> [EmergencyContact] {
        let further: SupervisionService.Further = { subscriber in
            guard losses.isEmpty else { return telling(person, subscriber.language, losses) }
            let known = subscriber.contacts ?? []
            return try body(known) == known ? nil : telling(person, subscriber.language, .contacts)
        }
        try await supervision.amend(person, action, further: further) { $0.contacts = try body($0.contacts ?? []) }
        return try await contacts(of: person)
    }

    // MARK: Thresholds and preferences

    func setOwn(_ own: [Metric: Bounds], of person: PersonID, _ proof: FreshProof) async throws {
        try await supervision.setOwn(own, of: person, further: weakening(person, by: Request(own: own), proof))
    }

    func prefer(_ chosen: SupervisionPreferences, of person: PersonID, _ proof: FreshProof) async throws {
        try await supervision.prefer(chosen, of: person, further: weakening(person, by: Request(preferences: chosen), proof))
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
