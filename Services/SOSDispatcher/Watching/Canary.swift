// A synthetic subscriber whose heart fails every ten seconds: whoever is to be called in earnest goes the same way.

import Bus
import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import Storage

/// One entry is recorded at ingest, heard, judged, confirmed, stored, dispatched as `system` over HTTP to a probe in this process, and
/// acknowledged. What that takes is the availability of the whole chain. No real emergency service ever hears of it, and no person.
actor Canary {
    private static let lowBound = 100.0
    /// How often it is looked whether the call was acknowledged, once it may be.
    private static let look = Duration.milliseconds(10)

    private let supervision: SupervisionService
    private let dispatcher: Dispatcher
    private let pair: PairState
    private let keys: PersonKeys
    private let store: Store
    private let ingest: BusClient
    private let budget: Duration
    private let metrics: WatchMetrics
    private let logger: Logger
    private let table = CanaryStore()
    /// Where this process listens, once it does.
    private let probe: @Sendable () async -> Integrator
    private var known: CanaryStore.Known?
    /// What came of those that the store could not take, by hour: counted with what it has, until it takes them. Where the process ends
    /// before, they count as missed at the next start.
    private var uncounted: [Int64: CanaryCounts] = [:]
    /// What was due before is counted as missed by the store's own time of the last one.
    private let begunAt: Timestamp
    private var missedInARow = 0
    private var flight = 0
    private(set) var last: (at: Timestamp, outcome: CanaryOutcome)?

    /// - Parameter dispatchAt: when calls go out, from the first critical entry.
    init(
        supervision: SupervisionService, dispatcher: Dispatcher, pair: PairState, keys: PersonKeys, store: Store, ingest: BusClient,
        dispatchAt: Duration, metrics: WatchMetrics, logger: Logger, probe: @escaping @Sendable () async -> Integrator
    ) {
        (self.supervision, self.dispatcher, self.pair, self.keys, self.store) = (supervision, dispatcher, pair, keys, store)
        (self.ingest, self.metrics, self.logger, self.probe) = (ingest, metrics, logger, probe)
        budget = dispatchAt + pair.lead
        begunAt = .now
    }

    /// Runs until it is cancelled.
    func run() async throws {
        let clock = ContinuousClock()
        var next = clock.now
        while !Task.isCancelled {
            do {
                try await count(await attempt())
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                logger.warning("a test emergency could not be counted on disk", metadata: ["reason": "\(error.logReason)"])
            }
            next = max(next + CanaryPlan.period, clock.now)
            try await Task.sleep(until: next, clock: clock)
        }
    }

    /// What came of it in the last hours, and how many of that are not stored.
    func counts(hours: Int64) async throws -> (counts: CanaryCounts, uncounted: Int, since: Timestamp?) {
        let first = CanaryPlan.hour(of: .now) - hours + 1
        let waiting = uncounted.filter { $0.key >= first }.values
        var counts = try await store.read { [table] db in try table.counts(db, since: first) }
        for each in waiting { counts.add(each) }
        return (counts, waiting.map(\.total).reduce(0, +), known?.since)
    }

    /// Missed as well where it cannot be known who flies or who answers: nobody else is called in that one's place.
    private func attempt() async throws -> CanaryOutcome {
        do {
            let person = try await person()
            return try await supervision.isListening() ? fly(person) : .missed
        } catch {
            // A stop says nothing about the chain.
            try Task.checkCancellation()
            logger.warning("a test emergency failed with an error", metadata: ["reason": "\(error.logReason)"])
            return .missed
        }
    }

    // MARK: Who it is

    /// Made known to ingest at the first start; what it missed while nobody ran is counted.
    private func person() async throws -> PersonID {
        let person = supervision.names.synthetic.person(of: pair.role)
        if known != nil { return person }
        let now = Timestamp.now
        let stored = try await store.read { [table] db in try table.load(db) }
        if let stored {
            let missed = CanaryPlan.missed(from: stored.lastAt, to: begunAt).mapValues { CanaryCounts(missed: $0) }
            try await store.write { [table] db in try table.count(db, missed, at: now) }
        }
        if stored?.person != person {
            _ = try await ingest.ask(AddDevice(person: person, name: "canary", intervalMs: nil), deadline: .seconds(2))
            if let stored { try await takeBack(stored.person, at: now) }
            let new = CanaryStore.Known(person: person, since: stored?.since ?? now, lastAt: now)
            try await store.write { [table] db in try table.save(db, new) }
        }
        _ = try await keys.makeKey(for: person)
        pair.keepSecret(person)
        await supervision.admit(canary: person)
        let probe = await self.probe()
        // Of a cancelled task it has no port.
        try Task.checkCancellation()
        await dispatcher.admit(probe: probe)
        known = CanaryStore.Known(person: person, since: stored?.since ?? now, lastAt: now)
        return person
    }

    /// Earlier releases flew somebody whom ingest had made up, of whom the other dispatcher could come to know, and whom it then supervised as
    /// anybody: it hears that this one has left.
    private func takeBack(_ person: PersonID, at now: Timestamp) async throws {
        let version = SettingsVersion(at: now, by: pair.role, after: .none)
        pair.tell(.settings(PersonSettings(person: person, version: version, settings: SubscriberSettings(Watched().subscriber))))
        try await supervision.journal.commit()
    }

    // MARK: One flight

    /// nil in the outcome where no acknowledgement came in time.
    private func fly(_ person: PersonID) async throws -> CanaryOutcome {
        let clock = ContinuousClock()
        await supervision.beginFlight(of: person, bounds: [.heartRate: Bounds(low: Canary.lowBound, high: nil)])
        let begun = clock.now
        flight += 1
        // Never the same value twice: a sensor that shows one is taken for a frozen one.
        let value = Canary.lowBound - 20 - Double(flight % 19)
        _ = try? await ingest.ask(
            RecordEntries(person: person, samples: [Sample(type: .heartRate, at: .now, value: value)]), deadline: .seconds(1))
        var elapsed: Duration?
        try await Task.sleep(until: begun + max(.zero, budget - CanaryPlan.tolerance), clock: clock)
        while elapsed == nil, clock.now - begun < CanaryPlan.timeout {
            if await supervision.hasLanded(person) { elapsed = clock.now - begun }
            // Nothing tells when an emergency is acknowledged but its state.
            if elapsed == nil { try await Task.sleep(for: Canary.look) }
        }
        await dispatcher.endFlight()
        await supervision.endFlight(of: person)
        return CanaryOutcome(after: elapsed, budget: budget)
    }

    private func count(_ outcome: CanaryOutcome) async throws {
        let now = Timestamp.now
        last = (now, outcome)
        let hour = CanaryPlan.hour(of: now)
        var counts = uncounted.filter { $0.key >= hour - CanaryPlan.keptHours }
        counts[hour, default: CanaryCounts()].note(outcome)
        metrics.flown(outcome)
        missedInARow = outcome == .missed ? missedInARow + 1 : 0
        switch outcome {
        case .ok: break
        case .late(let elapsed):
            logger.critical(
                "a test emergency was acknowledged late",
                metadata: ["after_ms": "\(elapsed.wholeMilliseconds)", "budget_ms": "\(budget.wholeMilliseconds)"])
        case .missed where missedInARow >= CanaryPlan.alarm:
            logger.critical("test emergencies do not get through", metadata: ["in_a_row": "\(missedInARow)"])
        case .missed:
            logger.error("a test emergency did not get through")
        }
        do {
            try await store.write { [table, counts] db in try table.count(db, counts, at: now) }
            uncounted = [:]
        } catch {
            uncounted = counts
            throw error
        }
        let month = try await self.counts(hours: 24 * 30).counts
        if let availability = month.availability { metrics.available(availability) }
    }
}

// MARK: What supervision and dispatch do for it

extension SupervisionService {
    func admit(canary person: PersonID) {
        // One that was on its way when the last process stopped.
        people[person] = nil
        subjects["\(person)"] = nil
        records[person] = nil
    }

    func beginFlight(of person: PersonID, bounds: [Metric: Bounds]) async {
        var effects = Effects()
        people[person] = Watched()
        change(person, &effects) { $0.subscribed(own: bounds, declaredInterval: nil, at: clock.now) }
        await settle(effects)
    }

    /// Whether its call was acknowledged.
    func hasLanded(_ person: PersonID) -> Bool {
        people[person]?.subscriber.supervision.stage == .dispatched
    }

    /// Forgets everything of it, whatever state it is in.
    func endFlight(of person: PersonID) async {
        var effects = Effects()
        change(person, &effects) { $0.unsubscribed(at: clock.now) }
        people[person] = nil
        subjects["\(person)"] = nil
        if let record = records.removeValue(forKey: person) { sequences[record.id] = nil }
        changes.remove(person)
        changes.further.append { try CanaryStore.forgetEmergencies($0, of: person) }
        effects.people.insert(person)
        await settle(effects)
    }
}
