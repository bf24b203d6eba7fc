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
    static let prefixes: Set<String> = ["org", "pay", CountrySettings.prefix]
    static let httpPort = 8105

    static func settings(_ reader: inout SettingsReader) -> GatewaySettings {
        GatewaySettings(&reader)
    }

    static func build(_ settings: GatewaySettings, on runtime: Runtime) async throws -> [any Service] {
        try await GatewayModule(settings, on: runtime).services
    }
}

/// The parts by name, so that tests can talk to them.
struct GatewayModule: Sendable {
    let opened: OpenedStore
    let checker: TokenChecker
    let organisations: OrganisationModule
    let payments: PaymentModule
    let subscriptions: SubscriptionModule
    let requests: RequestModule
    let groups: GroupModule
    let server: HTTPServer
    let services: [any Service]

    /// Questions are answered when this returns; HTTP opens when `services` run.
    init(_ settings: GatewaySettings, on runtime: Runtime) async throws {
        let opened = try await OpenedStore(
            on: runtime, applicationID: GatewaySchema.applicationID, migrations: GatewaySchema.migrations,
            restored: { db in try GatewayRestoreStore().begin(db, at: .now) })
        let stores = try GatewayStores(
            settings, opened: opened, outbox: try await MessageOutbox(in: opened.store, on: runtime), on: runtime)
        let checker = try TokenChecker(store: opened.store, issuer: runtime.settings.publicOrigin)
        organisations = try await OrganisationModule(settings.organisations, on: stores, runtime: runtime)
        let admit: Admit = { [door = organisations.door] exchange, right in try await door.admit(exchange, needing: right) }
        let admitAnew: Admit = { [door = organisations.door] exchange, right in try await door.admitAnew(exchange, needing: right) }
        groups = try GroupModule(on: stores, runtime: runtime, questions: try await GroupQuestions(on: runtime), admit: admit)
        payments = try PaymentModule(
            settings.payments, on: stores, runtime: runtime, admit: admit,
            review: { [groups = groups.service] in try await groups.review($0) })
        subscriptions = try await SubscriptionModule(
            settings.subscriptions, on: stores, runtime: runtime, admit: admit, admitAnew: admitAnew)
        requests = try RequestModule(
            settings.requests, on: stores, runtime: runtime,
            dependencies: RequestDependencies(
                questions: try await RequestBusRoutes(on: runtime), data: try await GrantedData(on: runtime), admit: admit,
                gate: subscriptions.gate))
        var methods = Methods(memory: opened.answers)
        organisations.register(in: &methods)
        payments.register(in: &methods)
        JobRoutes(opened.store, organisations.jobs.all + [stores.outbox.jobs]).register(in: &methods)
        try await runtime.answer(methods)
        let erasures = try await ErasureFollower(
            on: runtime, store: opened.store, keys: opened.keys, steps: .all([subscriptions.erasure, requests.erasure]))
        let accounts = Follower.accounts(on: runtime, store: opened.store, tokens: checker, erasures: erasures)
        let routes = GatewayRoutes(
            organisations: organisations, requests: requests, groups: groups, payments: payments, subscriptions: subscriptions)
        server = runtime.server(
            .init(
                title: "TrackMe for third parties", version: "1.0.0",
                summary: "Ask for data, be allowed, pay, download, and miss nothing that comes next.", prefix: "thirdparty",
                clientCredentials: .init(tokenPath: TokenRoutes.path, scopes: Right.allCases.map { ($0.rawValue, $0.summary) })),
            routes: routes.all, webhooks: WebhookEvent.allCases.map(\.documentation), store: opened.store, tokens: checker,
            remarks: groups.service.remarks, authenticate: organisations.authenticate(checker))
        let background = [Background(stores.outbox.run), Background(accounts.run), Background(erasures.run)]
        services =
            opened.parts(publishing: []) + background + organisations.services + payments.services + subscriptions.services
            + requests.services + groups.services + [server]
        (self.opened, self.checker) = (opened, checker)
    }
}
