// What a subscriber reads and changes of themselves, from joining to leaving, and what consent and history add to what is known of them.

import Contracts
import Foundation
import ServiceKit

extension SupervisionService {
    // MARK: Reading

    /// nil for somebody who is neither subscribed nor in an emergency.
    func subscriber(of person: PersonID) -> Subscriber? {
        people[person]?.subscriber
    }

    /// Whether emergencies of the person are looked for.
    func status(of person: PersonID) -> ReadSupervision.Reply {
        let state = people[person]?.subscriber.supervision
        return ReadSupervision.Reply(
            subscribed: state?.subscribed ?? false, paused: state?.stage == .paused || state?.monitoringPaused == true,
            standing: (state?.standing ?? .off).rawValue)
    }

    func isSubscribed(_ person: PersonID) -> Bool {
        people[person]?.subscriber.supervision.subscribed ?? false
    }

    /// How the person is addressed, and in which language.
    func address(of person: PersonID) -> (name: String, language: Language) {
        let subscriber = people[person]?.subscriber
        return (subscriber?.card?.name ?? "", subscriber?.language ?? .italian)
    }

    /// Of everybody who has no bounds of their own.
    nonisolated var defaults: [Metric: Bounds] {
        rules.defaults
    }

    /// Subscribers whose bounds were fitted longest ago, or never; those who want none are left out.
    func peopleToFit(before time: Timestamp, limit: Int) -> [PersonID] {
        let waiting = people.filter { _, watched in
            let subscriber = watched.subscriber
            guard subscriber.supervision.subscribed, subscriber.preferences?.personalised ?? true else { return false }
            return subscriber.fit.map { $0.at < time } ?? true
        }
        return waiting.keys.prefix(limit).map { $0 }
    }

    /// How many of those who want to be supervised now have no device of which anything could be heard.
    func withoutDevice() async throws -> Int {
        let equipped = try await store.peopleWithDevices()
        return people.count { person, watched in
            let state = watched.subscriber.supervision
            return state.subscribed && state.stage != .paused && !isSynthetic(person) && !equipped.contains(person)
        }
    }

    /// One who has paused supervision.
    struct Pausing: Sendable {
        let person: PersonID
        let since: Timestamp
        let language: Language
        /// Of the last known place, in degrees; nil where none is known.
        let longitude: Double?
    }

    func pausing() -> [Pausing] {
        people.compactMap { person, watched in
            let subscriber = watched.subscriber
            guard subscriber.supervision.subscribed, subscriber.supervision.stage == .paused, let since = subscriber.pausedSince else {
                return nil
            }
            return Pausing(
                person: person, since: since, language: subscriber.language, longitude: subscriber.places.places.first?.position.longitude)
        }
    }

    // MARK: Joining, leaving and pausing

    /// What goes into the transaction of a change, by what there is of the subscriber: asked in one step with the change, and before it.
    /// - Throws: what refuses the change.
    typealias Further = @Sendable (Subscriber) throws -> SealedBatchStore.FurtherWrite?

    /// - Parameter amend: what is kept of the subscriber beside, from the beginning.
    func subscribe(
        _ person: PersonID, own: [Metric: Bounds], interval: Duration?, further: Further,
        amend: @Sendable (inout Subscriber) -> Void = { _ in }
    ) async throws {
        var effects = Effects()
        var watched = people[person] ?? Watched()
        let write = try further(watched.subscriber)
        amend(&watched.subscriber)
        people[person] = watched
        let joins = watched.subscriber.supervision.joins
        change(person, &effects) { $0.subscribed(own: own, declaredInterval: interval, at: clock.now) }
        noteJoining(of: person, after: joins)
        try await finish(effects, of: person, "subscribed", write)
    }

    /// - Parameter before: how often supervision had begun to listen before what the person has just said.
    private func noteJoining(of person: PersonID, after before: Int?) {
        guard var watched = people[person], watched.subscriber.supervision.joins != before else { return }
        watched.subscriber.joinedAt = .now
        people[person] = watched
        changes.put(watched, of: person)
    }

    /// - Throws: `notFound`.
    func subscribed(_ person: PersonID) throws(Failure) -> Subscriber {
        guard let subscriber = people[person]?.subscriber, subscriber.supervision.subscribed else {
            throw Failure(.notFound, "this person is not subscribed")
        }
        return subscriber
    }

    func unsubscribe(_ person: PersonID, further: Further) async throws {
        let write = try further(subscribed(person))
        var effects = Effects()
        change(person, &effects) { $0.unsubscribed(at: clock.now) }
        try await finish(effects, of: person, "unsubscribed", write)
    }

    func pause(_ person: PersonID, _ isPaused: Bool, interval: Duration?, further: Further) async throws {
        let write = try further(subscribed(person))
        var effects = Effects()
        var refusal: Failure?
        let joins = people[person]?.subscriber.supervision.joins
        change(person, &effects) { machine in
            let outcome = isPaused ? machine.paused(at: clock.now) : machine.resumed(declaredInterval: interval, at: clock.now)
            refusal = outcome.refusal
            return outcome.actions
        }
        if refusal == nil { notePause(of: person, isPaused) }
        noteJoining(of: person, after: joins)
        try await finish(effects, of: person, isPaused ? "paused" : "resumed", write, refusal)
    }

    // MARK: The person

