// Ingest put together, in the order in which its parts rest on one another.

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
        try await IngestParts(settings, on: runtime).services
    }
}

/// The parts of the service.
struct IngestParts: Sendable {
    let server: HTTPServer
    let upkeep: Upkeep
    let devices: Devices
    let deviceParts: DeviceParts
    let ownData: OwnDataParts
    let store: Store
    let keys: PersonKeys
    let services: [any Service]

    /// Streams and questions are open when this returns; HTTP opens when `services` run.
    init(_ settings: IngestSettings, on runtime: Runtime) async throws {
        let store = try runtime.openStore(applicationID: IngestSchema.applicationID, migrations: IngestSchema.migrations)
        let keys = try runtime.openPersonKeys()
        let vault = ChunkVault(keys: keys)
        let log = StreamLog()
        let (heads, epoch, highestChunk) = try await store.read { db in
            (try log.heads(db), try log.epoch(db), try ChunkTable().highestID(db))
        }
        let memory = SeriesMemory(highestChunk: highestChunk)
        let answers = try runtime.answers(in: store)

        let sampleRelay = try await Self.relay(.samples, heads, epoch, runtime)
        let deviceParts = try await DeviceParts(
            settings, store: store, vault: vault, relay: try await Self.relay(.devices, heads, epoch, runtime), epoch: epoch,
            answers: answers, on: runtime)
        let (devices, registry, people) = (deviceParts.devices, deviceParts.registry, deviceParts.people)
        let granted = GrantedParts(
            store: store, vault: vault, epoch: epoch, relay: try await Self.relay(.accesses, heads, epoch, runtime), on: runtime)
        let uploads = Uploads(
            settings: settings, store: store, vault: vault, memory: memory, relay: sampleRelay, epoch: epoch,
            digests: try runtime.key("digests"), logger: runtime.logger)
        let readings = Readings(store: store, vault: vault, registry: registry, undeclaredInterval: settings.undeclaredInterval)
        let news = SampleNews(vault: vault, logger: runtime.logger)
        let streams = StreamSource(
            families: [.samples, .devices, .accesses], store: store,
            render: { db, row in StreamFamily.samples.streams.contains(row.stream) ? try news.render(db, row) : row.body },
            snapshot: { try await devices.snapshot($0) })
        let ownData = OwnDataParts(
            settings, uploads: uploads, readings: readings, people: people, registry: registry, answers: answers, on: runtime)
        var methods = IngestQuestions(
            devices: devices, readings: readings, manual: ownData.manual, streams: streams, answers: answers
        ).methods
        granted.reading.register(in: &methods)
        try await runtime.answer(methods)

        let limiter = RateLimiter<Int64>(rate: Double(settings.requestsPerSecond), burst: Double(settings.requestsPerSecond))
        let routes =
            IngestRoutes(uploads: uploads, readings: readings, people: people, limiter: limiter).all
            + MakerRoutes(uploads: uploads, limiter: limiter).all + deviceParts.routes(settings, limiter: limiter)
            + ownData.routes(settings)
        server = HTTPServer(
            .init(title: "TrackMe ingest", version: "1.0.0", summary: "Entries from devices, and back to their people.", prefix: "ingest"),
            routes: routes, host: runtime.settings.httpHost, port: runtime.settings.httpPort,
            publicOrigin: runtime.settings.publicOrigin, health: Health(missing: { [] }, metrics: runtime.metrics),
            authenticate: deviceParts.authenticate, recognise: deviceParts.authenticate, logger: runtime.logger)
        upkeep = Upkeep(
            store: store, steps: UpkeepStore(vault: vault), memory: memory, interval: settings.upkeepInterval, logger: runtime.logger)
        let retention = LogRetention(families: [.samples, .devices, .accesses], store: store, retention: runtime.settings.logRetention)
        let own: [any Service] = [
            ClosedLast {
                await store.close()
                await keys.close()
            },
            Background { [upkeep] in try await upkeep.run() },
            Background(ownData.desk.run),
            Background(retention.run),
            Background(answers.expire),
            Background(granted.follower.run),
        ]
        services = own + deviceParts.services + [server]
        (self.devices, self.deviceParts, self.ownData, self.store, self.keys) = (devices, deviceParts, ownData, store, keys)
    }

    private static func relay(
        _ family: StreamFamily, _ heads: [String: Int64], _ epoch: String, _ runtime: Runtime
    ) async throws -> EventRelay {
        let own = Dictionary(uniqueKeysWithValues: family.streams.map { ($0, heads[$0] ?? 0) })
        return EventRelay(publisher: try await runtime.publisher(of: family, epoch: epoch, heads: own), heads: own)
    }
}
