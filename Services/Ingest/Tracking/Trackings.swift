// What people choose about their sources: which device each parameter comes from, and whom they trust more (ACC-25, ACC-26).

import Contracts
import ServiceKit
import Storage

/// What came of a choice.
enum TrackingVerdict: Sendable {
    case settled(TrackingAnswer)
    /// Nothing was changed.
    case undecided([TrackedElsewhere])
    case faulty([TrackingFault])
}

struct Trackings: Sendable {
    let registry: DeviceRegistry
    let households: HouseholdRepository
    let people: People
    let outbox: MessageOutbox

    init(registry: DeviceRegistry, households: HouseholdRepository, people: People, outbox: MessageOutbox) {
        (self.registry, self.households, self.people, self.outbox) = (registry, households, people, outbox)
    }

    func tracking(of person: PersonID) async throws -> TrackingAnswer {
        _ = try await people.number(of: person)
        return Self.answer(registry.household(of: person)?.plan ?? TrackingPlan([]))
    }

    /// Whether the choice takes something from the device that delivers it: whoever makes it proves once more who they are, since nobody
    /// receives a heart rate that is tracked from nothing.
    func withdraws(_ wanted: [DeviceID: MetricSet], _ whenTracked: WhenTracked?, of person: PersonID) -> Bool {
        let former = registry.household(of: person)?.plan ?? TrackingPlan([])
        var plan = former
        guard case .settled = plan.choose(wanted, whenTracked) else { return false }
        return !plan.withdrawn(from: former).isEmpty
    }

    /// Stores the choice as a whole, or nothing of it. The person is notified of what is no longer taken from the device that delivered it.
    func choose(_ wanted: [DeviceID: MetricSet], _ whenTracked: WhenTracked?, by person: PersonID) async throws -> TrackingVerdict {
        let number = try await people.number(of: person)
        let language = registry.language(of: person)
        return try await households.change(number) { [outbox] db, household in
            var plan = household.plan
            switch plan.choose(wanted, whenTracked) {
            case .faulty(let faults): return .faulty(faults)
            case .undecided(let items): return .undecided(items)
            case .settled(let moved, let kept):
                try HouseholdRepository.keep(db, plan, of: household)
                if let letter = Self.letter(plan.withdrawn(from: household.plan), to: person, language) { try outbox.enqueue(db, letter) }
                var answer = Self.answer(plan)
                (answer.moved, answer.kept) = (moved.map(TrackedElsewhereItem.init), kept.map(TrackedElsewhereItem.init))
                return .settled(answer)
            }
        }
    }

    /// Changes whom the person trusts more. What is tracked stays where it is: only later choices are measured by it.
    func prefer(_ priority: SourcePriority, by person: PersonID) async throws -> TrackingAnswer {
        let number = try await people.number(of: person)
        return try await households.change(number) { db, household in
            try DeviceStore().setPriority(db, of: household.number, priority)
            return Self.answer(TrackingPlan(household.plan.sources, priority: priority))
        }
    }

    /// Nil where nothing was withdrawn.
    private static func letter(_ withdrawn: [Metric], to person: PersonID, _ language: Language) -> SendMessage? {
        guard !withdrawn.isEmpty else { return nil }
        let names = withdrawn.map { language == .italian ? $0.definition.italian : $0.definition.english }.joined(separator: ", ")
        let change =
            language == .italian
            ? "queste misure non vengono più prese dal dispositivo che le consegnava: \(names)"
            : "these are no longer taken from the device that delivered them: \(names)"
        return SendMessage(
            message: .random(), recipient: Recipient(person: person), channels: [.inbox, .push], template: .watchedLess,
            language: language, values: ["time": Timestamp.now.rfc3339, "change": change])
    }

    private static func answer(_ plan: TrackingPlan) -> TrackingAnswer {
        TrackingAnswer(
            priority: plan.priority.order,
            parameters: Metric.all.compactMap { metric in
                let candidates = plan.sources.filter { $0.measures.contains(metric) }.map(\.device)
                guard !candidates.isEmpty else { return nil }
                return .init(code: metric.code, source: plan.source(of: metric)?.device, candidates: candidates)
            })
    }
}
