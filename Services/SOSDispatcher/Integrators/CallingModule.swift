// Everything that calls emergency services, built together.

import Bus
import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct CallingModule: Sendable {
    let registry: IntegratorRegistry
    let integrators: IntegratorsService
    private let runtime: Runtime

    /// The integrator of the settings and those that the operator has registered.
    init(
        _ settings: Settings, _ secrets: IntegratorSecrets, _ database: Store, _ answers: StoredAnswers, pair: PairState,
        streams: DispatchStreams, on runtime: Runtime
    ) async throws {
        let maker = IntegratorMaker(signingKey: secrets.signing, authorities: settings.authorities?.path, runtime: runtime)
        let table = IntegratorStore(key: try runtime.key("integrators"))
        let configured = IntegratorSettings(
            name: settings.integrator, url: settings.webhookURL?.absoluteString, secondURL: settings.secondURL?.absoluteString,
            format: settings.format, number: settings.number)
        let record = IntegratorRecord(configured, secret: secrets.webhook, token: secrets.token)
        let registered = try await database.read { try table.all($0) }
        registry = IntegratorRegistry(
            [try maker.make(record, id: Integrator.configuredID, answerKeys: secrets.answerKeys)]
                + (try registered.map { try maker.make($0.record, retired: $0.isRetired, streamPort: $0.streamPort) }))
        for integrator in registry.all { try await streams.open(integrator) }
        integrators = IntegratorsService(
            store: database, table: table, maker: maker, registry: registry, streams: streams, answers: answers, pair: pair)
        self.runtime = runtime
        if registry.all.allSatisfy({ $0.isRetired || ($0.endpoints.isEmpty && $0.settings.number == nil && $0.stream == nil) }) {
            runtime.logger.critical("no emergency service is configured (sos.webhook_url): nobody will be called")
        }
    }

    func dispatcher(
        _ settings: Settings, names: Names, store: SOSStore, journal: Journal, clock: SteadyClock, pair: PairState, metrics: SOSMetrics
    ) async throws -> Dispatcher {
        let notifier = try await runtime.client(of: .notifier)
        let texts = TextSender(names: names) { message in
            // The notifier answers after its commit, which on a busy disk may take longer than a quick question's 250 ms.
            _ = try await notifier.ask(message, trace: "\(message.message)", deadline: .seconds(2))
        }
        return Dispatcher(
            registry, texts: texts, names: names, retry: settings.retry, nextAfter: settings.nextIntegrator,
            secondAfter: DispatchOutbox.secondAfter(dispatchAt: settings.rules.dispatchAt), store: store, journal: journal, clock: clock,
            pair: pair, metrics: metrics, logger: runtime.logger)
    }

    func routes(_ dispatcher: Dispatcher, _ answers: StoredAnswers) -> IntegratorsBusRoutes {
        IntegratorsBusRoutes(integrators: integrators, registry: registry, dispatcher: dispatcher, answers: answers)
    }
}
