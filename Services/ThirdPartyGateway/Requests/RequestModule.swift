// Requests, data and files put together: for the gateway's assembly and for tests.

import Contracts
import HTTPKit
import Logging
import ServiceKit
import ServiceLifecycle
import Storage

/// What requests need of others: consent and ingest to ask, organisations to admit.
struct RequestDependencies: Sendable {
    var questions: RequestBusRoutes
    var data: GrantedData
    var admit: Admit
    /// Nothing is handed out while what consent says is not known here.
    var gate: FeedGate
}

struct RequestModule: Sendable {
    let repository: RequestRepository
    let service: RequestService
    let events: RequestEventStore
    let watchers: Watchers<OrganisationID>
    let sealer: RequestSealer
    let data: DataService
    let files: DataFileService
    let ending: RequestEnding
    let erasure: ErasureSteps
    let routes: [Route]
    private let follower: Follower

    init(_ settings: RequestSettings, on stores: GatewayStores, runtime: Runtime, dependencies: RequestDependencies) throws {
        let (store, keys, logger, clock) = (stores.opened.store, stores.opened.keys, runtime.logger, stores.clock)
        let vault = RequestVault(keys: keys, serviceKey: try runtime.key("requests"))
        let sealedFiles = SealedFiles(in: runtime.settings.storeFolder, named: "data-files")
        let (watchers, fileTable) = (stores.releases.watchers, DataFileStore())
        let events = RequestEventStore(
            releases: stores.releases, payments: stores.payments, subscriptions: stores.subscriptions,
            organisations: stores.organisations, keys: keys, origin: runtime.settings.publicOrigin, clock: clock)
        let sealer = RequestSealer(store: store, keys: keys, vault: vault, logger: logger)
        let service = RequestService(
            store: store, vault: vault, events: events, payments: stores.payments, questions: dependencies.questions, sealer: sealer,
            firstAnswers: FirstAnswers(secret: try runtime.key("answers")), logger: logger, clock: clock)
        let data = DataService(store: store, data: dependencies.data, payments: stores.payments, clock: clock)
        let files = DataFileService(
            store: store, keys: keys, files: sealedFiles, data: data, gate: dependencies.gate,
            settings: settings, logger: logger, clock: clock)
        let repository = RequestRepository(store: store, vault: vault)
        let keeper = RequestFileKeeper(sealedFiles: sealedFiles) {
            try await store.read { db in try fileTable.withFiles(db) }
        }
        erasure =
            RequestErasureStore(table: RequestStore(), files: fileTable, sealer: sealer, keeper: keeper, memory: data.memory).steps
        routes =
            RequestRoutes(repository: repository, service: service, watchers: watchers, admit: dependencies.admit).all
            + RequestListRoutes(store: store, service: service, admit: dependencies.admit).all
            + DataRoutes(service: data, admit: dependencies.admit).all
            + DataFileRoutes(service: files, data: data, admit: dependencies.admit).all
        follower = Follower(
            family: .requests, on: runtime, store: store, apply: { db, event in try events.apply(db, event) }, snapshot: events.snapshot,
            after: { _ in
                // Somebody may have been named, and files may have to go.
                sealer.wake()
                files.wake()
            })
        ending = RequestEnding(store: store, service: service, settings: settings, logger: logger, clock: clock)
        (self.repository, self.service, self.events, self.watchers, self.sealer) = (repository, service, events, watchers, sealer)
        (self.data, self.files) = (data, files)
    }

    var services: [any Service] {
        [
            Background(follower.run), Background(service.run), Background(sealer.run), Background(files.run), Background(ending.run),
        ]
    }
}
