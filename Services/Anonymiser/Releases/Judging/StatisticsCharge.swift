// What statistics cost: each organisation for what it sees first, and everybody's days for what is made.

import Contracts

extension GroupRequest {
    /// Its noise: σ is that of the whole request, also for a table that is made alone because others were kept. Totals and cells of
    /// classes are different requests, each of which is charged.
    func mechanism(_ granularity: Granularity, _ policy: AnonymityPolicy) -> StatisticsMechanism {
        StatisticsMechanism(
            types: types, granularity: granularity, bucketsPerDay: StatisticsMechanism.bucketsPerDay(granularity), hasClasses: false,
            policy)
    }
}

/// What a plan costs one organisation.
struct StatisticsCharge {
    let request: GroupRequest
    let policy: AnonymityPolicy

    /// By day, releases to be charged for tables that an organisation sees first. Tables that were made in several releases have small
    /// noise each, so that together they cost as much as all of those: a day's cost is the sum of what each scalar tells, 1 / (2 σ²).
    func releases(_ unseen: [PlannedEntry], _ granularity: Granularity) -> [Int: Int] {
        let own = request.mechanism(granularity, policy).variance
        // By day, then by σ², the scalars that one person's day touches.
        var touched: [Int: [Int: Int]] = [:]
        for table in unseen {
            var variance = own
            if case .kept(let kept) = table.content { variance = max(1, kept.variance) }
            let scalars = 1 + table.key.type.scales(granularity).count
            for day in table.key.bucket.days { touched[day, default: [:]][variance, default: 0] += scalars }
        }
        return touched.mapValues { byVariance in
            let microRho = byVariance.reduce(0) { $0 + ($1.value * 500_000 + $1.key - 1) / $1.key }
            return (microRho + policy.releaseMicroRho - 1) / policy.releaseMicroRho
        }
    }

    /// By day, who takes part in tables that are made anew.
    func people(_ plan: [PlannedEntry], _ everybody: GroupPeople) throws -> [Int: Bitmap] {
        var typesOfDay: [Int: Set<Int>] = [:]
        for table in plan {
            guard case .values = table.content else { continue }
            for day in table.key.bucket.days { typesOfDay[day, default: []].insert(table.type) }
        }
        var people: [Int: Bitmap] = [:]
        for (day, types) in typesOfDay {
            var members = Bitmap(size: everybody.cohort.size)
            for type in types { members.formUnion(try everybody.members(type, day: day)) }
            people[day] = members
        }
        return people
    }
}
