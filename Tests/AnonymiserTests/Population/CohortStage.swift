// A store of the anonymiser without a bus: facts are applied as its followers do, hours are closed by hand.

import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import Storage
import TestKit

@testable import Anonymiser

/// The day of `Samples.today`, at noon; hours of facts are counted from its midnight.
final class CohortStage: Sendable {
    static let midnight = Samples.today * 24

    let store: Store
    let stores: Population.Stores
    let population: Population
    let profiles: ProfileRepository
    let hours: HourRepository
    let closing: HourClosing
    let erasure: AnonymiserErasure
    let restored: RestoredPeople

    /// Opens the store in a folder, as a start of the service does.
    init(_ folder: URL, key: SymmetricKey, policy: AnonymityPolicy = AnonymityPolicy(), today: Int = Samples.today) async throws {
        let logger = Running.quiet
        let store = try Store.open(
            folder.appendingPathComponent("anonymiser.db"), applicationID: AnonymiserSchema.applicationID,
            migrations: AnonymiserSchema.migrations, logger: logger)
        let stores = Population.Stores(key: key, policy: policy)
        let buckets = BucketStore(store: store, chunks: stores.chunks, squares: stores.squares, logger: logger)
        let noon = Timestamp(milliseconds: Int64(today * 24 + 12) * CohortHourSummed.milliseconds)
        let population = try await Population(
            stores, in: store, buckets: buckets, leaf: { CohortStage.leaf($0) }, now: { noon })
        let profiles = ProfileRepository(stores: stores, logger: logger)
        hours = HourRepository(stores: stores, wake: {})
        closing = HourClosing(
            store: store, stores: stores, population: population, signal: WakeUpSignal(), metrics: AnonymiserMetrics(), logger: logger)
        let erasure = AnonymiserErasure(store: store, stores: stores, profiles: profiles, clearGroups: { _ in })
        restored = RestoredPeople(
            store: store, stores: stores, profiles: profiles, erasure: erasure, signal: WakeUpSignal(), logger: logger)
        (self.store, self.stores, self.population, self.profiles, self.erasure) = (store, stores, population, profiles, erasure)
    }

    static func with<Value>(_ body: (URL, SymmetricKey) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in try await body(folder, .random()) }
    }

    /// Codes are leaves of the sample's catalogue.
    static func leaf(_ code: String) -> Int {
        Samples.places.leaves.indices.contains(Int(code) ?? -1) ? Int(code) ?? 0 : 0
    }

    static func time(_ hour: Int) -> Timestamp {
        Timestamp(milliseconds: Int64(hour) * CohortHourSummed.milliseconds)
    }

    // MARK: Facts

    func say(_ person: PersonID, _ profile: CohortProfile?) async throws {
        try await store.write { [profiles] db in try profiles.apply(db, CohortProfileState(person: person, profile: profile)) }
    }

    func say(_ summed: CohortHourSummed) async throws {
        try await store.write { [hours] db in try hours.apply(db, summed) }
    }

    /// Ingest has said everything before the hour, and what can be closed is closed.
    func close(through hour: Int) async throws {
        try await store.write { [hours] db in try hours.apply(db, CohortHoursClosed(through: Self.time(hour))) }
        while try await closing.round() == .atOnce {}
    }

    func erase(_ person: PersonID, _ scope: ErasureScope, at hour: Int) async throws {
        let order = PersonErased(erasure: .random(), person: person, scope: scope, orderedAt: Self.time(hour))
        let steps = erasure.steps
        try await steps.shut(order)
        while try await store.write({ db in try steps.delete(db, order) }) > 0 {}
        try await store.emptyLog()
    }

    func row(_ person: PersonID) async throws -> Int? {
        try await store.read { [people = stores.people] db in try people.find(db, person)?.row }
    }

    // MARK: What is made up

    static func profile(
        since hour: Int, _ metrics: [Metric] = [.heartRate], birthDate: String = "1980-05-01", city: Int = 1
    ) -> CohortProfile {
        CohortProfile(
            birthDate: birthDate, sex: "female", cityOfBirth: "\(city)", cityOfResidence: "\(city)", occupation: "employed", weight: 70.4,
            height: 168, shares: metrics.map { CohortOptIn(metric: $0, since: time(hour)) })
    }

    static func rate(_ person: PersonID, _ hour: Int, _ rates: Int...) -> CohortHourSummed {
        CohortHourSummed(
            person: person, hour: time(hour),
            sums: [.init(metric: .heartRate, count: rates.count, sum: rates.reduce(0) { $0 + $1 * 1000 })])
    }
}

extension CohortData {
    /// The code of somebody's heart rate in the bucket that begins with an hour; nil for none.
    func rate(of row: Int, _ granularity: Granularity = .hour, from hour: Int) throws -> Int? {
        let span = TimeSpan(hour * TimeSpan.perHour, hour * TimeSpan.perHour + (granularity.length ?? TimeSpan.perDay))
        let code = try values(.heartRate, span, granularity).columns[0][row]
        return code == 0 ? nil : Int(code) - 1
    }

    /// Of how many who may be in a group a table of the bucket would tell, without its column.
    func countedRates(_ granularity: Granularity = .hour, from hour: Int) throws -> Int {
        let span = TimeSpan(hour * TimeSpan.perHour, hour * TimeSpan.perHour + (granularity.length ?? TimeSpan.perDay))
        let members = columns.eligible(for: .heartRate)
        return try counted(.heartRate, span, granularity, of: members, in: ClassColumn(RecodingPath([]), cohort: members, columns: []))
            .people
    }
}
