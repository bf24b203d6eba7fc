// The anonymiser put together, in the order in which its parts rest on one another.

import Bus
import Contracts
import HTTPKit
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

enum AnonymiserAssembly: Assembly {
    static let peer = Peer.anonymiser
    static let purpose = "Gives organisations data of groups of people of whom nobody can be recognised."
    static let prefixes: Set<String> = ["ano"]
    static let httpPort = 8106

    static func settings(_ reader: inout SettingsReader) -> AnonymiserSettings {
        AnonymiserSettings(&reader)
    }

    static func build(_ settings: AnonymiserSettings, on runtime: Runtime) async throws -> [any Service] {
        try await AnonymiserModule(settings, on: runtime).services
    }
}

/// The parts by name, so that tests can talk to them.
struct AnonymiserModule: Sendable {
    let opened: OpenedStore
    let population: Population
    let profiles: Follower
    let hours: Follower
    let accounts: Follower
    let erasures: ErasureFollower
    let server: HTTPServer
    let services: [any Service]

    init(_ settings: AnonymiserSettings, on runtime: Runtime) async throws {
        let places = try GroupPlaces.shipped()
        let opened = try await OpenedStore(
            on: runtime, applicationID: AnonymiserSchema.applicationID, migrations: AnonymiserSchema.migrations,
            restored: { db in try RestoredPeople.begin(db) })
        let key = try runtime.key("cohorts")
        let stores = Population.Stores(key: key, policy: settings.policy)
        let buckets = BucketStore(store: opened.store, chunks: stores.chunks, squares: stores.squares, logger: runtime.logger)
        let population = try await Population(stores, in: opened.store, buckets: buckets, leaf: { places.leaf(ofCity: $0) })
        let (signal, heard, hoursClosed) = (WakeUpSignal(), WakeUpSignal(), WakeUpSignal())
        let closing = HourClosing(
            store: opened.store, stores: stores, population: population, signal: signal, metrics: AnonymiserMetrics(),
            logger: runtime.logger, whenClosed: { hoursClosed.notify() })
        let people = ProfileRepository(stores: stores, logger: runtime.logger)
        let sums = HourRepository(stores: stores, wake: { signal.notify() })

        let synthetic = SyntheticModule(settings.synthetic, store: opened.store, country: SyntheticCountry(places), logger: runtime.logger)
        let isUsed = try await opened.store.read { db in try stores.people.count(db) > 0 || !ConsumerPositions().load(db).isEmpty }
        let stage = try await synthetic.stage(isUsed: isUsed, now: .now)

        // Beside made-up people the streams are heard and nothing is taken of them, so that their logs do not wait.
        let isReal = !stage.isMadeUp
        profiles = Follower(
            family: .cohortProfiles, on: runtime, store: opened.store,
            apply: { db, event in if isReal { try people.apply(db, event) } },
            snapshot: isReal ? people.snapshot : .adding { _, _ in },
            after: { events in
                await population.takeOver()
                if events.isEmpty { heard.notify() }
            })
        hours = Follower(
            family: .cohortHours, on: runtime, store: opened.store,
            apply: { db, event in if isReal { try sums.apply(db, event) } }, after: { _ in await population.takeOver() })
        let windowFacts = FactStream(
            stream: StreamFamily.groupWindows.streams[0], epoch: opened.epoch, relay: try await opened.relay(of: .groupWindows))
        let releases = ReleaseModule(
            settings, store: opened.store, population: population, places: places, key: key.derived(for: "releases"), on: runtime,
            hoursClosed: hoursClosed
        ) { db, window, at in
            try windowFacts.publish(db, type: GroupWindowClosed.type, subject: nil, body: window, at: at)
        }
        let erasure = AnonymiserErasure(store: opened.store, stores: stores, profiles: people, clearGroups: releases.erase)
        erasures = try await ErasureFollower(on: runtime, store: opened.store, keys: opened.keys, steps: erasure.steps)
        let restored = RestoredPeople(
            store: opened.store, stores: stores, profiles: people, erasure: erasure, signal: heard, logger: runtime.logger)
        accounts = Follower.accounts(on: runtime, store: opened.store, tokens: nil, erasures: erasures)

        var methods = Methods(memory: opened.answers)
        StreamSource(families: [.groupWindows], store: opened.store, render: { try windowFacts.render($1) }).register(in: &methods)
        releases.register(in: &methods)
        GroupPlaceRoutes(places: places).register(in: &methods)
        try await runtime.answer(methods)
        server = runtime.server(
            .init(title: "TrackMe anonymiser", version: "1.0.0", summary: "Health and figures alone.", prefix: "anonymiser"),
            routes: [], store: opened.store, tokens: nil, authenticate: { _, _ in throw Problem.unauthorised })
        let background = [
            Background { try await synthetic.run(stage, people, sums, closing: closing) },
            Background(profiles.run), Background(hours.run), Background(accounts.run), Background(erasures.run),
            Background(restored.run),
        ]
        services = opened.parts(publishing: [.groupWindows]) + background + releases.services + [server]
        (self.opened, self.population) = (opened, population)
        FreedMemory.giveBack()
    }
}
