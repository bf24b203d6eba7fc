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
    let store: Store
    let keys: PersonKeys
    let services: [any Service]

    /// Streams and questions are open when this returns; HTTP opens when `services` run.
    init(_ settings: IngestSettings, on runtime: Runtime) async throws {
        let store = try runtime.openStore(applicationID: IngestSchema.applicationID, migrations: IngestSchema.migrations)
        let keys = try runtime.openPersonKeys()
        let vault = ChunkVault(keys: keys)
        let log = StreamLog()
        let (rows, heads, epoch, highestChunk) = try await store.read { db in
            (try DeviceTable().all(db), try log.heads(db), try log.epoch(db), try ChunkTable().highestID(db))
        }
        let registry = DeviceRegistry(rows, lookupKey: try runtime.lookupKey(for: "device-token"))
        let memory = SeriesMemory(highestChunk: highestChunk)
        let answers = try runtime.answers(in: store)

        let sampleRelay = try await Self.relay(.samples, heads, epoch, runtime)
        let deviceRelay = try await Self.relay(.devices, heads, epoch, runtime)
        let devices = Devices(
            store: store, vault: vault, registry: registry, relay: deviceRelay, answers: answers, news: DeviceNews(epoch: epoch),
            logger: runtime.logger)
        let uploads = Uploads(
            settings: settings, store: store, vault: vault, memory: memory, relay: sampleRelay, epoch: epoch,
            digests: try runtime.key("digests"), logger: runtime.logger)
        let readings = Readings(store: store, vault: vault, registry: registry, undeclaredInterval: settings.undeclaredInterval)
        let news = SampleNews(vault: vault, logger: runtime.logger)
        let streams = StreamSource(
            families: [.samples, .devices], store: store,
            render: { db, row in row.stream == DeviceNews.stream ? row.body : try news.render(db, row) },
            snapshot: { try await devices.snapshot($0) })
        try await runtime.answer(IngestQuestions(devices: devices, readings: readings, streams: streams, answers: answers).methods)

        let routes = IngestRoutes(
            uploads: uploads, readings: readings,
            limiter: RateLimiter(rate: Double(settings.requestsPerSecond), burst: Double(settings.requestsPerSecond)))
        server = HTTPServer(
            .init(title: "TrackMe ingest", version: "1.0.0", summary: "Entries from devices, and back to their people.", prefix: "ingest"),
            routes: routes.all, host: runtime.settings.httpHost, port: runtime.settings.httpPort,
            health: Health(missing: { [] }, metrics: runtime.metrics), authenticate: Self.authenticate(registry), logger: runtime.logger)
        upkeep = Upkeep(
            store: store, steps: UpkeepStore(vault: vault), memory: memory, interval: settings.upkeepInterval, logger: runtime.logger)
        let retention = LogRetention(families: [.samples, .devices], store: store, retention: runtime.settings.logRetention)
        services = [
            ClosedLast {
                await store.close()
                await keys.close()
            },
            Background { [upkeep] in try await upkeep.run() },
            Background(retention.run),
            Background(answers.expire),
            server,
        ]
        (self.devices, self.store, self.keys) = (devices, store, keys)
    }

    private static func relay(
        _ family: StreamFamily, _ heads: [String: Int64], _ epoch: String, _ runtime: Runtime
    ) async throws -> EventRelay {
        let own = Dictionary(uniqueKeysWithValues: family.streams.map { ($0, heads[$0] ?? 0) })
        return EventRelay(publisher: try await runtime.publisher(of: family, epoch: epoch, heads: own), heads: own)
    }

    private static func authenticate(_ registry: DeviceRegistry) -> Authenticate {
        { credentials, access in
            guard access == .device else { throw Problem.forbidden }
            guard let known = registry.device(withToken: credentials.bearer) else { throw Problem.unauthorised }
            return .device(known.device, known.person, context: known)
        }
    }
}
