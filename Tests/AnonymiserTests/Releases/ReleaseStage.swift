// Releases on a real store, asked as the gateway asks them.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit

@testable import Anonymiser

struct ReleaseStage {
    /// Tables whose rows say that something was released or charged.
    static let tables = [
        "group_requests", "group_release_tables", "group_tables", "group_table_keys", "group_recoding_steps", "group_cohorts",
        "group_cohort_chunks", "group_organisation_days", "group_days", "group_day_chunks", "group_subscriptions", "group_windows",
        "group_window_tables", "group_charged_days", "group_charged_chunks",
    ]

    let folder: URL
    let population: PlayedPopulation
    let policy: AnonymityPolicy
    let key: SymmetricKey
    let clock: TestClock
    let store: Store
    let repository: ReleaseRepository
    let service: ReleaseService
    let pages: ReleasePages
    let windows: WindowClosing
    /// What was said of windows.
    let said: SaidWindows

    init(
        _ folder: URL, _ population: PlayedPopulation, _ policy: AnonymityPolicy = AnonymityPolicy(), key: SymmetricKey = .random(),
        clock: TestClock = TestClock(), said: SaidWindows = SaidWindows()
    ) throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        (self.folder, self.population, self.policy, self.key, self.clock) = (folder, population, policy, key, clock)
        store = try Store.open(
            folder.appendingPathComponent("anonymiser.db"), applicationID: 0x544D_7465, migrations: AnonymiserSchema.migrations,
            logger: logger)
        repository = ReleaseRepository(store, sealedUnder: key, policy)
        service = ReleaseService(
            repository, policy, places: Samples.places,
            tree: CellTree(municipality: { _ in "town" }, province: { _ in "province" }), key: key, logger: logger,
            people: { population.current }, clock: { clock.now })
        pages = ReleasePages(
            store: store, requests: repository.requests, tables: repository.tables, subscriptions: repository.subscriptions)
        windows = WindowClosing(
            service, repository, policy, places: Samples.places,
            tree: CellTree(municipality: { _ in "town" }, province: { _ in "province" }), people: { population.current },
            say: { db, window, _ in db.afterCommit { said.add(window) } }, signal: WakeUpSignal(), logger: logger, clock: { clock.now })
        self.said = said
    }

    /// The same file under the same key in another process.
    func reopened() async throws -> ReleaseStage {
        await store.close()
        return try ReleaseStage(folder, population, policy, key: key, clock: clock, said: said)
    }

    static func form(_ ages: ClosedRange<Int>, _ change: (inout GroupRequestForm) -> Void = { _ in }) -> GroupRequestForm {
        var form = GroupRequestForm(
            types: ["heart-rate"], from: Timestamp(quarter: (Samples.today - 30) * TimeSpan.perDay),
            to: Timestamp(quarter: (Samples.today - 28) * TimeSpan.perDay), granularity: "day")
        form.age = .init(from: ages.lowerBound, to: ages.upperBound)
        change(&form)
        return form
    }

    func ask(
        _ form: GroupRequestForm, _ organisation: OrganisationID, _ request: GroupRequestID = .random(), guardsAtoms: Bool? = nil
    ) async throws -> ReleaseGroup.Reply {
        try await service.release(ReleaseGroup(request: request, organisation: organisation, form: form, guardsAtoms: guardsAtoms))
    }

    func entries(
        _ request: GroupRequestID, _ organisation: OrganisationID, window: Int? = nil, limit: Int = ReadGroupRelease.mostEntries
    ) async throws -> [GroupEntry] {
        var (entries, after): ([GroupEntry], String?) = ([], nil)
        repeat {
            let page = try await pages.page(
                ReadGroupRelease(request: request, organisation: organisation, after: after, limit: limit, window: window))
            entries += page.entries
            after = page.next
        } while after != nil
        return entries
    }

    /// Asks and reads.
    func released(_ form: GroupRequestForm, _ organisation: OrganisationID) async throws -> [GroupEntry] {
        let request = GroupRequestID.random()
        _ = try await ask(form, organisation, request)
        return try await entries(request, organisation)
    }

    /// By table, how many rows it has.
    func rowCounts() async throws -> [String: Int] {
        try await store.read { db in
            var counts: [String: Int] = [:]
            for table in Self.tables { counts[table] = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") }
            return counts
        }
    }
}

/// In the order of commits.
final class SaidWindows: Sendable {
    private let kept = Mutex<[GroupWindowClosed]>([])

    var all: [GroupWindowClosed] { kept.withLock { $0 } }

    func add(_ window: GroupWindowClosed) {
        kept.withLock { $0.append(window) }
    }
}

/// Gives `body` a stage over these people, which is closed afterwards.
func withReleaseStage(
    _ people: PlayedPeople, _ policy: AnonymityPolicy = AnonymityPolicy(), _ body: (ReleaseStage) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        let stage = try ReleaseStage(folder, PlayedPopulation(people), policy)
        try await body(stage)
        await stage.store.close()
    }
}

extension GroupEntry {
    /// Without what is each organisation's own.
    var shared: GroupEntry {
        var entry = self
        entry.id = nil
        return entry
    }
}