    /// Changes what is kept beside the supervision itself.
    func amend(
        _ person: PersonID, _ action: String, further: Further, _ body: @Sendable (inout Subscriber) throws -> Void
    ) async throws {
        guard var watched = people[person], watched.subscriber.supervision.subscribed else {
            throw Failure(.notFound, "this person is not subscribed")
        }
        let write = try further(watched.subscriber)
        try body(&watched.subscriber)
        people[person] = watched
        changes.put(watched, of: person)
        try await finish(Effects(), of: person, action, write)
    }

    /// Own bounds in place of those that were; they count from the next upload on (SOS-08).
    func setOwn(_ own: [Metric: Bounds], of person: PersonID, further: Further) async throws {
        let write = try further(subscribed(person))
        var effects = Effects()
        change(person, &effects) { $0.subscribed(own: own, declaredInterval: nil, at: clock.now) }
        try await finish(effects, of: person, "thresholds-set", write)
    }

    func prefer(_ chosen: SupervisionPreferences, of person: PersonID, further: Further = { _ in nil }) async throws {
        try await amend(person, "preferences-set", further: further) { subscriber in
            subscriber.prefer(chosen)
            if !chosen.personalised { subscriber.fit = nil }
        }
    }

    /// When a pause began, as reminders count it.
    func notePause(of person: PersonID, _ isPaused: Bool) {
        guard var watched = people[person] else { return }
        watched.subscriber.pausedSince = isPaused ? watched.subscriber.pausedSince ?? .now : nil
        people[person] = watched
        changes.put(watched, of: person)
    }

    /// Stores what a person has said, in one transaction with `further`.
    func finish(
        _ effects: Effects, of person: PersonID, _ action: String, _ further: SealedBatchStore.FurtherWrite?,
        _ refusal: Failure? = nil, detail: String = "", waitsForDisk: Bool = true
    ) async throws {
        var effects = effects
        effects.people.insert(person)
        if refusal == nil {
            changes.audit.append(
                AuditNote(at: .now, actor: "person", action: action, object: names.auditName(of: person), detail: detail))
            if let further { changes.further.append(further) }
            if let kind = SupervisionEvent.Kind(rawValue: action) {
                effects.events.append(SupervisionEvent(person: person, kind: kind, at: .now))
            }
        }
        guard waitsForDisk else { return settleSoon(effects) }
        await settle(effects)
        if let refusal { throw refusal }
        do {
            try await journal.commit()
        } catch {
            throw Failure(.unavailable, "it is in force, but could not be stored yet: ask again")
        }
    }

    // MARK: What others know

    /// One gapless stretch of consent's cards. Who is not in a snapshot keeps what is known: rescue fails open, and the card ends with
    /// the subscription. Of who is not known here nothing is kept: should they become so, consent is asked (`CardReading`).
    func know(_ cards: [EmergencyCardState], _ next: [StreamPosition]) async {
        var effects = Effects()
        for state in cards {
            guard var watched = people[state.person] else { continue }
            watched.subscriber.know(
                state.card, whileRunning: Supervision(rules: rules, state: watched.subscriber.supervision).emergencyRuns)
            people[state.person] = watched
            changes.put(watched, of: state.person)
            effects.people.insert(state.person)
        }
        for position in next { changes.positions[position.stream] = position }
        await settle(effects)
    }

    /// Those of these people who are known here without a card.
    func withoutCard(among asked: Set<PersonID>) -> Set<PersonID> {
        asked.filter { person in
            guard !isSynthetic(person), let watched = people[person] else { return false }
            return watched.subscriber.card == nil
        }
    }

    /// As consent has answered. A card that its stream has brought meanwhile stays: it may be newer.
    func fill(_ cards: [EmergencyCardState]) async {
        let missing = withoutCard(among: Set(cards.map(\.person)))
        await know(cards.filter { missing.contains($0.person) }, [])
    }

    /// What ingest knows of a person whom nothing was known of: where they are, above all. It may come after the call.
    func note(_ latest: [Sample], of person: PersonID) async {
        guard people[person] != nil else { return }
        people[person]?.subscriber.note(Supervision.Upload(at: clock.now, receivedAt: .now, entries: latest), watches: { _ in false })
        var effects = Effects()
        change(person, &effects) { $0.emergencyRuns ? $0.timePassed(to: clock.now) : [] }
        await settle(effects)
    }

    /// Bounds fitted to the person's history; nothing changes for who has left or wants none meanwhile.
    func fitted(_ fit: PersonalFit, of person: PersonID) async {
        guard var watched = people[person], watched.subscriber.supervision.subscribed, watched.subscriber.preferences?.personalised ?? true
        else { return }
        watched.subscriber.fit = fit
        people[person] = watched
        changes.put(watched, of: person)
        var effects = Effects()
        effects.people.insert(person)
        await settle(effects)
    }

    // MARK: Starting

    /// Says what no fact has said: of people who subscribed before there was such a stream, or whose state was lost.
    func saySubscriptions(said: Set<PersonID>) async {
        let subscribed = Set(people.filter { $0.value.subscriber.supervision.subscribed }.keys)
        var effects = Effects()
        for person in subscribed.symmetricDifference(said) {
            changes.subscriptions.append(SubscriptionState(person: person, subscribed: subscribed.contains(person)))
            effects.people.insert(person)
        }
        await settle(effects)
    }
}
