// At the start: makes a population up where the settings ask for one, and refuses what would mix made-up people with real ones.

import Contracts
import Foundation
import Logging
import ServiceKit
import Storage

/// Why a service does not start.
enum SyntheticRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// Real people are there, or an installation has been followed.
    case holdsRealPeople
    /// People were made up here, and the settings do not ask for any.
    case holdsMadeUpPeople
    /// Other people than the settings ask for.
    case holdsOthers
    case brokenOff
    /// No municipality of the public table has inhabitants.
    case noTowns

    var description: String {
        switch self {
        case .holdsRealPeople:
            "ano.synthetic_people: this store has followed a real installation; people are made up in a store of their own alone"
        case .holdsMadeUpPeople:
            "everybody in this store is made up: set ano.synthetic_people as it was, or begin anew with an empty folder"
        case .holdsOthers: "ano.synthetic_people, _days or _seed is not what this store was made from: begin anew with an empty folder"
        case .brokenOff: "making people up was broken off in this store: begin anew with an empty folder"
        case .noTowns: "ano.synthetic_people: no municipality of the table of places has inhabitants"
        }
    }
}

/// Whose people a store holds.
enum SyntheticStage: Hashable, Sendable {
    /// Those that consent and ingest tell of.
    case real
    case madeUp
    /// Nobody's yet: these are to be made up.
    case empty(SyntheticPlan)

    /// Whether nothing of real people may be applied.
    var isMadeUp: Bool { self != .real }
}

struct SyntheticModule: Sendable {
    /// Facts of one transaction.
    static let slice = 4096
    /// After the end of an hour, as ingest does.
    static let watermark = Duration.seconds(600)
    private static let look = Duration.seconds(30)

    private let settings: SyntheticSettings
    private let store: Store
    private let country: SyntheticCountry
    private let logger: Logger
    private let marks = SyntheticStore()

    init(_ settings: SyntheticSettings, store: Store, country: SyntheticCountry, logger: Logger) {
        (self.settings, self.store, self.country, self.logger) = (settings, store, country, logger)
    }

    /// Whose people the store holds, or is to hold.
    /// - Parameters:
    ///   - isUsed: whether the store holds people, or the position in a stream of people.
    ///   - now: its last whole UTC day is the population's.
    /// - Throws: `SyntheticRefusal`.
    func stage(isUsed: Bool, now: Timestamp) async throws -> SyntheticStage {
        let mark = try await store.read { [marks] db in try marks.mark(db) }
        guard settings.isOn else {
            if mark != nil { throw SyntheticRefusal.holdsMadeUpPeople }
            return .real
        }
        if let mark {
            guard mark.isComplete else { throw SyntheticRefusal.brokenOff }
            let plan = mark.plan
            guard plan.people == settings.people, plan.seed == settings.seed, plan.days.count == settings.days else {
                throw SyntheticRefusal.holdsOthers
            }
            return .madeUp
        }
        guard !isUsed else { throw SyntheticRefusal.holdsRealPeople }
        guard !country.towns.towns.isEmpty else { throw SyntheticRefusal.noTowns }
        let today = Int(now.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient)
        return .empty(SyntheticPlan(people: settings.people, seed: settings.seed, days: today - settings.days..<today))
    }

    /// Fills an empty store, then lets hours be closed and, where the settings ask for it, people go on; until it is cancelled.
    func run(_ stage: SyntheticStage, _ people: ProfileRepository, _ sums: HourRepository, closing: HourClosing) async throws {
        try await fill(stage, into: SyntheticFacts(people, sums, closing: closing, in: store))
        let further = SyntheticFacts(people, sums, closing: nil, in: store)
        try await withThrowingTaskGroup { group in
            group.addTask { try await closing.run() }
            group.addTask { [self] in
                try await goOn(into: further) { try await store.read { db in try closing.stores.hours.state(db).saidThrough } }
            }
            try await group.waitForAll()
        }
    }

