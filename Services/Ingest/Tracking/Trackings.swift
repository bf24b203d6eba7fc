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

    init(registry: DeviceRegistry, households: HouseholdRepository, people: People) {
        (self.registry, self.households, self.people) = (registry, households, people)
    }

    func tracking(of person: PersonID) async throws -> TrackingAnswer {
        _ = try await people.number(of: person)
        return Self.answer(registry.household(of: person)?.plan ?? TrackingPlan([]))
    }

    /// Stores the choice as a whole, or nothing of it.
    func choose(_ wanted: [DeviceID: MetricSet], _ whenTracked: WhenTracked?, by person: PersonID) async throws -> TrackingVerdict {
        let number = try await people.number(of: person)
        return try await households.change(number) { db, household in
            var plan = household.plan
            switch plan.choose(wanted, whenTracked) {
            case .faulty(let faults): return .faulty(faults)
            case .undecided(let items): return .undecided(items)
            case .settled(let moved, let kept):
                try HouseholdRepository.keep(db, plan, of: household)
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
