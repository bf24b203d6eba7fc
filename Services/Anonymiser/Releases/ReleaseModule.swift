// Releases put together: what the bus is answered about groups, and what an erasure does to it.

import Bus
import Contracts
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

extension CohortData: CohortSource {}

/// For the anonymiser's assembly.
struct ReleaseModule: Sendable {
    let service: ReleaseService
    private let pages: ReleasePages
    private let policy: AnonymityPolicy
    private let population: Population
    let windows: WindowClosing

    /// - Parameters:
    ///   - key: the service's own, under which all that is kept of releases lies.
    ///   - hoursClosed: more hours are closed.
    ///   - say: says that a window was closed, in the transaction that makes it true.
    init(
        _ settings: AnonymiserSettings, store: Store, population: Population, places: GroupPlaces, key: SymmetricKey, on runtime: Runtime,
        hoursClosed: WakeUpSignal, say: @escaping ReleaseRepository.Say, clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        let repository = ReleaseRepository(store, sealedUnder: key, settings.policy)
        service = ReleaseService(
            repository, settings.policy, places: places.catalogue, tree: places.tree, key: key, logger: runtime.logger,
            people: { await population.current() }, clock: clock)
        pages = ReleasePages(
            store: store, requests: repository.requests, tables: repository.tables, subscriptions: repository.subscriptions)
        windows = WindowClosing(
            service, repository, settings.policy, places: places.catalogue, tree: places.tree, people: { await population.current() },
            say: say, signal: hoursClosed, logger: runtime.logger, clock: clock)
        (policy, self.population) = (settings.policy, population)
    }

    func register(in methods: inout Methods) {
        // The request's own id is the memory of its answer, for ever.
        methods.on(ReleaseGroup.self) { [service] asked, _ in try await service.release(asked) }
        methods.on(EndGroupSubscription.self) { [windows] asked, _ in
            try await windows.end(asked)
            return Nothing()
        }
        methods.on(ReadGroupRelease.self) { [pages] asked, _ in try await pages.page(asked) }
        methods.on(ReadGroupCatalogue.self) { [policy, population] _, _ in
            ReadGroupCatalogue.Reply(policy, closedUntil: await population.current().closedUntil)
        }
    }

    /// What runs in the background: windows of subscriptions are judged as they close, and old groups are forgotten.
    var services: [any Service] {
        [Background { [service] in try await service.expire() }, Background(windows.run)]
    }

    /// Clears an erased person's row in everything that is kept of releases. To be called once the person is out of the population and
    /// before the erasure is confirmed; may be called again.
    func erase(row: Int) async throws {
        try await service.erase(row: row)
    }
}