    /// Fills an empty store, and does nothing at any other stage. Nothing else may write to it meanwhile.
    func fill(_ stage: SyntheticStage, into facts: SyntheticFacts) async throws {
        guard case .empty(let plan) = stage else { return }
        guard try await store.read({ [marks] db in try marks.mark(db) }) == nil else { throw SyntheticRefusal.brokenOff }
        try await set(SyntheticMark(plan: plan, isComplete: false))
        try await fill(plan, into: facts)
        if let shadow = settings.shadow { try SyntheticShadow(plan, country).write(to: shadow) }
        try await set(SyntheticMark(plan: plan, isComplete: true))
        logger.warning(
            "everybody in this service is made up",
            metadata: ["people": "\(plan.people)", "days": "\(plan.days.count)", "seed": "\(plan.seed)"])
    }

    private func set(_ mark: SyntheticMark) async throws {
        try await store.write { [marks] db in try marks.set(db, mark) }
    }

    /// Hour by hour, as ingest tells of a living population.
    private func fill(_ plan: SyntheticPlan, into facts: SyntheticFacts) async throws {
        let people = (0..<plan.people).map { plan.person($0, country.towns) }
        let since = Timestamp(milliseconds: Int64(plan.hours.lowerBound) * CohortHourSummed.milliseconds)
        for slice in Self.slices(people) {
            try await facts.profiles(slice.map { CohortProfileState(person: $0.person, profile: $0.profile(since: since)) })
        }
        for hour in plan.hours {
            try await Self.say(hour, of: people, into: facts)
            let done = hour + 1 - plan.hours.lowerBound
            if done.isMultiple(of: 24) {
                logger.notice("people are being made up", metadata: ["days": "\(done / 24)", "of": "\(plan.days.count)"])
            }
        }
    }

    private static func say(_ hour: Int, of people: [SyntheticPerson], into facts: SyntheticFacts) async throws {
        for slice in slices(people) {
            let told = slice.compactMap { $0.summed(hour) }
            if !told.isEmpty { try await facts.hours(told) }
        }
        try await facts.closed(CohortHoursClosed(through: Timestamp(milliseconds: Int64(hour + 1) * CohortHourSummed.milliseconds)))
    }

    // MARK: Going on

    /// Where the settings ask for it: says each hour once it is over, and those that passed while nothing ran, until it is cancelled.
    /// - Parameter saidThrough: the first hour since 1970 that is not said yet.
    func goOn(into facts: SyntheticFacts, saidThrough: @escaping @Sendable () async throws -> Int?) async throws {
        guard settings.isLive, let plan = try await store.read({ [marks] db in try marks.mark(db) })?.plan else { return }
        let people = (0..<plan.people).map { plan.person($0, country.towns) }
        try await WorkLoop(every: Self.look, backoff: Backoff(.seconds(1), upTo: Self.look)) { [logger] error in
            logger.error("an hour of made-up people could not be said and is tried again", metadata: ["error": "\(error.logReason)"])
        }.poll {
            for hour in Self.hours(of: plan, from: try await saidThrough(), at: .now) { try await Self.say(hour, of: people, into: facts) }
        }
    }

    /// What is to be said now; after a long absence as many days of it as were made up at first.
    static func hours(of plan: SyntheticPlan, from next: Int?, at now: Timestamp) -> Range<Int> {
        let end = Int((now - watermark).milliseconds.flooredQuotientAndRemainder(dividingBy: CohortHourSummed.milliseconds).quotient)
        let first = max(next ?? plan.hours.upperBound, end - plan.hours.count)
        return min(first, end)..<end
    }

    private static func slices(_ people: [SyntheticPerson]) -> [ArraySlice<SyntheticPerson>] {
        stride(from: 0, to: people.count, by: slice).map { people[$0..<min($0 + slice, people.count)] }
    }
}
