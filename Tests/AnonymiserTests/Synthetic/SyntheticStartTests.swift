// Made-up people and people who exist are never in one store.

import Contracts
import Foundation
import Logging
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Anonymiser

@Suite("Start with a synthetic population")
struct SyntheticStartTests {
    private final class Told: Sendable {
        let profiles = Mutex<[CohortProfileState]>([])
        let hours = Mutex<[CohortHourSummed]>([])
        let closed = Mutex<[CohortHoursClosed]>([])

        var facts: SyntheticFacts {
            SyntheticFacts(
                profiles: { told in self.profiles.withLock { $0 += told } }, hours: { told in self.hours.withLock { $0 += told } },
                closed: { told in self.closed.withLock { $0.append(told) } })
        }
    }

    private static let now = Timestamp(milliseconds: 20_503 * 86_400_000 + 5000)

    private static let country: SyntheticCountry = {
        let catalogue = Samples.places
        return SyntheticCountry(catalogue, leaf: { catalogue.leaf($0) ?? 0 }, coordinates: { _ in (45.46, 9.19) })
    }()

    private static func settings(_ environment: [String: String]) -> SyntheticSettings {
        var reader = SettingsReader(environment: environment)
        return SyntheticSettings(&reader)
    }

    private static func people(_ count: Int, seed: Int = 1) -> SyntheticSettings {
        settings([
            "TRACKME_ANO_SYNTHETIC_PEOPLE": "\(count)", "TRACKME_ANO_SYNTHETIC_SEED": "\(seed)", "TRACKME_ANO_SYNTHETIC_DAYS": "1",
        ])
    }

    private static func module(_ settings: SyntheticSettings, _ store: Store) -> SyntheticModule {
        SyntheticModule(settings, store: store, country: country, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// As the service's start does.
    private static func start(_ module: SyntheticModule, isUsed: Bool, into facts: SyntheticFacts) async throws -> Bool {
        let stage = try await module.stage(isUsed: isUsed, now: now)
        try await module.fill(stage, into: facts)
        return stage.isMadeUp
    }

    /// `body` with a store that holds nothing but the mark.
    private static func withStore(_ body: @Sendable (Store) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = try Store.open(
                folder.appendingPathComponent("made-up.db"), applicationID: 7,
                migrations: [Migration(1, "synthetic") { db in try SyntheticStore.create(in: db) }],
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            try await body(store)
            await store.close()
        }
    }

    @Test("an empty store is filled hour by hour, each closed after everybody's, and once")
    func fills() async throws {
        try await Self.withStore { store async throws in
            let told = Told()
            #expect(try await Self.start(Self.module(Self.people(60), store), isUsed: false, into: told.facts))
            #expect(told.profiles.withLock { $0.count } == 60)
            let hours = told.hours.withLock { $0.map(\.hour) }
            #expect(hours == hours.sorted() && !hours.isEmpty)
            #expect(told.closed.withLock { $0.count } == 24)
            #expect(try await Self.start(Self.module(Self.people(60), store), isUsed: true, into: told.facts))
            #expect(told.profiles.withLock { $0.count } == 60)
        }
    }

    @Test("made-up people measured nothing after their days, so that no window closed in a sandbox: each hour is said once it is over")
    func goesOn() async throws {
        let plan = SyntheticPlan(people: 60, seed: 1, days: 20_502..<20_503)
        let end = plan.hours.upperBound
        func hours(_ next: Int?, after minutes: Int64) -> Range<Int> {
            SyntheticModule.hours(of: plan, from: next, at: Timestamp(milliseconds: Int64(end) * 3_600_000) + .seconds(minutes * 60))
        }
        #expect(hours(nil, after: 69).isEmpty)
        #expect(hours(nil, after: 70) == end..<end + 1)
        #expect(hours(end, after: 190) == end..<end + 3)
        #expect(hours(end + 1, after: 70).isEmpty)
        #expect(hours(end + 5, after: 70).isEmpty, "a clock that was set back says nothing twice")
        #expect(hours(end, after: 10 * 1440 + 10) == end + 9 * 24..<end + 10 * 24, "as many days as were made up at first")

        try await Self.withStore { store async throws in
            let told = Told()
            let settings = Self.settings([
                "TRACKME_ANO_SYNTHETIC_PEOPLE": "60", "TRACKME_ANO_SYNTHETIC_DAYS": "1", "TRACKME_ANO_SYNTHETIC_LIVE": "true",
            ])
            let module = Self.module(settings, store)
            _ = try await Self.start(module, isUsed: false, into: told.facts)
            let said = told.hours.withLock { $0.count }
            // The clock is far beyond these days: a day of it is caught up with.
            let going = Task { try await module.goOn(into: told.facts) { nil } }
            try await eventually("the last day is said") { told.closed.withLock { $0.count } == 48 }
            going.cancel()
            let further = told.hours.withLock { $0.dropFirst(said).map(\.hour) }
            #expect(further == further.sorted() && !further.isEmpty)
        }
    }

    @Test("made-up people are refused beside real ones, and real ones beside made-up ones")
    func neverMixed() async throws {
        try await Self.withStore { store async throws in
            let told = Told()
            await #expect(throws: SyntheticRefusal.holdsRealPeople) {
                try await Self.start(Self.module(Self.people(60), store), isUsed: true, into: told.facts)
            }
            #expect(try await !Self.start(Self.module(Self.settings([:]), store), isUsed: true, into: told.facts))
            #expect(try await Self.start(Self.module(Self.people(60), store), isUsed: false, into: told.facts))
            await #expect(throws: SyntheticRefusal.holdsMadeUpPeople) {
                try await Self.start(Self.module(Self.settings([:]), store), isUsed: true, into: told.facts)
            }
            await #expect(throws: SyntheticRefusal.holdsOthers) {
                try await Self.start(Self.module(Self.people(60, seed: 2), store), isUsed: true, into: told.facts)
            }
        }
    }
}
