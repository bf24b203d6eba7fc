// Builds the dispatcher's parts in dependency order; `main` and tests use the same one.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

enum SOSAssembly: Assembly {
    static let peer = Peer.sosDispatcher
    static let purpose = "Watches subscribers' vital signs and calls an ambulance until somebody has answered."
    static let prefixes: Set<String> = ["sos"]
    static let httpPort = 8102

    static func settings(_ reader: inout SettingsReader) -> Settings {
        Settings(&reader)
    }

    static func build(_ settings: Settings, on runtime: Runtime) async throws -> [any Service] {
        try await SOSParts(settings, on: runtime).services
    }
}

/// The parts by name, so that tests can talk to them.
struct SOSParts: Sendable {
    let supervision: SupervisionService
    let dispatcher: Dispatcher
    let journal: Journal
    let store: SOSStore
    let server: HTTPServer
    /// What integrators show when they acknowledge by themselves.
    let token: String
    let services: [any Service]

    init(_ settings: Settings, on runtime: Runtime) async throws {
        let logger = runtime.logger
        let database = try runtime.openStore(applicationID: Migrations.applicationID, migrations: Migrations.all)
        let keys = try runtime.openPersonKeys()
        let store = SOSStore(database, keys: keys, logger: logger)
        let clock = SteadyClock(
            offset: try store.steadyOffset(boot: SteadyClock.boot, fresh: Timestamp.now.milliseconds - SteadyClock.sinceBoot))
        let secrets = try IntegratorSecrets(settings, runtime)
        if settings.webhookURL == nil { logger.critical("no emergency service is configured (sos.webhook_url): nobody will be called") }

        let relay = try await SOSParts.relay(database, runtime)
        let journal = Journal(save: store.save, seal: store.seal, publish: relay.committed, logger: logger)
        let metrics = SOSMetrics()
        let integrator = SOSParts.integrator(settings, secrets, logger)
        let dispatcher = Dispatcher(
            integrator, retry: settings.retry, store: store, journal: journal, clock: clock, metrics: metrics, logger: logger)
        let supervision = SupervisionService(
            rules: settings.rules, letterhead: settings.letterhead, names: try Names(identity: runtime.key("emergency-identity")),
            keys: keys, store: store,
            journal: journal, dispatcher: dispatcher, clock: clock, metrics: metrics, logger: logger)
        await dispatcher.whenAcknowledged { await supervision.acknowledged($0, $1) }

        let memory = try store.load()
        await dispatcher.resume(memory.outboxes)
        await supervision.resume(memory)

        let ingest = try await runtime.client(of: .ingest)
        let streams = StreamSource(families: [.emergencies], store: database, render: { $1.body })
        let answers = try runtime.answers(in: database)
        var methods = Methods(memory: answers)
        streams.register(in: &methods)
        BusRoutes(supervision: supervision, store: store, keys: keys, answers: answers) { person in
            (try? await ingest.ask(ReadLatest(person: person, types: [.position])))?.samples ?? []
        }.register(in: &methods)
        try await runtime.answer(methods)

        let erasure = SupervisionErasure(supervision: supervision, dispatcher: dispatcher, journal: journal, store: store)
        let erasures = try await ErasureFollower(on: runtime, store: database, keys: keys, steps: erasure.steps)

        let server = SOSParts.server(supervision, dispatcher, store, secrets, settings, runtime)
        let hearing = try await SOSParts.hearing(memory, supervision, store, runtime)
        services =
            [
                ClosedLast { await database.close() },
                ClosedLast { await keys.close() },
                Background { await journal.run() },
                Background {
                    try await LogRetention(families: [.emergencies], store: database, retention: runtime.settings.logRetention).run()
                },
                Background { try await answers.expire() },
                Background(keys.keepBackups),
                Background(Follower.accounts(on: runtime, store: database, tokens: nil, erasures: erasures).run),
                Background(erasures.run),
                dispatcher,
                ClosedLast { await supervision.stop() },
                server,
            ] + hearing
        (self.supervision, self.dispatcher, self.journal, self.store) = (supervision, dispatcher, journal, store)
        (self.server, token) = (server, secrets.token)
    }

