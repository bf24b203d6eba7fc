// The watchdogs as parts of the service.

import Bus
import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

struct WatchModule: Sendable {
    let canary: Canary
    private let settings: WatchSettings
    private let samples: StreamFreshness
    private let supervision: SupervisionService
    private let dispatcher: Dispatcher
    private let metrics: WatchMetrics
    private let runtime: Runtime

    /// - Parameters:
    ///   - samples: how current the consumer of ingest's entries is.
    ///   - port: where this process listens, once it does.
    init(
        _ settings: Settings, supervision: SupervisionService, dispatcher: Dispatcher, keys: PersonKeys, store: Store, ingest: BusClient,
        samples: StreamFreshness, probe: CanaryRoutes, signing: SigningKey, on runtime: Runtime,
        port: @escaping @Sendable () async -> Int
    ) {
        (self.settings, self.supervision, self.dispatcher, self.runtime) = (settings.watch, supervision, dispatcher, runtime)
        (self.samples, metrics) = (samples, WatchMetrics())
        canary = Canary(
            supervision: supervision, dispatcher: dispatcher, pair: supervision.pair, keys: keys, store: store, ingest: ingest,
            dispatchAt: settings.rules.dispatchAt, metrics: metrics, logger: runtime.logger
        ) {
            let host = runtime.settings.httpHost == "0.0.0.0" ? "127.0.0.1" : runtime.settings.httpHost
            let url = "http://\(host):\(await port())\(CanaryRoutes.path)"
            return Integrator(
                id: Integrator.probeID, settings: IntegratorSettings(name: "canary", url: url), secrets: [probe.secret],
                signingKey: signing, answerKeys: [], token: "", endpoints: [.init(url: url, sender: WatchModule.sender(runtime))],
                isRetired: true, streamPort: nil)
        }
    }

    func services(_ link: PairLink) throws -> [any Service] {
        let watchman = Watchman(
            samples: samples, link: link, dispatcher: dispatcher, settings: settings, metrics: metrics, logger: runtime.logger)
        var services: [any Service] = [Background(watchman.run)]
        if settings.canary { services.append(Background(canary.run)) }
        if let url = settings.heartbeatURL {
            let heartbeat = OutsideHeartbeat(
                peer: runtime.peer, url: url.absoluteString, secret: try IntegratorSecrets.heartbeat(settings, runtime),
                sender: WatchModule.sender(runtime), supervision: supervision, canary: settings.canary ? canary : nil,
                metrics: metrics, logger: runtime.logger)
            services.append(Background(heartbeat.run))
        }
        return services
    }

    /// The operator names the heartbeat's address, and the probe is this process: both may well be on this machine.
    private static func sender(_ runtime: Runtime) -> HTTPSender {
        var outbound = OutboundSettings()
        outbound.policy = .anywhere
        return runtime.sender(outbound)
    }
}
