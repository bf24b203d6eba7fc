// Ingest assembled in the order of its dependencies.

import Bus
import Contracts
import HTTPKit
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct IngestAssembly: Assembly {
    static let peer = Peer.ingest
    static let purpose = "Takes what devices measure, keeps it sealed, and tells those who may hear."
    static let prefixes: Set<String> = ["ing", "myd"]
    static let httpPort = 8101

    static func settings(_ reader: inout SettingsReader) -> IngestSettings {
        IngestSettings(&reader)
    }

    static func build(_ settings: IngestSettings, on runtime: Runtime) async throws -> [any Service] {
        try await IngestModule(settings, on: runtime).services
    }
}

/// The service by its modules, so that tests can talk to them.
struct IngestModule: Sendable {
    static let families: [StreamFamily] = [.samples, .devices, .accesses, .arrivals, .cohortHours]

    let opened: OpenedStore
    let server: HTTPServer
    let upkeep: Upkeep
    let devices: Devices
    let deviceModule: DeviceModule
    let ownData: OwnDataModule
    let alerts: Follower
    let granted: GrantedModule
    let cohort: CohortModule
    let services: [any Service]

    var store: Store { opened.store }
    var keys: PersonKeys { opened.keys }

    /// Streams and requests are served when this returns; HTTP opens when `services` run.
    init(_ settings: IngestSettings, on runtime: Runtime, clockWatch: ClockWatch = ClockWatch()) async throws {
        opened = try await OpenedStore(on: runtime, applicationID: IngestSchema.applicationID, migrations: IngestSchema.migrations)
        let (store, answers, epoch) = (opened.store, opened.answers, opened.epoch)
        let (chunks, highestChunk) = try await store.read { db in
            let chunks = try ChunkStore(db)
            return (chunks, try chunks.highestID(db))
        }
        let vault = ChunkVault(keys: opened.keys, chunks: chunks, damage: DamagedChunks(logger: runtime.logger))
        let memory = SeriesMemory(highestChunk: highestChunk)

        let sampleRelay = try await opened.relay(of: .samples)
        deviceModule = try await DeviceModule(
            settings, store: store, vault: vault, relay: try await opened.relay(of: .devices), epoch: epoch, answers: answers, on: runtime)
        devices = deviceModule.devices
        let (registry, people) = (deviceModule.registry, deviceModule.people)
        let shared = GrantedPeople(try await store.read { db in try GrantProjection().active(db) })
        granted = GrantedModule(
            store: store, vault: vault, epoch: epoch, relay: try await opened.relay(of: .accesses), people: shared, on: runtime)
        let arrivals = ArrivalEventStore(people: shared, epoch: epoch, relay: try await opened.relay(of: .arrivals))
        let uploads = Uploads(
            settings: settings, store: store, vault: vault, memory: memory, relay: sampleRelay, epoch: epoch, arrivalEvents: arrivals,
            digests: try runtime.key("digests"), registry: registry, clockWatch: clockWatch, logger: runtime.logger)
        let readings = Readings(store: store, vault: vault, registry: registry, undeclaredInterval: settings.undeclaredInterval)
        ownData = OwnDataModule(
            settings, uploads: uploads, readings: readings, people: people, registry: registry, answers: answers, on: runtime)
        cohort = CohortModule(
            settings, store: store, vault: vault, epoch: epoch, relay: try await opened.relay(of: .cohortHours), devices: deviceModule,
            synthetic: ownData.manual.synthetic, on: runtime)
        let samples = SampleEventStore(vault: vault, logger: runtime.logger)
        let streams = StreamSource(
            families: Self.families, store: store,
            render: { [cohort] db, row in
                if StreamFamily.samples.streams.contains(row.stream) { return try samples.render(db, row) }
                return row.stream == CohortEventStore.stream ? try cohort.events.render(row) : row.body
            },
            snapshot: { [devices] in try await devices.snapshot($0) })
        var methods = IngestBusRoutes(
            devices: devices, readings: readings, manual: ownData.manual, streams: streams,
            jobs: JobRoutes(store, [deviceModule.outbox.jobs]), answers: answers
        ).methods
        granted.reading.register(in: &methods)
        WatchedPeople(store: store, vault: vault, registry: registry).register(in: &methods)
        try await runtime.answer(methods)

        alerts = try await AlertFollower(alerted: uploads.alerted, registry: registry, logger: runtime.logger)
            .follower(on: runtime, store: store)
        let limiter = RateLimiter<Int64>(rate: Double(settings.requestsPerSecond), burst: Double(settings.requestsPerSecond))
        let routes =
            Self.uploadRoutes(uploads, limiter)
            + EntryRoutes(readings: readings, people: people, deviceReading: settings.deviceReading).all
            + MakerRoutes(uploads: uploads, limiter: limiter).all + deviceModule.routes(settings, limiter: limiter)
            + ownData.routes(settings) + AlertRoutes(alerted: uploads.alerted).all
        server = runtime.server(
            .init(title: "TrackMe ingest", version: "1.0.0", summary: "Entries from devices, and back to their people.", prefix: "ingest"),
            routes: routes, store: store, tokens: deviceModule.tokens,
            remarks: { [damage = vault.damage] in
                (damage.count == 0 ? [] : ["\(damage.count) chunks of entries are damaged and are skipped"]) + clockWatch.remarks
            }, authenticate: deviceModule.authenticate, recognise: deviceModule.authenticate,
            isEnded: { ($0.context as? KnownDevice)?.isEnded ?? false })
        upkeep = Upkeep(
            store: store, steps: UpkeepStore(vault: vault), memory: memory, chunks: chunks, synthetic: ownData.manual.synthetic,
            interval: settings.upkeepInterval, logger: runtime.logger)
        let own: [any Service] = [
            Background { [upkeep] in try await upkeep.run() }, Background(Scrub(store: store, vault: vault).run),
            Background(ownData.service.run), Background(cohort.closing.run),
            Background { [logger = runtime.logger] in try await clockWatch.run(logger) },
            Background(granted.follower.run), Background { [alerts] in try await alerts.run() },
        ]
        services = opened.parts(publishing: Self.families) + own + deviceModule.services + [server]
    }

    private static func uploadRoutes(_ uploads: Uploads, _ limiter: RateLimiter<Int64>) -> [Route] {
        UploadRoutes(
            uploads: uploads, limiter: limiter,
            urgent: RateLimiter(rate: UploadLimits.urgentPerSecond, burst: UploadLimits.urgentAtOnce)
        ).all
    }
}