    /// What follows ingest.
    private static func hearing(
        _ memory: SOSStore.Memory, _ supervision: SupervisionService, _ store: SOSStore, _ runtime: Runtime
    ) async throws -> [any Service] {
        let freshness = StreamFreshness()
        let samples = try await runtime.consumer(of: .samples, freshness: freshness)
        await supervision.judgesSilence { freshness.age ?? .seconds(Int64(Int32.max)) }
        let devices = try await runtime.consumer(of: .devices)
        return [
            Background {
                try await samples.run(
                    from: memory.positions.filter { StreamFamily.samples.streams.contains($0.stream) },
                    apply: { await supervision.apply($0, $1) }, restart: { _, next in await supervision.apply([], [next]) },
                    provisional: { await supervision.hear(provisional: $0) })
            },
            Background {
                try await devices.run(
                    from: memory.positions.filter { StreamFamily.devices.streams.contains($0.stream) },
                    apply: { events, next in
                        _ = try await store.save(DeviceFacts.batch(events, next))
                        for pause in DeviceFacts.pauses(events) { await supervision.monitoring(pause) }
                        await supervision.devicesChanged(of: Set(DeviceFacts.states(events).map(\.person)))
                    },
                    restart: { facts, next in
                        let paused = DeviceFacts.pauses(facts)
                        try await store.replaceDevices(by: DeviceFacts.states(facts), paused: paused, next)
                        await supervision.monitoringPaused(by: Set(paused.map(\.person)))
                        await supervision.devicesReplaced()
                    })
            },
        ]
    }

    private static func relay(_ database: Store, _ runtime: Runtime) async throws -> EventRelay {
        let (epoch, heads) = try await database.read { db in (try StreamLog().epoch(db), try StreamLog().heads(db)) }
        let publisher = try await runtime.publisher(of: .emergencies, epoch: epoch, heads: heads)
        return EventRelay(publisher: publisher, heads: heads)
    }

    private static func integrator(_ settings: Settings, _ secrets: IntegratorSecrets, _ logger: Logger) -> Integrator {
        var outbound = OutboundSettings()
        // The operator names the emergency service's address; it may well be on this machine or network.
        outbound.policy = .anywhere
        return Integrator(
            name: settings.integrator, url: settings.webhookURL?.absoluteString, secret: secrets.webhook, signingKey: secrets.signing,
            answerKeys: secrets.answerKeys, sender: HTTPSender(outbound, logger: logger))
    }

    private static func server(
        _ supervision: SupervisionService, _ dispatcher: Dispatcher, _ store: SOSStore, _ secrets: IntegratorSecrets,
        _ settings: Settings, _ runtime: Runtime
    ) -> HTTPServer {
        let routes = HTTPRoutes(dispatcher: dispatcher, store: store, publicKey: secrets.signing.publicKey)
        return HTTPServer(
            .init(
                title: "TrackMe emergencies", version: "1.0.0", summary: "Where emergency services acknowledge calls.", prefix: "sos"),
            routes: routes.all, host: runtime.settings.httpHost, port: runtime.settings.httpPort,
            health: Health(missing: { await supervision.isListening() ? [] : ["never heard of ingest"] }, metrics: runtime.metrics),
            authenticate: { credentials, _ in
                guard Digest.constantTimeEqual(Array(credentials.bearer.utf8), Array(secrets.token.utf8)) else {
                    throw Problem.unauthorised
                }
                return .integrator(settings.integrator)
            }, logger: runtime.logger)
    }
}

/// Facts about devices as the store takes them.
enum DeviceFacts {
    /// What cannot be read is passed over: an unknown interval only makes silence shorter.
    static func states(_ events: [StreamEvent]) -> [DeviceState] {
        events.compactMap { event in
            event.header.type == DeviceState.type ? try? JSONDecoder().decode(DeviceState.self, from: Data(event.payload)) : nil
        }
    }

    /// Who has paused or resumed monitoring, in order.
    static func pauses(_ events: [StreamEvent]) -> [MonitoringState] {
        events.compactMap { event in
            event.header.type == MonitoringState.type
                ? try? JSONDecoder().decode(MonitoringState.self, from: Data(event.payload)) : nil
        }
    }

    static func batch(_ events: [StreamEvent], _ next: [StreamPosition]) -> StoreBatch {
        var batch = StoreBatch()
        batch.devices = states(events)
        batch.pauses = pauses(events)
        for position in next { batch.positions[position.stream] = position }
        return batch
    }
}
