// The gateway put together, in the order in which its parts rest on one another.

import Bus
import Contracts
import HTTPKit
import ServiceKit
import ServiceLifecycle
import Storage

struct GatewayAssembly: Assembly {
    static let peer = Peer.thirdPartyGateway
    static let purpose = "The door of third parties: they ask for data, pay, fetch it and are sent what comes next."
    static let prefixes: Set<String> = ["org", "pay"]
    static let httpPort = 8105

    static func settings(_ reader: inout SettingsReader) -> GatewaySettings {
        GatewaySettings(&reader)
    }

    static func build(_ settings: GatewaySettings, on runtime: Runtime) async throws -> [any Service] {
        try await GatewayParts(settings, on: runtime).services
    }
}

/// The parts by name, so that tests can talk to them.
struct GatewayParts: Sendable {
    let opened: OpenedStore
    let checker: TokenChecker
    let server: HTTPServer
    let services: [any Service]

    /// Questions are answered when this returns; HTTP opens when `services` run.
    init(_ settings: GatewaySettings, on runtime: Runtime) async throws {
        let opened = try await OpenedStore(on: runtime, applicationID: GatewaySchema.applicationID, migrations: GatewaySchema.migrations)
        let outbox = try await MessageOutbox(in: opened.store, on: runtime)
        let checker = try TokenChecker(store: opened.store, issuer: runtime.settings.publicOrigin)
        let methods = Methods(memory: opened.answers)
        try await runtime.answer(methods)
        let erasures = try await ErasureFollower(on: runtime, store: opened.store, keys: opened.keys, steps: [])
        let accounts = Follower.accounts(on: runtime, store: opened.store, tokens: checker, erasures: erasures)
        server = HTTPServer(
            .init(
                title: "TrackMe for third parties", version: "1.0.0",
                summary: "Ask for data, be allowed, pay, download, and miss nothing that comes next.", prefix: "thirdparty"),
            routes: GatewayRoutes().all, host: runtime.settings.httpHost, port: runtime.settings.httpPort,
            publicOrigin: runtime.settings.publicOrigin, health: Health(missing: { [] }, metrics: runtime.metrics),
            authenticate: { credentials, access in try checker.caller(for: credentials, access: access) }, logger: runtime.logger)
        services =
            opened.parts(publishing: []) + [Background(outbox.run), Background(accounts.run), Background(erasures.run), server]
        (self.opened, self.checker) = (opened, checker)
    }
}
